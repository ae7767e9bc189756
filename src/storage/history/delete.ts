import { readdir, rename, rm } from 'node:fs/promises'
import { UsageError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { writeFileAtomically } from '../atomic-file.js'
import { listNames, readStateDocument, statFile } from '../file-system.js'
import { acquireLock } from '../lock.js'
import { checkFolderFormat, statePaths } from '../run-state.js'
import { createFormerError } from './choose.js'
import { writeGuide } from './guide.js'
import {
  BASES,
  formatWithDigest,
  type History,
  listRecordedDays,
  listRecordFiles,
  nameHistoryFile,
  openHistory,
  type StoredRecord,
  toHistoryPath,
} from './record.js'

/** A record that was deleted on request: a hole in the chain of records with a reason. */
interface DeletedRecord extends Pick<StoredRecord, 'name' | 'number' | 'digest'> {
  /** ISO 8601. */
  readonly deletedAt: string
}

export const DELETED_FILE = 'deleted.json'

export const formatDeleted = (all: readonly DeletedRecord[]): string => formatWithDigest('deleted', all)

export const readDeleted = async (root: string): Promise<readonly DeletedRecord[]> => {
  const document = await readStateDocument(toHistoryPath(root, DELETED_FILE))
  const all = isRow(document) && Array.isArray(document.deleted) ? document.deleted.filter(isRow) : []
  return all.map((row) => row as unknown as DeletedRecord).filter(({ number }) => Number.isSafeInteger(number))
}

/** What can be deleted from the history. */
export interface Deletable {
  readonly days: readonly Day[]
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
}

/** Which days: one, all before a day, or none, to delete only the bases that no record needs. */
interface DaySelector {
  readonly day?: Day | undefined
  readonly before?: Day | undefined
}

/**
 * Finds the days to delete, and the bases that only they need. Deletes nothing. While a record is damaged, all bases stay: it may be restored
 * from a backup, and would need them.
 *
 * @throws UsageError if the day has no record
 */
export const findDeletable = async (root: string, selector: DaySelector): Promise<Deletable> => {
  await checkFolderFormat(root)
  return findIn(await openHistory(root), selector)
}

const findIn = async (history: History, { day, before }: DaySelector): Promise<Deletable> => {
  const { root, records, damages, former } = history
  if (former.length > 0) throw createFormerError(history)
  const days = (await listRecordedDays(root)).filter((one) => one === day || (before !== undefined && one < before))
  if (day !== undefined && days.length === 0) throw new UsageError(`${day} is not recorded in ${root}, so there is nothing to delete`)
  const stays = (one: { readonly day?: Day }): boolean => one.day !== undefined && !days.includes(one.day)
  const needed = new Set(
    records
      .filter(stays)
      .flatMap(listRecordFiles)
      .map(({ name }) => name),
  )
  const bases = damages.some(stays) ? [] : (await listNames(toHistoryPath(root, BASES))).map((name) => `${BASES}/${name}`)
  const own = await Promise.all(
    days.map(async (one) => (await readdir(toHistoryPath(root, one), { recursive: true })).map((name) => `${one}/${name}`)),
  )
  const files = [...own.flat().sort(), ...bases.filter((name) => !needed.has(name))].flatMap((name) => {
    const bytes = statFile(toHistoryPath(root, name))?.size
    return bytes === undefined ? [] : [{ path: nameHistoryFile(name), bytes }]
  })
  return { days, files }
}

/** Deletes what `findDeletable` finds, with the folder locked: a run may be about to use a base. */
export const deleteDays = async (root: string, selector: DaySelector, now: number): Promise<Deletable> => {
  await checkFolderFormat(root)
  const release = await acquireLock(statePaths(root).lock, now)
  try {
    const history = await openHistory(root)
    const found = await findIn(history, selector)
    await noteDeleted(history, found.days, now)
    for (const day of found.days) {
      // Renamed first: a day is there as a whole, or not at all.
      const path = toHistoryPath(root, `work-${day}`)
      await rename(toHistoryPath(root, day), path)
      await rm(path, { recursive: true, force: true })
    }
    const bases = found.files.map(({ path }) => path.slice(nameHistoryFile('').length)).filter((name) => name.startsWith(BASES))
    for (const name of bases) await rm(toHistoryPath(root, name), { force: true })
    await writeGuide(await openHistory(root))
    return found
  } finally {
    release()
  }
}

/** Of a damaged record only the one after it knows the digest. */
const noteDeleted = async ({ root, records }: History, days: readonly Day[], now: number): Promise<void> => {
  const before = records.flatMap(({ previous, number }) => (previous ? [{ ...previous, number: number - 1 }] : []))
  const gone = new Map([...before, ...records].filter(({ name }) => days.includes(name.slice(0, 10))).map((one) => [one.name, one]))
  if (gone.size === 0) return
  const deletedAt = new Date(now).toISOString()
  const noted = [...gone.values()].map(({ name, number, digest }): DeletedRecord => ({ name, number, digest, deletedAt }))
  await writeFileAtomically(toHistoryPath(root, DELETED_FILE), [formatDeleted([...(await readDeleted(root)), ...noted])])
}
