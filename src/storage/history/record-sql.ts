import { listColumns, type Table } from '../../model/table.js'
import { formatSecond } from '../../model/trading-day.js'
import { quoteList, quoteName, quoteText } from '../duckdb.js'
import { buildRecordedValues } from '../table-views.js'
import { BASE_ROW, CHANGE, KNOWN_AT } from './lists.js'
import type { StoredRecord } from './record.js'

/** A day, and the names of the files that have its list: whole, or a base and its changes. */
export interface DayFiles {
  readonly record: StoredRecord
  readonly names: readonly string[]
}

const OWN = ['filename', 'file_row_number', KNOWN_AT, CHANGE, BASE_ROW]

/** What is read of the files: by this program the columns of a table, by `views.sql` those that the files have. */
interface ListColumns {
  readonly values: string
  /** The columns that an older file may lack. */
  readonly names: readonly string[]
}

/** All columns of the files but those of the format. */
export const ALL_COLUMNS: ListColumns = { values: `r.* EXCLUDE (${OWN.join(', ')})`, names: [] }

/** The columns of a table as it is now, whatever columns it had when the files were written. */
export const selectColumns = (table: Table): ListColumns => ({
  values: buildRecordedValues(table),
  names: [...listColumns(table).map(({ name }) => name), ...OWN],
})

/** A column that no file has is NULL; `union_by_name` finds a type that fits the values of all files. */
const readFiles = (files: string, { names }: ListColumns): string => {
  const read = `FROM read_parquet(${files}, union_by_name = true, filename = true, file_row_number = true)`
  return names.length === 0
    ? read
    : `FROM (${read} UNION ALL BY NAME SELECT ${names.map((name) => `NULL AS ${quoteName(name)}`).join(', ')} WHERE false)`
}

/** The SELECT of a list from the SQL of its files: the rows of the base that are not replaced, and those that are added or changed. */
export const buildListSelect = (files: string, columns: ListColumns): string =>
  `WITH r AS (${readFiles(files, columns)}) SELECT ${columns.values} FROM r WHERE ${CHANGE} IS DISTINCT FROM 'removed'
  AND NOT (${CHANGE} IS NULL AND file_row_number IN (SELECT ${BASE_ROW} FROM r WHERE ${BASE_ROW} IS NOT NULL))`

/** The name of a file: DuckDB shows relative paths as absolute ones if it has a `file_search_path`, and has backslashes on Windows. */
const FILE_NAME = String.raw`regexp_extract(replace(filename, '\', '/'), '(\d{4}-\d{2}-\d{2}/[^/]+|bases)/[^/]+$')`

/** The SELECT of a list on all its recorded days, with the columns `day` and `known_at` before its own. */
export const buildDaysSelect = (days: readonly DayFiles[], columns: ListColumns, toPath = (name: string): string => name): string => {
  const files = [...new Set(days.flatMap(({ names }) => names))].map(toPath)
  const values = days.map(({ record: { day, knownAt }, names: [whole = '', changes = ''] }) =>
    [day, formatSecond(Date.parse(knownAt)), whole, changes].map(quoteText).join(', '),
  )
  const named = `CAST(d.day AS DATE) AS day, CAST(d.known_at AS TIMESTAMP) AS known_at, ${columns.values}`
  return `WITH r AS (SELECT * REPLACE (${FILE_NAME} AS filename) ${readFiles(quoteList(files), columns)}),
  d(day, known_at, whole, changes) AS (VALUES (${values.join('),\n    (')}))
  SELECT ${named} FROM r JOIN d ON r.filename = d.whole
    WHERE NOT EXISTS (SELECT 1 FROM r c WHERE c.filename = d.changes AND c.${BASE_ROW} = r.file_row_number)
  UNION ALL SELECT ${named} FROM r JOIN d ON r.filename = d.changes WHERE r.${CHANGE} <> 'removed'`
}
