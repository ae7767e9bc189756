import { join } from 'node:path'
import { getOrAdd, groupBy } from '../../model/map.js'
import { isRow, type Row } from '../../model/row.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { readSeen } from '../../storage/history/first-seen.js'
import type { History, Warn } from '../../storage/history/record.js'
import { ALL_RECORDS as ALL, toRecordKey } from '../../storage/seen-records.js'
import { type FileVersions, noteDamage, readRepairedJson } from './two-states.js'

interface SeenContext {
  readonly history: History
  readonly from: Day
  readonly to: Day | undefined
  readonly warn: Warn
  readonly notes: Set<string>
}

/**
 * The files of single stocks. The days do not have these files, but the day on which each record of them
 * appeared; the text is that of the present file. A record that appeared on none of the days was there
 * before.
 */
export const openSeenDocuments = async ({ history, from, to = '9999', warn, notes }: SeenContext) => {
  const seen = await readSeenDays(history, from, warn)
  let lost = 0
  /**
   * The records of a file that were there before the first day, and those that appeared until the last one.
   */
  const split = (file: string, { lists = [], identity = [] }: Table) => {
    const document = readRepairedJson(join(history.root, file))
    if (!isRow(document)) return undefined
    const days = seen.get(file) ?? new Map<string, Day>()
    const rows = lists.flatMap((list) =>
      [document[list] ?? []]
        .flat()
        .filter(isRow)
        .map((row): KeyedRow => ({ key: toRecordKey(row, identity), list, row })),
    )
    const dayOf = ({ key }: KeyedRow): Day | undefined => days.get(key) ?? days.get(ALL)
    const present = new Set(rows.map(({ key }) => key))
    return {
      document,
      before: rows.filter((row) => dayOf(row) === undefined),
      fresh: rows.filter((row) => (dayOf(row) ?? '9999') <= to),
      isNew: days.has(ALL),
      lost: [...days].filter(([key, day]) => key !== ALL && day <= to && !present.has(key)).length,
    }
  }
  const compare = (table: Table, file: string, earlier: string): FileVersions | undefined => {
    const now = split(file, table)
    if (now === undefined) return undefined
    // A renamed stock has its records of before in the file of its earlier symbol.
    const before = [...now.before, ...((earlier === file ? undefined : split(earlier, table))?.before ?? [])]
    const known = new Set(before.map(({ key }) => key))
    lost += now.lost
    const toDocument = (rows: readonly KeyedRow[]): Row => {
      const byList = groupBy(rows, ({ list }) => list)
      const lists = (table.lists ?? []).map((list) => [list, (byList.get(list) ?? []).map(({ row }) => row)])
      return { ...now.document, ...Object.fromEntries(lists) }
    }
    const fresh = now.fresh.filter(({ key }) => !known.has(key))
    return {
      before: before.length === 0 && now.isNew ? undefined : toDocument(before),
      after: toDocument([...fresh, ...before]),
    }
  }
  return {
    /** Whether a file of a stock has new records. */
    has: (file: string): boolean => seen.has(file),
    read: (table: Table, file: string, earlier: string): FileVersions | undefined =>
      noteDamage(file, notes, () => compare(table, file, earlier)),
    countLost: () => lost,
  }
}

interface KeyedRow {
  readonly key: string
  readonly list: string
  readonly row: Row
}

/**
 * The days after a day on which the records of each file appeared, by key: the first day of a key, the last
 * one of `ALL_RECORDS`.
 */
const readSeenDays = async (
  history: History,
  after: Day,
  warn: Warn,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Day>>> => {
  const all = await readSeen(history, warn)
  const rows = all.map(({ file, key, day }) => [String(file), String(key), String(day)] as const)
  const seen = new Map<string, Map<string, Day>>()
  for (const [file, key, day] of rows
    .filter((row) => row[2] > after)
    .sort((one, other) => (one[2] < other[2] ? -1 : 1))) {
    const known = getOrAdd(seen, file, () => new Map<string, Day>())
    if (key === ALL || !known.has(key)) known.set(key, day)
  }
  return seen
}
