import type { Place } from '../../market/place.js'
import type { RecordedDocuments } from '../../model/history.js'
import type { RewrittenFile, RunReport } from '../../model/report.js'
import { type Day, formatSecond, toDay, toInstant } from '../../model/trading-day.js'
import { readParquet, writeParquet } from '../parquet.js'
import { findNewRecords } from '../seen-records.js'
import type { TableRow } from '../table-rows.js'
import { listDays } from './choose.js'
import { type History, leaveOutDamaged, type RewrittenRow, readVerified, toHistoryPath, type Warn } from './record.js'

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
export const encodeSeen = async (history: History, { day, seenOn, documents, warn }: SeenRun): Promise<Buffer | undefined> => {
  const own = history.records.filter((record) => record.day === day)
  const known = new Set((await readSeen({ ...history, records: own }, warn)).map(({ file, key }) => `${file}\n${key}`))
  const found = await findNewRecords(history.root, documents)
  return encodeSeenRows(found.filter(({ file, key }) => !known.has(`${file}\n${key}`)).map((one) => ({ ...one, day: seenOn })))
}

export const encodeSeenRows = (rows: readonly TableRow[]): Buffer | undefined =>
  rows.length === 0 ? undefined : writeParquet(SEEN_COLUMNS, rows)

/** The candle files that a run replaced. */
export const listRewritten = (
  { scripts }: RunReport,
  { day, knownAt, seenOn }: Pick<Place, 'day' | 'knownAt' | 'seenOn'>,
): readonly RewrittenRow[] => {
  // Of a clock that is far ahead, only the day is known.
  const at = toDay(knownAt) === seenOn ? knownAt : toInstant(seenOn, '23:59')
  const content = Object.entries(scripts).map(([stream, { rewritten = [] }]) => [stream, rewritten] as const)
  return toRewrittenRows(day, new Date(at).toISOString(), Object.fromEntries(content))
}

/** @param content replaced files by stream, each perhaps with its own time */
export const toRewrittenRows = (day: Day, knownAt: string, content: object): readonly RewrittenRow[] => {
  const files = Object.entries(content) as (readonly [string, readonly (RewrittenFile & { readonly knownAt?: string })[]])[]
  return files.flatMap(([stream, all]) =>
    all.map(({ knownAt: own = knownAt, item, reason }) => ({ day, known_at: formatSecond(Date.parse(own)), stream, item, reason })),
  )
}

/** The keys of the records of single stocks that were new, of all records. A damaged file is left out: a key that is recorded twice does no harm. */
export const readSeen = async (history: History, warn: Warn): Promise<readonly TableRow[]> => {
  const rows: TableRow[] = []
  for (const { bytes } of await openSeen(history, warn)) rows.push(...(await readParquet(bytes)))
  return rows
}

/** The files with these keys, those that can be read. A clock that was ahead does not hide until its day what it saw first. */
export const openSeen = async (history: History, warn: Warn) => {
  const files: { readonly path: string; readonly bytes: Buffer }[] = []
  const records = listDays(history).flatMap(({ records: own, isMisdated }) => (isMisdated ? [] : own))
  for (const { 'first-seen': file } of records.map(({ others }) => others)) {
    const bytes = file && (await leaveOutDamaged(warn, () => readVerified(history, file)))
    if (file && bytes) files.push({ path: toHistoryPath(history.root, file.name), bytes })
  }
  return files
}
