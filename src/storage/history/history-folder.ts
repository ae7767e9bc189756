import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DamagedFileError } from '../../model/errors.js'
import { type Day, readDay as readValidDay } from '../../model/trading-day.js'
import { writeFileAtomically } from '../atomic-file.js'
import { listNames, statFile } from '../file-system.js'
import { deleteTemporaryFiles } from '../folder-names.js'
import { acquireLock } from '../lock.js'
import { checkFolderFormat, statePaths } from '../run-state.js'
import { listBases, listChain, toBasePath } from './bases.js'
import { type DayRecord, formatDay, type ReadableRecord, readDay, readWhatIsReadable } from './day-file.js'
import { WORK_FOLDER } from './history-reader.js'

/**
 * The history of an output folder: a file for each day, and bases from which the lists of the days differ. A day depends on no other day.
 */
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.day$/

export const toDayPath = (root: string, day: Day): string => join(statePaths(root).history, `${day}.day`)

/** The recorded days, oldest first. A file with the name of a day that does not exist is none of them. */
export const listDays = async (root: string): Promise<readonly Day[]> =>
  (await listNames(statePaths(root).history)).flatMap((name) => readValidDay(DAY_FILE.exec(name)?.[1]) ?? []).sort()

/** @throws DamagedFileError */
export const readRecordedDay = (root: string, day: Day): Promise<DayRecord | undefined> => readDay(toDayPath(root, day))

/** Receives what is to be told to people, such as that a damaged day was left out. */
export type Warn = (text: string) => void

/** What can be read of a recorded day; `warn` gets what cannot be read. `undefined` if there is no record, or nothing can be read. */
export const readUndamaged = async (root: string, day: Day, warn: Warn): Promise<ReadableRecord | undefined> => {
  const path = toDayPath(root, day)
  try {
    const record = await readWhatIsReadable(path)
    if (record !== undefined && record.damaged.length > 0) warn(`${path} is damaged: it has lost ${record.damaged.join(', ')}`)
    return record
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error
    warn(error.message)
    return undefined
  }
}

/** Deletes the temporary files of a killed run. Call with the folder locked. */
export const deleteInterruptedWrites = async (root: string): Promise<void> => {
  const { history } = statePaths(root)
  for (const name of await deleteTemporaryFiles(history))
    if (name.startsWith(WORK_FOLDER)) await rm(join(history, name), { recursive: true, force: true })
}

/** Replaces the record of a day. */
export const writeDay = async (root: string, record: DayRecord): Promise<void> => {
  await writeFileAtomically(toDayPath(root, record.day), formatDay(record))
}

/** A file that is deleted with the history before a day. */
export interface PrunedFile {
  readonly path: string
  readonly bytes: number
}

/**
 * What can be deleted: the days before a day, if one is given, and the bases that no other day needs. Deletes nothing. While a day that stays is
 * damaged, all bases stay: it may be restored from a backup, and would need them.
 */
const findPrunable = async (root: string, before: Day | undefined, warn: Warn): Promise<readonly PrunedFile[]> => {
  const days = await listDays(root)
  const gone = days.filter((day) => before !== undefined && day < before)
  const all = await listBases(root)
  const needed = new Set<string>()
  let isDamaged = false
  const noteDamage: Warn = (text) => {
    isDamaged = true
    warn(`${text}; no base is deleted before that`)
  }
  for (const day of days.slice(gone.length))
    for (const { base } of Object.values((await readUndamaged(root, day, noteDamage))?.entries ?? {}))
      for (const { name } of listChain(all, base)) needed.add(name)
  const bases = isDamaged ? [] : all.filter(({ name }) => !needed.has(name))
  // Days go first: a base without days is harmless.
  const paths = [...gone.map((day) => toDayPath(root, day)), ...bases.map(({ name }) => toBasePath(root, name))]
  return paths.map((path) => ({ path, bytes: statFile(path)?.size ?? 0 }))
}

/** Deletes what `findPrunable` finds, with the folder locked: a run may be about to use a base. Resolves to what was deleted; `warn` gets the damaged days. */
export const pruneHistory = async (
  root: string,
  { before, now, warn = () => undefined }: { readonly before?: Day; readonly now: number; readonly warn?: Warn },
): Promise<readonly PrunedFile[]> => {
  await checkFolderFormat(root)
  if ((await listDays(root)).length === 0 && (await listBases(root)).length === 0) return []
  const release = await acquireLock(statePaths(root).lock, now)
  try {
    const files = await findPrunable(root, before, warn)
    for (const { path } of files) await rm(path, { force: true })
    return files
  } finally {
    release()
  }
}
