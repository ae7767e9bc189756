import { listColumnNames, type Table } from '../../model/table.js'
import { formatSecond } from '../../model/trading-day.js'
import { quoteList, quoteName, quoteText } from '../duckdb.js'
import { writeFileAtomically } from '../file-system.js'
import { buildRecordedValues } from '../table-views.js'
import { type ChosenList, chooseEachDay, type DayAnswer, listAnswers } from './choose.js'
import { BASE_ROW, CHANGE, KNOWN_AT } from './lists.js'
import { type History, type StoredRecord, toHistoryPath } from './record.js'

/** Writes what makes the record readable without this program: `views.sql` and a README. */
export const writeGuide = async (history: History): Promise<void> => {
  for (const [name, text] of listHistoryGuide(history))
    await writeFileAtomically(toHistoryPath(history.root, name), [text])
}

export const listHistoryGuide = (history: History): readonly (readonly [name: string, text: string])[] => [
  ['views.sql', buildHistoryViews(history)],
  ['README.md', HISTORY_README],
]

/**
 * DuckDB SQL: a view of each recorded table as of the variable `as_of`, and one in the schema `history` with
 * all days.
 */
const buildHistoryViews = (history: History): string => {
  const last = history.records.at(-1)
  const tables = [...new Set(history.records.flatMap(({ lists }) => Object.keys(lists)))].sort()
  // A table may have no day but those of a clock that was ahead.
  const answers = tables
    .map((table) => [table, listAnswers(history, table)] as const)
    .filter(([, own]) => own.some(({ chosen }) => chosen))
  const views = answers.map(([table, own]) => {
    const none = `error(${quoteText(`${table} has no record until the chosen day; the first one is of ${own[0]?.day}`)})`
    return `CREATE OR REPLACE VIEW ${quoteName(table)} AS ${buildListSelect(chooseFiles(own, none), ALL_COLUMNS)};`
  })
  // Last, because they need the files of all days: without one of them, the views above are there.
  const all = answers.map(([table]) => {
    const days = chooseEachDay(history, table).map(toDayFiles)
    return `CREATE OR REPLACE VIEW history.${quoteName(table)} AS ${buildDaysSelect(days, ALL_COLUMNS)};`
  })
  const made = last
    ? [`-- Made of all records until number ${last.number}, ${last.name}: ${last.digest}`]
    : []
  return `${[VIEWS_HEAD, ...made, ...views, ...all].join('\n\n')}\n`
}

const toDayFiles = ({ record, list: { whole, changes } }: ChosenList): DayFiles => ({
  record,
  names: [whole, changes].flatMap((file) => file?.name ?? []),
})

/** The SQL of the files of the newest day until `as_of`; `none`: what is read before the first day. */
export const chooseFiles = (
  answers: readonly DayAnswer[],
  none: string,
  toPath = (name: string) => name,
): string => {
  const toFiles = ({ chosen, damage }: DayAnswer) =>
    damage
      ? `error(${quoteText(`${damage.file} is damaged`)})`
      : chosen
        ? quoteList(toDayFiles(chosen).names.map(toPath))
        : none
  const cases = answers
    .toReversed()
    .map((answer) => `WHEN as_of_day() >= DATE '${answer.day}' THEN ${toFiles(answer)}`)
  return `CASE ${cases.join('\n  ')}\n  ELSE ${none} END`
}

/** The macro with the chosen day. */
export const AS_OF_MACRO =
  "CREATE OR REPLACE MACRO as_of_day() AS coalesce(CAST(getvariable('as_of') AS DATE), DATE '9999-12-31');"

const VIEWS_HEAD = `-- The recorded lists, for DuckDB. Start it in this folder: duckdb -init views.sql
--   FROM surveillance;                            -- as of the newest recorded day
--   SET VARIABLE as_of = DATE '2026-02-04';       -- from now on as of this day
--   FROM history.surveillance;                    -- all recorded days
-- Each run rewrites this file.
CREATE SCHEMA IF NOT EXISTS history;
${AS_OF_MACRO}`

