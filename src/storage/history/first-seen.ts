import type { Place } from '../../market/place.js'
import type { RecordedDocuments } from '../../model/history.js'
import type { RewrittenFile, RunReport } from '../../model/report.js'
import { type Day, formatSecond, toDay, toInstant } from '../../model/trading-day.js'
import { readParquet, writeParquet } from '../parquet.js'
import { findNewRecords } from '../seen-records.js'
import type { TableRow } from '../table-rows.js'
import { type History, leaveOutDamaged, type OtherName, readVerified, type Warn } from './record.js'

const SEEN_COLUMNS = [
  { name: 'file', type: 'VARCHAR' },
  { name: 'key', type: 'VARCHAR' },
  { name: 'day', type: 'DATE' },
] as const

const REWRITTEN_COLUMNS = [
  { name: 'day', type: 'DATE' },
  { name: 'known_at', type: 'TIMESTAMP' },
  ...['stream', 'item', 'reason'].map((name) => ({ name, type: 'VARCHAR' }) as const),
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
  const known = new Set((await readOthers({ ...history, records: own }, 'first-seen', warn)).map(({ file, key }) => `${file}\n${key}`))
  const found = await findNewRecords(history.root, documents)
  return encodeSeenRows(found.filter(({ file, key }) => !known.has(`${file}\n${key}`)).map((one) => ({ ...one, day: seenOn })))
}

export const encodeSeenRows = (rows: readonly TableRow[]): Buffer | undefined =>
  rows.length === 0 ? undefined : writeParquet(SEEN_COLUMNS, rows)

/** The file with the candle files that a run replaced; undefined without any. */
export const encodeRewritten = (
  { scripts }: RunReport,
  { day, knownAt, seenOn }: Pick<Place, 'day' | 'knownAt' | 'seenOn'>,
): Buffer | undefined => {
  // Of a clock that is far ahead, only the day is known.
  const at = toDay(knownAt) === seenOn ? knownAt : toInstant(seenOn, '23:59')
  const content = Object.entries(scripts).map(([stream, { rewritten = [] }]) => [stream, rewritten] as const)
  return encodeRewrittenRows(day, new Date(at).toISOString(), Object.fromEntries(content))
}

/** @param content replaced files by stream, each perhaps with its own time */
export const encodeRewrittenRows = (day: Day, knownAt: string, content: object): Buffer | undefined => {
  const files = Object.entries(content) as (readonly [string, readonly (RewrittenFile & { readonly knownAt?: string })[]])[]
  const rows = files.flatMap(([stream, all]) =>
    all.map((file) => ({ day, known_at: formatSecond(Date.parse(file.knownAt ?? knownAt)), stream, item: file.item, reason: file.reason })),
  )
  return rows.length === 0 ? undefined : writeParquet(REWRITTEN_COLUMNS, rows)
}

/** The rows of the files of that name of all records. A damaged one is left out: a key that is recorded twice does no harm. */
export const readOthers = async (history: History, name: OtherName, warn: Warn): Promise<readonly TableRow[]> => {
  const rows: TableRow[] = []
  for (const { others } of history.records) {
    const file = others[name]
    if (file) rows.push(...((await leaveOutDamaged(warn, () => readParquet(readVerified(history, file)))) ?? []))
  }
  return rows
}
