import { join } from 'node:path'
import { getOrAdd } from '../../model/map.js'
import { isRow, type Row } from '../../model/row.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { readSeen } from '../../storage/history/first-seen.js'
import type { History, Warn } from '../../storage/history/record.js'
import { ALL_RECORDS as ALL, toRecordKey } from '../../storage/seen-records.js'
import { type FileVersions, findIsin, listRecords, noteDamage, readRepairedJson } from './two-states.js'

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
  const split = (file: string, table: Table) => {
    const document = readRepairedJson(join(history.root, file))
    if (!isRow(document)) return undefined
    const days = seen.get(file) ?? new Map<string, Day>()
    const records = new Map(
      listRecords(table, document).map((record) => [toRecordKey(record, table.identity ?? []), record]),
    )
    const select = (isWanted: (day: Day | undefined) => boolean): readonly (readonly [string, Row])[] =>
      [...records].filter(([key]) => isWanted(days.get(key) ?? days.get(ALL)))
    return {
      before: select((day) => day === undefined),
      fresh: select((day = '9999') => day <= to),
      isin: findIsin(document, [...records.values()]),
      isNew: days.has(ALL),
      lost: [...days].filter(([key, day]) => key !== ALL && day <= to && !records.has(key)).length,
    }
  }
  const compare = (table: Table, file: string, earlier: string): FileVersions | undefined => {
    const now = split(file, table)
    if (now === undefined) return undefined
    // A renamed stock has its records of before in the file of its earlier symbol.
    const before = new Map([
      ...now.before,
      ...((earlier === file ? undefined : split(earlier, table))?.before ?? []),
    ])
    lost += now.lost
    const fresh = now.fresh.filter(([key]) => !before.has(key)).map(([, record]) => record)
    const known = [...before.values()]
    return {
      before: known.length === 0 && now.isNew ? undefined : known,
      after: [...fresh, ...known],
      isin: now.isin,
    }
  }
  return {
    /** Whether a file of a stock has new records. */
    has: (file: string) => seen.has(file),
    read: (table: Table, file: string, earlier: string): FileVersions | undefined =>
      noteDamage(file, notes, () => compare(table, file, earlier)),
    countLost: () => lost,
  }
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