const HISTORY_README = `# The recorded days

Each folder \`YYYY-MM-DD\` is a trading session, and each folder in it what one run recorded of it: a Parquet file for each list, and
\`record.json\` with the facts about it. Records are never changed: later knowledge of a session is a further folder, and only \`history delete\` and \`prune\` remove one.

- \`LIST.parquet\` is a whole list. \`LIST.changes.parquet\` has what differs from its base in \`bases/\`, the copy of an earlier whole list (named in \`record.json\`):
  \`_change\` is added, changed or removed, and \`_base_row\` the row of the base that a changed or removed one replaces. It counts from 0.
- \`known_at\` is when the list was collected. If the clock of the computer was behind the data, it is the opening of the newest session in the data. Times
  are those of India, without a zone. \`extra\` has the fields without a column, as JSON.
- \`timing\` in \`record.json\`: \`final\` was collected after the session and before the next one, \`session\` during it, \`late\` afterwards. With a
  \`sessionEnd\` in any record of the day, those that were known before it count as \`session\`. The
  first final record of a day answers, without one the last of the session, then the first late one. A record is left out if later ones show that
  the clock was ahead. A list with \`publishedAt\` answers from the first final record whose run began at that time or later (\`requestedAt\`) and
  which ends on that day (no \`endsOn\`), and whose answers had not drifted (no \`hasDrift\`); without such a record, from the last of the others. \`views.sql\` has that choice.
- \`first-seen.parquet\` has the keys of filings and news that were new, \`rewritten\` in \`record.json\` the candle files that were replaced.
- A record with \`deleted\` in \`record.json\` was deleted on request; \`bases/copy-…\` are second files of bases.
- **Run \`scripstream verify --deep\` first, and after each copy of this folder.** It compares every byte with its digest. DuckDB and pandas cannot: from
  a damaged file they may read wrong rows without an error. \`scripstream history\` lists the days.

Start in this folder. DuckDB, version 1.1 or newer:

    duckdb -init views.sql
    SET VARIABLE as_of = DATE '2026-02-04';
    FROM surveillance;

DuckDB from Python, as a pandas frame (packages duckdb and pandas):

    import duckdb; db = duckdb.connect(); db.execute(open('views.sql').read())
    db.execute("SET VARIABLE as_of = DATE '2026-02-04'")
    frame = db.sql('FROM surveillance').df()

The same as a Polars frame (packages duckdb, polars and pyarrow):

    import duckdb; db = duckdb.connect(); db.execute(open('views.sql').read())
    db.execute("SET VARIABLE as_of = DATE '2026-02-04'")
    frame = db.sql('FROM surveillance').pl()

One whole list without DuckDB: \`pandas.read_parquet('2026-02-04/20260204T130107Z/indices.parquet')\`.
`

/** A day, and the names of the files that have its list: whole, or a base and its changes. */
export interface DayFiles {
  readonly record: StoredRecord
  readonly names: readonly string[]
}

const OWN = ['filename', 'file_row_number', KNOWN_AT, CHANGE, BASE_ROW]

/**
 * What is read of the files: by this program the columns of a table, by `views.sql` those that the files
 * have.
 */
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
  names: [...listColumnNames(table), ...OWN],
})

/** A column that no file has is NULL; `union_by_name` finds a type that fits the values of all files. */
const readFiles = (files: string, { names }: ListColumns): string => {
  const read = `FROM read_parquet(${files}, union_by_name = true, filename = true, file_row_number = true)`
  return names.length === 0
    ? read
    : `FROM (${read} UNION ALL BY NAME SELECT ${names.map((name) => `NULL AS ${quoteName(name)}`).join(', ')} WHERE false)`
}

/**
 * The SELECT of a list from the SQL of its files: the rows of the base that are not replaced, and those that
 * are added or changed.
 */
export const buildListSelect = (files: string, columns: ListColumns): string =>
  `WITH r AS (${readFiles(files, columns)}) SELECT ${columns.values} FROM r WHERE ${CHANGE} IS DISTINCT FROM 'removed'
  AND NOT (${CHANGE} IS NULL AND file_row_number IN (SELECT ${BASE_ROW} FROM r WHERE ${BASE_ROW} IS NOT NULL))`

/**
 * The name of a file: DuckDB shows relative paths as absolute ones if it has a `file_search_path`, and has
 * backslashes on Windows.
 */
const FILE_NAME = String.raw`regexp_extract(replace(filename, '\', '/'), '(\d{4}-\d{2}-\d{2}/[^/]+|bases)/[^/]+$')`

/** The SELECT of a list on all its recorded days, with the columns `day` and `known_at` before its own. */
export const buildDaysSelect = (
  days: readonly DayFiles[],
  columns: ListColumns,
  toPath = (name: string) => name,
): string => {
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
