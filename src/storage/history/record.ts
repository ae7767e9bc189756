import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { RecordTiming } from '../../market/calendar.js'
import { DamagedFileError } from '../../model/errors.js'
import { isRow, omitUndefined } from '../../model/row.js'
import type { Table } from '../../model/table.js'
import { type Day, readDay } from '../../model/trading-day.js'
import { disk } from '../disk.js'
import { describeFileError, listNames, syncFolders, writeFileAtomically } from '../file-system.js'
import { deleteTemporaryFiles } from '../lock.js'
import { statePaths } from '../run-state.js'

/** A file of the record: its path below the folder of the history, and the SHA-256 of its bytes. */
export interface FileFacts {
  readonly name: string
  readonly bytes: number
  readonly digest: string
}

export interface RecordedList {
  readonly stream: string
  readonly rows: number
  /** The same for the same rows, in whatever order. */
  readonly content: string
  /**
   * The whole list, or a base: a copy of the whole list of an earlier day, so that each can be read in place
   * of the other.
   */
  readonly whole: FileFacts
  /** What differs from the base; absent if nothing does. */
  readonly changes?: FileFacts
  /** When such a list is published on its day, if its stream says so: `HH:MM` in India. */
  readonly publishedAt?: string
  /**
   * When the run began that requested it, ISO 8601. Absent if `publishedAt` is, and in older records: then
   * `knownAt` counts.
   */
  readonly requestedAt?: string
  /**
   * The session with which it ends, if that is before its day: then it was not published yet, whatever the
   * time.
   */
  readonly endsOn?: Day
  /** Whether its answers had drifted: a column may be empty that the day has. */
  readonly hasDrift?: boolean
}

/** What tells whether a list was published when it was collected, and whole. */
export type Publication = Pick<RecordedList, 'publishedAt' | 'requestedAt' | 'endsOn' | 'hasDrift'>

/** What one run recorded of one session. It is never changed. */
export interface RecordFacts {
  readonly format: 2
  /** Records are numbered in the order in which they were stored. */
  readonly number: number
  /** The record with the number before, and the digest of its facts. */
  readonly previous?: { readonly name: string; readonly digest: string }
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly timing: RecordTiming
  /** Whether candles or deals of that very day were there. */
  readonly isConfirmed: boolean
  /**
   * When its session ended, ISO 8601, if it had hours of its own: what was recorded of the day before that is
   * of the session itself.
   */
  readonly sessionEnd?: string
  readonly run: string
  readonly lists: Readonly<Record<string, RecordedList>>
  /** The file with the keys of records that were new. */
  readonly others: { readonly 'first-seen'?: FileFacts }
  /** The candle files that were replaced. */
  readonly rewritten?: readonly RewrittenRow[]
  /**
   * Only of a record that was deleted on request: when, the digest of the facts that it had, and copies of
   * bases that other records need.
   */
  readonly deleted?: { readonly at: string; readonly digest: string; readonly copies: readonly FileFacts[] }
}

/**
 * A candle file that was replaced: the session until which its prices had been known otherwise, and when that
 * was, in India.
 */
export interface RewrittenRow
  extends Readonly<Record<'day' | 'known_at' | 'stream' | 'item' | 'reason', string>> {
  /** The day of the only candle that was replaced. */
  readonly only_day?: Day
}

/** A record in its folder: its facts, its place below the history, and the digest of its facts. */
export interface StoredRecord extends RecordFacts {
  readonly name: string
  readonly digest: string
}

/** A part of the history that cannot be read, and the day that it concerns. */
export interface Damage {
  readonly day?: Day
  readonly file: string
  readonly detail: string
}

/** The order of days, the earliest first. */
export const byDay = (one: { readonly day: Day }, other: typeof one): number =>
  one.day < other.day ? -1 : Number(one.day > other.day)

export const describeDamage = ({ file, detail }: Damage): string => `${file} cannot be read: ${detail}`

/** The records of a folder, by their numbers, and those that cannot be read. */
export interface History {
  readonly root: string
  readonly records: readonly StoredRecord[]
  /** What is left of the records that were deleted on request. */
  readonly deleted: readonly StoredRecord[]
  readonly damages: readonly Damage[]
  /**
   * The days that a version of folder format 1 recorded in another form, oldest first. They stay, and only
   * that version reads them.
   */
  readonly earlier: readonly Day[]
}

/** Receives what is said to people, such as that a damaged day was left out. */
export type Warn = (text: string) => void

export const FACTS_FILE = 'record.json'
export const BASES = 'bases'
/** What the names of files of the earlier form end with. */
export const EARLIER_DAY = '.day'
export const EARLIER_BASE = '.base'
/** The name of the folder of a record. */
export const RECORD_FOLDER = /^\d{8}T\d{6}Z(?:-\d+)?$/

export const digestOf = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex')

export const describeFile = (name: string, bytes: Buffer): FileFacts => ({
  name,
  bytes: bytes.length,
  digest: digestOf(bytes),
})

