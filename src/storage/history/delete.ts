import { dirname } from 'node:path'
import { UsageError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import { disk } from '../disk.js'
import { listNames, statFile, writeFileAtomically } from '../file-system.js'
import { acquireLock } from '../lock.js'
import { checkFolderFormat, statePaths } from '../run-state.js'
import { writeGuide } from './guide.js'
import { findFile } from './intact-files.js'
import {
  BASES,
  deleteInterruptedWrites,
  EARLIER_BASE,
  EARLIER_DAY,
  FACTS_FILE,
  type FileFacts,
  formatWithDigest,
  type History,
  leaveOutDamaged,
  listRecordFiles,
  nameHistoryFile,
  openHistory,
  type PublishedTables,
  type RecordFacts,
  type StoredRecord,
  toHistoryPath,
} from './record.js'

export interface Deletable {
  readonly days: readonly Day[]
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
}

/** Which days: one, all before a day, or none, to delete only the bases that no record needs. */
interface DaySelector {
  readonly day?: Day | undefined
  readonly before?: Day | undefined
  /** The tables of all streams. */
  readonly tables?: PublishedTables
}

/**
 * Finds the days to delete, and the bases that only they need. Deletes nothing. While a record is damaged,
 * all bases stay: it may be restored from a backup, and would need them.
 *
 * @throws UsageError if the day has no record
 */
export const findDeletable = async (root: string, selector: DaySelector): Promise<Deletable> => {
  await checkFolderFormat(root)
  const { days, files } = await findIn(await openHistory(root), selector)
  return { days, files }
}

const findIn = async (history: History, { day, before }: DaySelector) => {
  const { root, records, deleted, damages, earlier } = history
  const damaged = damages.map(({ file }) => dirname(file).slice(nameHistoryFile('').length))
  const isGone = (name: string) => name.slice(0, 10) === day || (before !== undefined && name < before)
  const gone = [
    ...records.map(({ name }) => name),
    ...damaged,
    ...earlier.map((one) => `${one}${EARLIER_DAY}`),
  ]
    .filter(isGone)
    .sort()
  if (day !== undefined && gone.length === 0)
    throw new UsageError(`${day} is not recorded in ${root}, so there is nothing to delete`)
  const staying = records.filter(({ name }) => !isGone(name)).flatMap(listRecordFiles)
  const bases = new Map(
    staying.filter(({ name }) => name.startsWith(BASES)).map((base) => [base.digest, base]),
  )
  const copies = deleted.flatMap(listRecordFiles).filter(({ digest }) => bases.has(digest))
  const kept = new Set([...bases.values(), ...copies].map(({ name }) => name))
  // Which bases the days of the earlier form need is not known.
  const isKept = (name: string) => kept.has(name) || (name.endsWith(EARLIER_BASE) && !earlier.every(isGone))
  const unneeded = damaged.every(isGone)
    ? (await listNames(toHistoryPath(root, BASES)))
        .map((name) => `${BASES}/${name}`)
        .filter((name) => !isKept(name))
    : []
  const listOwn = async (name: string): Promise<readonly string[]> =>
    name.endsWith(EARLIER_DAY)
      ? [name]
      : (await listNames(toHistoryPath(root, name))).map((file) => `${name}/${file}`)
  const own = await Promise.all(gone.map(listOwn))
  const hasTwin = ({ digest, name }: FileFacts) =>
    [...staying, ...copies].some((one) => one.digest === digest && one.name !== name)
  return {
    days: [...new Set(gone.map((name) => name.slice(0, 10)))],
    files: [...own.flat(), ...unneeded].sort().map((name) => ({
      path: nameHistoryFile(name),
      bytes: statFile(toHistoryPath(root, name))?.size ?? 0,
    })),
    gone,
    unneeded,
    /** The bases of which no other file is left. */
    single: [...bases.values()].filter((base) => !hasTwin(base)),
  }
}

/**
 * Deletes what `findDeletable` finds, with the folder locked: a run may be about to use a base. Of a record
 * the facts stay, without lists: a hole in the chain of records with a reason.
 */
export const deleteDays = async (root: string, selector: DaySelector, now: number): Promise<Deletable> => {
  await checkFolderFormat(root)
  const release = await acquireLock(statePaths(root).lock, now)
  try {
    const history = await openHistory(root)
    const { days, files, gone, unneeded, single } = await findIn(history, selector)
    const links = findLinks(history).filter(({ name }) => gone.includes(name))
    const at = new Date(now).toISOString()
    let copies = links.length === 0 ? [] : await copyBases(history, single)
    for (const link of links) {
      await noteDeleted(root, link, { at, digest: link.digest, copies })
      copies = []
    }
    for (const { deleted, ...record } of history.deleted)
      if (deleted)
        await noteDeleted(root, record, {
          ...deleted,
          copies: deleted.copies.filter(({ name }) => !unneeded.includes(name)),
        })
    for (const name of gone)
      if (links.every((link) => link.name !== name))
        await disk.rm(toHistoryPath(root, name), { recursive: true })
    for (const name of unneeded) await disk.rm(toHistoryPath(root, name), { force: true })
    await deleteInterruptedWrites(root)
    await writeGuide(await openHistory(root, selector.tables))
    return { days, files }
  } finally {
    release()
  }
}

type Link = Pick<StoredRecord, 'name' | 'number' | 'digest'>

/** Of a damaged record only the one after it knows the digest. */
const findLinks = ({ records }: History): readonly Link[] => {
  const before = records.flatMap(({ previous, number }) =>
    previous ? [{ ...previous, number: number - 1 }] : [],
  )
  return [...new Map([...before, ...records].map((one) => [one.name, one])).values()]
}

const noteDeleted = (
  root: string,
  { name, number }: Link,
  deleted: Required<RecordFacts>['deleted'],
): Promise<number> => {
  const [day = '', second = ''] = name.split('/')
  const knownAt = second.replace(/^(....)(..)(..T..)(..)(..Z).*/, '$1-$2-$3:$4:$5')
  const place = { day, knownAt, timing: 'late', isConfirmed: false, run: '' } as const
  const facts: RecordFacts = { format: 2, number, ...place, lists: {}, others: {}, deleted }
  return writeFileAtomically(toHistoryPath(root, name, FACTS_FILE), [formatWithDigest('record', facts)])
}

/** Writes a second file of each base. */
const copyBases = async (history: History, bases: readonly FileFacts[]): Promise<readonly FileFacts[]> => {
  const copies: FileFacts[] = []
  for (const base of bases) {
    const bytes = await leaveOutDamaged(ignore, () => findFile(history, base, ignore).bytes)
    const copy = { ...base, name: base.name.replace(`${BASES}/`, `${BASES}/copy-`) }
    if (bytes === undefined) continue
    await writeFileAtomically(toHistoryPath(history.root, copy.name), [bytes])
    copies.push(copy)
  }
  return copies
}

const ignore = (): void => undefined
