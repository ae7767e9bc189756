import type { Day } from '../../model/trading-day.js'
import { quoteText, toJsonPath } from '../duckdb.js'
import { RECORD_KEY_LENGTH } from './record-key.js'

/** A day, and a Parquet file with the days on which records appeared: `file`, `key` and `day`. */
export interface KnownOn {
  readonly day: Day
  readonly seen: string
}

interface RecordFacts extends KnownOn {
  /** The output folder. */
  readonly root: string
  readonly identity: readonly string[]
  /** The SQL of the time of a record. */
  readonly time: string
}

/**
 * Of records with their file, those that were known on a day: those whose key appeared by then, or else whose file was new by then, or else
 * whose own time is not later, because they were there before the history began: their `seen_on` is NULL.
 */
export const buildKnownSelect = (records: string, { day, seen, root, identity, time }: RecordFacts): string => {
  const texts = identity.map((key) => `coalesce(json_extract_string(record, ${toJsonPath(key)}), '')`)
  const key = `left(md5(concat_ws(chr(10), ${texts.join(', ')})), ${RECORD_KEY_LENGTH})`
  const file = `replace(substr(filename, ${root.length + 2}), '\\', '/')`
  const source = `read_parquet(${quoteText(seen)})`
  return `SELECT r.*, coalesce(k.day, a.day) AS seen_on FROM (SELECT *, ${key} AS record_key, ${file} AS file FROM (${records})) r
    LEFT JOIN (SELECT file, key, min(day) AS day FROM ${source} WHERE key <> 'all' GROUP BY ALL) k ON k.file = r.file AND k.key = r.record_key
    LEFT JOIN (SELECT file, max(day) AS day FROM ${source} WHERE key = 'all' GROUP BY ALL) a ON a.file = r.file
    WHERE coalesce(k.day, a.day, TRY_CAST(${time} AS DATE), DATE ${quoteText(day)}) <= DATE ${quoteText(day)}`
}
