import { readdir } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { setImmediate as othersTurn } from 'node:timers/promises'
import { isRow } from '../src/model/row.js'
import type { CompleteRun } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { fileAt } from './file-at.js'
import { codeOf } from './file-error.js'
import { isRecord } from './run-record.js'
import { stateDocument } from './state-document.js'

/** A file's size in bytes and its modification time, epoch milliseconds. */
type Facts = readonly [bytes: number, modifiedAt: number]

/** A complete run, and every file in the places of its outputs, by its path below the folder. */
export interface NotedRun {
  readonly run: CompleteRun
  readonly files: Readonly<Record<string, Facts>>
  /** The last run that asked for a part of it again, and was complete too. */
  readonly part?: NotedRun
}

/** Notes that a run is complete, and what it leaves in place: `outputs` are paths below `root` with `*` for any name. */
export const noteComplete = async (
  path: string,
  run: CompleteRun,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const noted: NotedRun = { run, files: await filesInPlace(root, outputs) }
  await writeWhole(path, [`${JSON.stringify(noted)}\n`])
}

/** Every file in the places of outputs, by its path below `root`. */
export const filesInPlace = async (root: string, outputs: readonly string[]): Promise<NotedRun['files']> => {
  const files: Record<string, Facts> = {}
  for (const output of outputs)
    await eachInTurn(await filesLike(root, output), (file) => {
      const found = fileAt(join(root, file))
      if (found) files[file] = [found.size, found.mtimeMs]
    })
  return files
}

/** The run that was noted as complete; nothing if there is none. */
export const notedRun = async (path: string): Promise<NotedRun | undefined> => {
  const noted = await stateDocument(path)
  if (!isNoted(noted)) return undefined
  const { part, ...run } = noted
  return isNoted(part) ? { ...run, part } : run
}

/** The run, or the last one of a part of it, that suffices. */
export const sufficingRun = (noted: NotedRun | undefined, suffices: (run: CompleteRun) => boolean): NotedRun | undefined =>
  [noted, noted?.part].find((one) => one !== undefined && suffices(one.run))

/** The first file that is no longer as it was noted; nothing if all are. */
export const changedSince = async ({ files }: NotedRun, root: string): Promise<string | undefined> => {
  let changed: string | undefined
  await eachInTurn(Object.entries(files), ([file, [bytes, modifiedAt]]) => {
    const found = fileAt(join(root, file))
    if (found?.size !== bytes || found.mtimeMs !== modifiedAt) changed ??= file
  })
  return changed
}

/** The outputs that were noted and are not there any more, in the order of the note. */
export const goneSince = async ({ files }: Pick<NotedRun, 'files'>, root: string): Promise<readonly string[]> => {
  const gone: string[] = []
  await eachInTurn(Object.keys(files), (file) => {
    if (!file.startsWith('.') && fileAt(join(root, file)) === undefined) gone.push(file)
  })
  return gone
}

const isNoted = (noted: unknown): noted is NotedRun & Record<string, unknown> =>
  isRow(noted) && isRecord(noted.run) && isRow(noted.run.report) && isScripts(noted.run.report.scripts) && isRow(noted.files)

const isScripts = (scripts: unknown): boolean =>
  isRow(scripts) && Object.values(scripts).every((script) => isRow(script) && isRow(script.items))

/** The files of an output, whose path has `*` for any name; the path itself where it has none. */
export const filesLike = async (root: string, output: string): Promise<readonly string[]> => {
  const [before = '', after] = output.split('*')
  if (after === undefined) return [output]
  const folder = posix.dirname(`${before}*`)
  const names = await readdir(join(root, folder)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  return names.map((name) => posix.join(folder, name)).filter((file) => file.startsWith(before) && file.endsWith(after))
}

const A_TURN = 500

/** Looks at many things, and lets others have their turn every few milliseconds. */
export const eachInTurn = async <T>(all: readonly T[], look: (one: T) => void): Promise<void> => {
  for (let from = 0; from < all.length; from += A_TURN) {
    all.slice(from, from + A_TURN).forEach(look)
    await othersTurn()
  }
}
