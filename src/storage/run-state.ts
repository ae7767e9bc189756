import { join } from 'node:path'
import type { RunRecord } from '../engine/storage.js'
import { PREVIOUS_FOLDER, STATE_FOLDER } from '../engine/storage.js'
import { driftIn, joinDrift } from '../model/drift.js'
import { UsageError } from '../model/errors.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import { disk } from './disk.js'
import { ignoreMissing, readStateDocument, statPath, writeFileAtomically } from './file-system.js'
import { describeThisProcess, hasHolderEnded, type LockHolder, parseHolder } from './lock-holder.js'

export interface RunPaths {
  readonly record: string
  readonly journals: string
}

const toRunPaths = (folder: string): RunPaths => ({
  record: join(folder, 'run.json'),
  journals: join(folder, 'journals'),
})

/** All files about runs in an output folder; `Storage.storeDocument` adds the report and other documents. */
export const statePaths = (root: string) => {
  const folder = join(root, STATE_FOLDER)
  const part = join(folder, 'part')
  return {
    folder,
    lock: join(folder, 'lock'),
    report: join(folder, 'report.json'),
    run: toRunPaths(folder),
    /** An unfinished run of a part of it, which the unfinished run takes over. */
    part: { folder: part, ...toRunPaths(part) },
    /** What an active run shows; removed at its end. */
    live: join(folder, 'live.json'),
    /** The last run of everything. */
    fullRun: join(folder, 'full-run.json'),
    digests: join(folder, 'output-digests'),
    /** The outputs before the last run. */
    previous: join(root, PREVIOUS_FOLDER),
    /** What queries computed from the outputs. It may be deleted at any time. */
    cache: join(folder, 'cache'),
    history: join(folder, 'history'),
    /** Whether the data is real or simulated. */
    source: join(folder, 'source.json'),
    queries: join(folder, 'queries'),
    /** Rules, and what they found. */
    watch: join(folder, 'watch'),
    /** The format of all this. */
    format: join(folder, 'format.json'),
  }
}