export const toHistoryPath = (root: string, ...names: readonly string[]): string =>
  join(statePaths(root).history, ...names)
/** A path of the history for people: relative to the output folder. */
export const nameHistoryFile = (name: string): string => `.scripstream/history/${name}`

/** The name of a new record: its day, and when it was known. */
export const nameRecord = (
  { day, knownAt }: Pick<RecordFacts, 'day' | 'knownAt'>,
  taken: readonly StoredRecord[],
): string => {
  const name = `${day}/${knownAt.replace(/[-:]|\.\d+/g, '')}`
  const names = new Set(taken.map((one) => one.name))
  let free = name
  for (let number = 2; names.has(free); number++) free = `${name}-${number}`
  return free
}

/** The facts of all files of a record; bases are also those of others. */
export const listRecordFiles = ({ lists, others, deleted }: RecordFacts): readonly FileFacts[] => [
  ...Object.values(lists).flatMap(({ whole, changes }) => (changes ? [whole, changes] : [whole])),
  ...Object.values(others),
  ...(deleted?.copies ?? []),
]

/** One line with a value and its digest. */
export const formatWithDigest = (name: string, value: unknown): string => {
  const text = JSON.stringify(value)
  return `{"${name}":${text},"digest":"${digestOf(text)}"}\n`
}

const toStored = (
  name: string,
  facts: RecordFacts,
  digest = digestOf(JSON.stringify(facts)),
): StoredRecord => ({
  ...facts,
  name,
  digest: facts.deleted?.digest ?? digest,
})

/** Tables: they say when a list is published where an older record does not. */
export type PublishedTables = readonly Pick<Table, 'name' | 'publishedAt'>[]

/** Reads the facts of all records. A record whose facts are damaged is left out, and named. */
export const openHistory = async (root: string, tables: PublishedTables = []): Promise<History> => {
  const records: StoredRecord[] = []
  const damages: Damage[] = []
  const published = new Map(
    tables.flatMap(({ name, publishedAt }) => (publishedAt ? [[name, { publishedAt }] as const] : [])),
  )
  const addPublished = ({ lists, ...record }: StoredRecord): StoredRecord => ({
    ...record,
    lists: Object.fromEntries(
      Object.entries(lists).map(([name, list]) => [name, { ...published.get(name), ...list }]),
    ),
  })
  for (const day of await listRecordedDays(root))
    for (const folder of (await listNames(toHistoryPath(root, day)))
      .filter((name) => RECORD_FOLDER.test(name))
      .sort()) {
      const name = `${day}/${folder}`
      const facts = readRecordFacts(toHistoryPath(root, name, FACTS_FILE), name)
      if (typeof facts === 'object') records.push(addPublished(facts))
      else damages.push({ day, file: nameHistoryFile(`${name}/${FACTS_FILE}`), detail: facts })
    }
  records.sort((one, other) => one.number - other.number)
  const isDeleted = (one: StoredRecord) => one.deleted !== undefined
  const [present, deleted] = [records.filter((one) => !isDeleted(one)), records.filter(isDeleted)]
  return { root, records: present, deleted, damages, earlier: await listEarlierDays(root) }
}

/** The days that are recorded in the earlier form, oldest first. */
export const listEarlierDays = async (root: string): Promise<readonly Day[]> =>
  (await listNames(statePaths(root).history))
    .flatMap((name) => {
      const day = readDay(name)
      return day !== undefined && name === `${day}${EARLIER_DAY}` ? [day] : []
    })
    .sort()

/** The days that have a folder in the history, oldest first. */
export const listRecordedDays = async (root: string): Promise<readonly Day[]> =>
  (await listNames(statePaths(root).history)).filter((name) => readDay(name) === name).sort()

/** A line of `formatWithDigest`. */
const FACTS = /^\{"record":(.*),"digest":"([\da-f]{64})"\}\n$/

/** The record, or why it cannot be read. */
const readRecordFacts = (path: string, name: string): StoredRecord | string => {
  try {
    const [, text = '', digest = ''] = FACTS.exec(disk.readFileSync(path, 'utf8')) ?? []
    if (digestOf(text) !== digest) return 'its digest is wrong'
    const facts = JSON.parse(text) as RecordFacts
    if (!isReadable(facts)) return 'it has another form than the facts of a record'
    if (!name.startsWith(nameRecord(facts, []))) return `it belongs to ${nameRecord(facts, [])}`
    return toStored(name, facts, digest)
  } catch (error) {
    return error instanceof SyntaxError || error instanceof TypeError
      ? 'its digest is wrong'
      : describeFileError(error, 'read')
  }
}

const isReadable = ({ format, number, day, knownAt, lists, others }: Partial<RecordFacts>): boolean =>
  format === 2 &&
  Number.isSafeInteger(number) &&
  readDay(day) === day &&
  !Number.isNaN(Date.parse(String(knownAt))) &&
  isRow(others) &&
  isRow(lists) &&
  Object.values(lists).every(
    (list: unknown) => isRow(list) && typeof list.content === 'string' && isRow(list.whole),
  )

