import { join } from 'node:path'
import type { RecordedDocuments } from '../../model/history.js'
import { getOrAdd } from '../../model/map.js'
import { isRow, type Row } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { readSeen } from '../../storage/history/first-seen.js'
import type { History, Warn } from '../../storage/history/record.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import { ALL_RECORDS as ALL, toRecordKey } from '../../storage/seen-records.js'
import { type FileComparison, type FileVersions, noteDamage, readDocument } from './file-comparison.js'

/** The days on which the records of a file appeared, by key: the first day of a key, the last one of `ALL_RECORDS`. */
type SeenDays = Map<string, Day>

interface SeenDocuments {
  readonly files: readonly RecordedDocuments[]
  /** The first day of the comparison. */
  readonly after: Day
  /** The last day; the present if absent. */
  readonly until: Day | undefined
  readonly notes: string[]
  /** Gets the damaged days, which are left out. */
  readonly warn: Warn
}

/**
 * Adds the files of single stocks to the comparison of two days. The days do not have these files, but the day on which each record of them
 * appeared; the text is that of the present file. A record that appeared on none of the days was there before.
 * `countLost`: how many new records are no longer in their file, so that their text is unknown.
 */
export const addSeenDocuments = async (
  history: History,
  lists: FileComparison,
  { files, after, until = '9999', notes, warn }: SeenDocuments,
): Promise<FileComparison & { readonly countLost: () => number }> => {
  const { root } = history
  const seen = await readSeenDays(history, after, warn)
  const kinds = files.map((kind) => ({ ...kind, isOf: createOutputMatcher([kind.pattern]) }))
  let lost = 0
  const compare = (file: string, earlier: string, kind: RecordedDocuments): FileVersions | undefined => {
    const now = splitByDay(root, file, { kind, seen, until })
    if (now === undefined) return undefined
    // A renamed stock has its records of before in the file of its earlier symbol.
    const old = earlier === file ? undefined : splitByDay(root, earlier, { kind, seen, until })
    const before = [...now.before, ...(old?.before ?? [])]
    const known = new Set(before.map(({ key }) => key))
    const fresh = now.fresh.filter(({ key }) => !known.has(key))
    lost += now.lost
    const toDocument = (rows: readonly KeyedRow[]): Row => ({ ...now.document, ...groupByList(rows, kind.lists) })
    return { before: before.length === 0 && now.isNew ? undefined : toDocument(before), after: toDocument([...fresh, ...before]) }
  }
  const readVersions = (file: string, earlier = file): FileVersions | undefined => {
    const kind = kinds.find(({ isOf }) => isOf(file))
    return kind === undefined ? lists.readVersions(file, earlier) : noteDamage(file, notes, () => compare(file, earlier, kind))
  }
  return {
    readVersions,
    isSame: (file, earlier) => (kinds.some(({ isOf }) => isOf(file)) ? !seen.has(file) : lists.isSame(file, earlier)),
    countLost: () => lost,
  }
}

const readSeenDays = async (history: History, after: Day, warn: Warn): Promise<ReadonlyMap<string, SeenDays>> => {
  const all = await readSeen(history, warn)
  const rows = all.map(({ file, key, day }) => [String(file), String(key), String(day)] as const)
  const seen = new Map<string, SeenDays>()
  for (const [file, key, day] of rows.filter((row) => row[2] > after).sort((one, other) => (one[2] < other[2] ? -1 : 1))) {
    const known = getOrAdd(seen, file, (): SeenDays => new Map())
    if (key === ALL || !known.has(key)) known.set(key, day)
  }
  return seen
}

interface KeyedRow {
  readonly key: string
  readonly list: string
  readonly row: Row
}

interface SplitFile {
  readonly document: Row
  readonly before: readonly KeyedRow[]
  readonly fresh: readonly KeyedRow[]
  /** Whether all its records appeared at once. */
  readonly isNew: boolean
  readonly lost: number
}

/** The records of a file that were there before the first day, and those that appeared until the last one. */
const splitByDay = (
  root: string,
  file: string,
  { kind, seen, until }: { readonly kind: RecordedDocuments; readonly seen: ReadonlyMap<string, SeenDays>; readonly until: Day },
): SplitFile | undefined => {
  const document = readDocument(join(root, file))
  if (!isRow(document)) return undefined
  const days = seen.get(file)
  const rows = kind.lists.flatMap((list) => {
    const all: unknown = document[list]
    return (Array.isArray(all) ? all.filter(isRow) : []).map((row): KeyedRow => ({ key: toRecordKey(row, kind.identity), list, row }))
  })
  const dayOf = ({ key }: KeyedRow): Day | undefined => days?.get(key) ?? days?.get(ALL)
  const present = new Set(rows.map(({ key }) => key))
  const isLost = ([key, day]: readonly [string, Day]): boolean => key !== ALL && day <= until && !present.has(key)
  return {
    document,
    before: rows.filter((row) => dayOf(row) === undefined),
    fresh: rows.filter((row) => (dayOf(row) ?? '9999') <= until),
    isNew: days?.has(ALL) ?? false,
    lost: [...(days ?? [])].filter(isLost).length,
  }
}

const groupByList = (rows: readonly KeyedRow[], lists: readonly string[]): Row =>
  Object.fromEntries(lists.map((list) => [list, rows.filter((one) => one.list === list).map(({ row }) => row)]))
