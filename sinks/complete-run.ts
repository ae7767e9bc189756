import { readdir } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isRow } from '../src/model/row.js'
import type { CompleteRun } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { fileAt } from './file-at.js'
import { codeOf } from './file-error.js'
import { isRecord } from './run-record.js'
import { stateDocument } from './state-document.js'

/** The size of a file in bytes and its modification time, epoch milliseconds. */
type Facts = readonly [bytes: number, modifiedAt: number]

/** A run that ended, and all its output files, by path relative to the folder. */
export interface NotedRun {
  readonly run: CompleteRun
  /** Null: a run of a part of it may have replaced the file. */
  readonly files: Readonly<Record<string, Facts | null>>
  /** The last complete run that fetched only a part of it again. */
  readonly part?: NotedRun
}

/** Records a run that ended and its output files. `outputs` are paths relative to `root`, with `*` for any name. */
export const noteComplete = async (
  path: string,
  run: CompleteRun,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const noted: NotedRun = { run, files: await filesInPlace(root, outputs) }
  await writeWhole(path, [`${JSON.stringify(noted)}\n`])
}

/** Lists all output files by path relative to `root`. */
export const filesInPlace = async (root: string, outputs: readonly string[]): Promise<Readonly<Record<string, Facts>>> => {
  const files: Record<string, Facts> = {}
  for (const output of outputs)
    await eachInTurn(await filesLike(root, output), (file) => {
      const found = fileAt(join(root, file))
      if (found) files[file] = [found.size, found.mtimeMs]
    })
  return files
}

/** Reads the recorded complete run; `undefined` if there is none. */
export const notedRun = async (path: string): Promise<NotedRun | undefined> => {
  const noted = await stateDocument(path)
  if (!isNoted(noted)) return undefined
  const { part, ...run } = noted
  return isNoted(part) ? { ...run, part } : run
}

/** Selects the run, or its last partial run, that makes the requested one unnecessary. */
export const sufficingRun = (noted: NotedRun | undefined, isReusable: (run: CompleteRun) => boolean): NotedRun | undefined =>
  [noted, noted?.part].find((candidate) => candidate !== undefined && isReusable(candidate.run))

/** Finds the first file that has changed since the run was recorded; `undefined` if none has. Files that may differ do not count. */
export const changedSince = async ({ files }: NotedRun, root: string): Promise<string | undefined> => {
  let changed: string | undefined
  await eachInTurn(Object.entries(files), ([file, facts]) => {
    if (facts === null) return
    const [bytes, modifiedAt] = facts
    const found = fileAt(join(root, file))
    if (found?.size !== bytes || found.mtimeMs !== modifiedAt) changed ??= file
  })
  return changed
}

/** Lists the recorded outputs that no longer exist, in recorded order. */
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

/** Lists the files that match an output path, in which `*` represents any name. A path without `*` is returned as it is. */
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

/** Calls `visit` for each element and yields to the event loop every few milliseconds. */
export const eachInTurn = async <T>(elements: readonly T[], visit: (element: T) => void): Promise<void> => {
  for (let from = 0; from < elements.length; from += A_TURN) {
    elements.slice(from, from + A_TURN).forEach(visit)
    await yieldToEventLoop()
  }
}
