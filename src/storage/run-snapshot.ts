import { readdir } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isRow } from '../model/row.js'
import type { CompleteRun } from '../pipeline/session.js'
import { writeFileAtomically } from './atomic-file.js'
import { getErrorCode } from './file-error.js'
import { isRunRecord } from './run-record.js'
import { statFile } from './stat-file.js'
import { readStateDocument } from './state-document.js'

/** The size of a file in bytes and its modification time, epoch milliseconds. */
type FileStamp = readonly [bytes: number, modifiedAt: number]

/** A run that ended, and all its output files, by path relative to the folder. */
export interface RunSnapshot {
  readonly run: CompleteRun
  /** Null: a run of a part of it may have replaced the file. */
  readonly files: Readonly<Record<string, FileStamp | null>>
  /** The last complete run that fetched only a part of it again. */
  readonly part?: RunSnapshot
}

/** Records a run that ended and its output files. `outputs` are paths relative to `root`, with `*` for any name. */
export const writeRunSnapshot = async (
  path: string,
  run: CompleteRun,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const noted: RunSnapshot = { run, files: await statOutputFiles(root, outputs) }
  await writeFileAtomically(path, [`${JSON.stringify(noted)}\n`])
}

/** Lists all output files by path relative to `root`. */
export const statOutputFiles = async (root: string, outputs: readonly string[]): Promise<Readonly<Record<string, FileStamp>>> => {
  const files: Record<string, FileStamp> = {}
  for (const output of outputs)
    await forEachYielding(await listMatchingFiles(root, output), (file) => {
      const found = statFile(join(root, file))
      if (found) files[file] = [found.size, found.mtimeMs]
    })
  return files
}

/** Reads the recorded complete run; `undefined` if there is none. */
export const readRunSnapshot = async (path: string): Promise<RunSnapshot | undefined> => {
  const noted = await readStateDocument(path)
  if (!isRunSnapshot(noted)) return undefined
  const { part, ...run } = noted
  return isRunSnapshot(part) ? { ...run, part } : run
}

/** Selects the run, or its last partial run, that makes the requested one unnecessary. */
export const selectReusableRun = (noted: RunSnapshot | undefined, isReusable: (run: CompleteRun) => boolean): RunSnapshot | undefined =>
  [noted, noted?.part].find((candidate) => candidate !== undefined && isReusable(candidate.run))

/** Finds the first file that has changed since the run was recorded; `undefined` if none has. Files that may differ do not count. */
export const findChangedFile = async ({ files }: RunSnapshot, root: string): Promise<string | undefined> => {
  let changed: string | undefined
  await forEachYielding(Object.entries(files), ([file, facts]) => {
    if (facts === null) return
    const [bytes, modifiedAt] = facts
    const found = statFile(join(root, file))
    if (found?.size !== bytes || found.mtimeMs !== modifiedAt) changed ??= file
  })
  return changed
}

/** Lists the recorded outputs that no longer exist, in recorded order. */
export const listMissingOutputs = async ({ files }: Pick<RunSnapshot, 'files'>, root: string): Promise<readonly string[]> => {
  const gone: string[] = []
  await forEachYielding(Object.keys(files), (file) => {
    if (!file.startsWith('.') && statFile(join(root, file)) === undefined) gone.push(file)
  })
  return gone
}

const isRunSnapshot = (noted: unknown): noted is RunSnapshot & Record<string, unknown> =>
  isRow(noted) && isRunRecord(noted.run) && isRow(noted.run.report) && isScripts(noted.run.report.scripts) && isRow(noted.files)

const isScripts = (scripts: unknown): boolean =>
  isRow(scripts) && Object.values(scripts).every((script) => isRow(script) && isRow(script.items))

/** Lists the files that match an output path, in which `*` represents any name. A path without `*` is returned as it is. */
export const listMatchingFiles = async (root: string, output: string): Promise<readonly string[]> => {
  const [before = '', after] = output.split('*')
  if (after === undefined) return [output]
  const folder = posix.dirname(`${before}*`)
  const names = await readdir(join(root, folder)).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return []
    throw error
  })
  return names.map((name) => posix.join(folder, name)).filter((file) => file.startsWith(before) && file.endsWith(after))
}

const CHUNK_LENGTH = 500

/** Calls `visit` for each element and yields to the event loop every few milliseconds. */
export const forEachYielding = async <T>(elements: readonly T[], visit: (element: T) => void): Promise<void> => {
  for (let from = 0; from < elements.length; from += CHUNK_LENGTH) {
    elements.slice(from, from + CHUNK_LENGTH).forEach(visit)
    await yieldToEventLoop()
  }
}