/** What can be read; undefined, with a warning, if it is damaged. */
export const leaveOutDamaged = async <T>(warn: Warn, read: () => T): Promise<Awaited<T> | undefined> => {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error
    warn(error.message)
    return undefined
  }
}

const HEAD_RECORD = /^-- Made of all records until number (\d+), (\S+): ([\da-f]{64})$/m

/** The newest record of which `views.sql` was made: nothing else shows that it is missing. */
export const readHead = async (
  root: string,
): Promise<Pick<StoredRecord, 'number' | 'name' | 'digest'> | undefined> => {
  const text = await disk.readFile(toHistoryPath(root, 'views.sql'), 'utf8').catch(() => '')
  const [, number, name, digest] = HEAD_RECORD.exec(text) ?? []
  return name === undefined || digest === undefined ? undefined : { number: Number(number), name, digest }
}

type NewRecordFile = readonly [facts: FileFacts, bytes: Buffer]

/** Lists to be recorded, and the files that they need. */
export interface EncodedLists {
  readonly lists: Record<string, RecordedList>
  readonly files: NewRecordFile[]
}

interface NewRecord extends EncodedLists {
  readonly facts: Omit<RecordFacts, 'format' | 'number' | 'previous' | 'lists' | 'others'>
  /** The file with the keys of records that were new. */
  readonly seen?: Buffer | undefined
}

/** What the names of folders with temporary files begin with. */
export const WORK_FOLDER = 'work-'

/** Deletes what a killed run has left half-written, or half-deleted. Call with the folder locked. */
export const deleteInterruptedWrites = async (root: string): Promise<void> => {
  const { history } = statePaths(root)
  await deleteTemporaryFiles(history)
  for (const name of await listNames(history))
    if (name.startsWith(WORK_FOLDER)) await disk.rm(join(history, name), { recursive: true, force: true })
  for (const { name } of (await openHistory(root)).deleted)
    for (const file of await listNames(join(history, name)))
      if (file !== FACTS_FILE) await disk.rm(join(history, name, file))
}

/**
 * Stores a record: its bases first, and then all its files with one rename, so that a kill leaves all of it
 * or nothing. Resolves to the history with it.
 */
export const writeRecord = async (
  history: History,
  { facts, lists, files, seen }: NewRecord,
): Promise<History> => {
  const { root, records, deleted } = history
  const name = nameRecord(facts, [...records, ...deleted])
  const further: readonly NewRecordFile[] = seen
    ? [[describeFile(`${name}/first-seen.parquet`, seen), seen]]
    : []
  const others = Object.fromEntries(further.map(([file]) => ['first-seen', file]))
  const { day } = facts
  const whole: RecordFacts = omitUndefined({
    format: 2 as const,
    ...(await findLink(history)),
    ...facts,
    lists,
    others,
  })
  const own = [...files, ...further].map(([file, bytes]) => [file.name, bytes] as const)
  await disk.mkdir(toHistoryPath(root, BASES), { recursive: true })
  const work = await disk.mkdtemp(toHistoryPath(root, WORK_FOLDER))
  try {
    await disk.mkdir(join(work, name), { recursive: true })
    await disk.mkdir(join(work, BASES))
    await writeFileAtomically(join(work, name, FACTS_FILE), [formatWithDigest('record', whole)])
    for (const [path, bytes] of own) await writeFileAtomically(join(work, path), [bytes])
    for (const [path] of own)
      if (path.startsWith(BASES)) await disk.rename(join(work, path), toHistoryPath(root, path))
    await disk.mkdir(toHistoryPath(root, day), { recursive: true })
    await syncFolders([join(work, name), toHistoryPath(root, BASES)])
    await disk.rename(join(work, name), toHistoryPath(root, name))
    const folder = statePaths(root).history
    // Up to the folder in which the first record creates the history: a power cut would take all of it.
    await syncFolders([dirname(toHistoryPath(root, name)), folder, dirname(folder)])
  } finally {
    await disk.rm(work, { recursive: true, force: true })
  }
  return { ...history, records: [...records, toStored(name, whole)] }
}

/** The number of the next record, and the one before it. That one may be missing: then `verify` names it. */
const findLink = async ({
  root,
  records,
  deleted,
  damages,
}: History): Promise<Pick<RecordFacts, 'number' | 'previous'>> => {
  const last = records.at(-1)
  const head = await readHead(root)
  const previous = head && head.number > (last?.number ?? 0) ? head : last
  const newest = Math.max(
    head?.number ?? 0,
    (last?.number ?? 0) + damages.length,
    ...deleted.map((one) => one.number),
  )
  return omitUndefined({
    number: newest + 1,
    previous: previous && { name: previous.name, digest: previous.digest },
  })
}
