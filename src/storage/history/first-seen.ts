import type { Place } from '../../market/calendar.js'
import { MERGED } from '../../market/refusal-policy.js'
import type { RecordedDocuments } from '../../model/history.js'
import type { RunReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import { type Day, formatSecond, toDay, toInstant } from '../../model/trading-day.js'
import { createParquet, GROUP_ROWS, type NewParquet, readParquet } from '../parquet.js'
import { findNewRecords } from '../seen-records.js'
import type { TableRow } from '../table-rows.js'
import { listDays } from './choose.js'
import { readVerified } from './intact-files.js'
import { type History, leaveOutDamaged, type RewrittenRow, toHistoryPath, type Warn } from './record.js'

const SEEN_COLUMNS = [
  { name: 'file', type: 'VARCHAR' },
  { name: 'key', type: 'VARCHAR' },
  { name: 'day', type: 'DATE' },
] as const

interface SeenRun {
  readonly day: Day
  /** The day on which its new records were first seen. */
  readonly seenOn: Day
  readonly documents: readonly RecordedDocuments[]
  readonly warn: Warn
}

/** The file with the records that no earlier run of the session had; undefined without any. */
export const encodeSeen = async (
  history: History,
  { day, seenOn, documents, warn }: SeenRun,
): Promise<Buffer | undefined> => {
  const own = history.records.filter((record) => record.day === day)
  const known = new Set(
    (await readSeen({ ...history, records: own }, warn)).map(({ file, key }) => `${file}\n${key}`),
  )
  const [files, keys]: [string[], string[]] = [[], []]
  let bytes: NewParquet | undefined
  // A file of which nearly all records are new has a key for each of them: they are written in groups.
  const flush = (least: number) => {
    if (files.length < least) return
    bytes ??= createParquet(
      SEEN_COLUMNS.map((column) => (column.name === 'day' ? { ...column, constant: seenOn } : column)),
    )
    bytes.addGroup([files.splice(0), keys.splice(0)])
  }
  for await (const [file, found] of findNewRecords(history.root, documents)) {
    for (const key of found)
      if (!known.has(`${file}\n${key}`)) {
        files.push(file)
        keys.push(key)
      }
    flush(GROUP_ROWS)
  }
  flush(1)
  return bytes?.finish()
}

/** The candle files that a run replaced. */
export const listRewrittenRows = (
  { scripts }: RunReport,
  { day, knownAt, seenOn }: Pick<Place, 'day' | 'knownAt' | 'seenOn'>,
): readonly RewrittenRow[] => {
  // Of a clock that is far ahead, only the day is known.
  const at = toDay(knownAt) === seenOn ? knownAt : toInstant(seenOn, '23:59')
  const known_at = formatSecond(at)
  return Object.entries(scripts).flatMap(([stream, { rewritten = [] }]) =>
    rewritten
      .filter(({ reason }) => !reason.startsWith(MERGED))
      .map(({ item, reason, onlyDay }) =>
        omitUndefined({ day, known_at, stream, item, reason, only_day: onlyDay }),
      ),
  )
}

/**
 * The keys of the records of single stocks that were new, of all records. A damaged file is left out: a key
 * that is recorded twice does no harm.
 */
export const readSeen = async (history: History, warn: Warn): Promise<readonly TableRow[]> => {
  const rows: TableRow[] = []
  for (const { bytes } of await openSeen(history, warn)) rows.push(...(await readParquet(bytes)))
  return rows
}

/**
 * The files with these keys, those that can be read. A clock that was ahead does not hide until its day what
 * it saw first.
 */
export const openSeen = async (history: History, warn: Warn) => {
  const files: { readonly path: string; readonly bytes: Buffer }[] = []
  const records = listDays(history).flatMap(({ records: own, isMisdated }) => (isMisdated ? [] : own))
  for (const { 'first-seen': file } of records.map(({ others }) => others)) {
    const bytes = file && (await leaveOutDamaged(warn, () => readVerified(history, file)))
    if (file && bytes) files.push({ path: toHistoryPath(history.root, file.name), bytes })
  }
  return files
}