/** Reads a JSON document at once; `undefined` if it is missing, damaged or cannot be read. */
const readJsonNow = (path: string): unknown => {
  try {
    return JSON.parse(disk.readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Whether the data of a folder is simulated, as the first run that stored some has noted. */
export const readIsSimulated = (root: string): boolean => {
  const source = readJsonNow(statePaths(root).source)
  return isRow(source) && source.simulated === true
}

export const readRunRecord = async ({ record: path }: RunPaths): Promise<RunRecord | undefined> => {
  const record = await readStateDocument(path)
  return isRunRecord(record) ? record : undefined
}

export const isRunRecord = (value: unknown): value is RunRecord & Record<string, unknown> =>
  isRow(value) &&
  typeof value.run === 'string' &&
  Number.isInteger(value.asOf) &&
  typeof value.configuration === 'string'

/** Deletes the state of a run. The record goes first: journals without a record are ignored. */
export const deleteRunState = async ({ record, journals }: RunPaths): Promise<void> => {
  await disk.rm(record, { force: true })
  await disk.rm(journals, { recursive: true, force: true })
}

/**
 * Appends the journals of a part to those of the unfinished run, and deletes them: later lines of an item
 * replace earlier ones. A kill in between repeats this, which changes nothing: no line was added in the
 * meantime.
 */
export const mergePart = async (root: string): Promise<void> => {
  const { run, part } = statePaths(root)
  const names = await disk.readdir(part.journals).catch(ignoreMissing)
  if (names === undefined) return deletePart(root)
  await disk.mkdir(run.journals, { recursive: true })
  for (const name of names) {
    // The line end in front separates the lines from one that a kill has cut.
    if (name.endsWith('.ndjson'))
      await disk.writeFile(
        join(run.journals, name),
        `\n${await disk.readFile(join(part.journals, name), 'utf8')}`,
        { flag: 'a' },
      )
  }
  writeDrift(run, joinDrift(readDrift(run), readDrift(part)))
  await deletePart(root)
}

export const deletePart = async (root: string): Promise<void> => {
  const { part } = statePaths(root)
  await deleteRunState(part)
  await disk.rm(part.folder, { recursive: true, force: true })
}

const DRIFT_FILE = 'drift.json'

/**
 * Stores the drift that a run has found so far. Synchronous and without a sync, like the lines of the
 * journals.
 */
export const writeDrift = ({ journals }: RunPaths, found: readonly Drift[]): void => {
  if (found.length === 0) return
  const path = join(journals, DRIFT_FILE)
  try {
    disk.writeFileSync(`${path}.next`, JSON.stringify(found))
    disk.renameSync(`${path}.next`, path)
  } catch {
    // A run does not fail for this: a disk that cannot store it fails at the journals, too.
  }
}

/** Reads the drift that a run had found; none if the file is missing or damaged. */
export const readDrift = ({ journals }: RunPaths): readonly Drift[] =>
  driftIn(readJsonNow(join(journals, DRIFT_FILE)))

/**
 * The format of `.scripstream`. Raise it when an earlier version would misread what a run leaves, and convert
 * or name what this version cannot read of the earlier format. Format 2 has the history in Parquet; versions
 * of format 1 had it in files `.day`, or already so.
 */
export const FOLDER_FORMAT = 2

/** A folder without `format.json` is of format 1. */
const readFolderFormat = async (root: string): Promise<number> => {
  const document = await readStateDocument(statePaths(root).format)
  return isRow(document) && typeof document.format === 'number' ? document.format : 1
}

/**
 * Call before reading what runs have left. @throws UsageError for a folder of a newer version, with both
 * formats and the way out
 */
export const checkFolderFormat = async (root: string): Promise<void> => {
  const format = await readFolderFormat(root)
  if (format <= FOLDER_FORMAT) return
  throw new UsageError(
    `${root} was written by a newer version of scripstream (its format is ${format}, this version reads ${FOLDER_FORMAT}); update scripstream, or use another folder`,
    { code: 'newer-folder' },
  )
}

/**
 * Call when a run begins to write, under the lock: from here on, versions of an earlier format refuse the
 * folder. Resolves to whether it was of one.
 */
export const markFolderFormat = async (root: string): Promise<boolean> => {
  const isEarlier = (await readFolderFormat(root)) < FOLDER_FORMAT
  await writeFileAtomically(statePaths(root).format, [`${JSON.stringify({ format: FOLDER_FORMAT })}\n`])
  return isEarlier
}

/**
 * @throws UsageError if there is no such folder, or a newer version wrote it @throws StorageError if it is
 * not accessible
 */
export const requireFolder = async (root: string): Promise<void> => {
  if (!(await statPath(root))?.isDirectory())
    throw new UsageError(`there is no folder ${root}`, { code: 'no-outputs' })
  await checkFolderFormat(root)
}

/** What an active run shows to other processes, in a file that it replaces about once a second. */
export interface LiveFile<State> {
  readonly write: (state: State) => void
  readonly remove: () => void
}

/**
 * The live file of a folder, written without a sync. It creates no folder, so that nothing is left where a
 * run stored nothing.
 */
export const createLiveFile = <State>(root: string): LiveFile<State> => {
  const { folder, live } = statePaths(root)
  const holder = { ...describeThisProcess(), token: 'live' }
  return {
    write: (state) => {
      if (!disk.existsSync(folder)) return
      disk.writeFileSync(`${live}.next`, JSON.stringify({ holder, state }))
      disk.renameSync(`${live}.next`, live)
    },
    remove: () => {
      for (const path of [live, `${live}.next`]) disk.rmSync(path, { force: true })
    },
  }
}

/**
 * Returns a function that reads the state of a folder's active run; undefined without one. The file of a
 * process that has ended does not count, nor one of another shape: another version may write it.
 */
export const createLiveFileReader = <State>(
  root: string,
  parse: (state: unknown) => State | undefined,
  clock: () => number = Date.now,
): (() => State | undefined) => {
  const { live } = statePaths(root)
  let known: { readonly at: number; readonly holder: LockHolder; readonly state: State } | undefined
  const read = (at: number): typeof known => {
    const document = readJsonNow(live)
    if (!isRow(document)) return undefined
    const [holder, state] = [parseHolder(JSON.stringify(document.holder ?? null)), parse(document.state)]
    return holder === undefined || state === undefined ? undefined : { at, holder, state }
  }
  return () => {
    const at = disk.statSync(live, { throwIfNoEntry: false })?.mtimeMs
    if (at === undefined) return undefined
    if (known?.at !== at) known = read(at)
    return known === undefined || hasHolderEnded(known.holder, clock() - at) ? undefined : known.state
  }
}
