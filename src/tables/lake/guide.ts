import { join } from 'node:path'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { listAnswers, listListedDays } from '../../storage/history/choose.js'
import { AS_OF_MACRO, buildListSelect, chooseFiles, selectColumns } from '../../storage/history/guide.js'
import { type History, nameHistoryFile } from '../../storage/history/record.js'
import { type SymbolIsin, toFormerSql } from '../former-symbols.js'
import { isRecordedTable } from '../history/as-of.js'
import { listRewrittenRows } from '../variables.js'
import { CANDLE_DAYS, REWRITTEN_ROWS, REWRITTEN_TYPE, toPastCandles } from '../views/candles.js'
import { FIRST_SEEN_VIEW, SEEN_DOCUMENTS } from '../views/events.js'
import { listViews } from '../views/index.js'
import { RUN_DAY, type View } from '../views/view.js'
import { nameLakeFile } from './lake.js'

interface ShownLake {
  readonly history: History
  readonly tables: readonly Table[]
  /** The names of the tables and views that have a file. */
  readonly stored: ReadonlySet<string>
  readonly runDay: Day | undefined
  /** The session that a recorded day is about. */
  readonly toMarketDay: (day: Day) => Day
  readonly former: readonly SymbolIsin[]
}

/** What makes the lake readable without this program: names and texts of files. */
export const listLakeGuide = (shown: ShownLake): readonly (readonly [name: string, text: string])[] => [
  ['views.sql', buildLakeViews(shown)],
  ['README.md', fillIn(LAKE_README, shown)],
]

const readLakeFile = (name: string): string => `read_parquet(${quoteText(nameLakeFile(name))})`

/**
 * DuckDB SQL: a view of each table and view, which reads its file, or what the schema `past` has as of the
 * variable `as_of`.
 */
const buildLakeViews = (shown: ShownLake): string => {
  const { history, tables, stored, former } = shown
  // Without a table, for example one that was not chosen, DuckDB would refuse what reads it, and with that
  // the whole file.
  const readable = new Set(tables.flatMap(({ name }) => (stored.has(name) ? [name] : [])))
  const isReadable = ({ name, needs }: View) =>
    needs.every((need) => readable.has(need)) && readable.add(name).has(name)
  const past = new Map([
    ...tables
      .filter(({ name }) => stored.has(name))
      .map((table) => [table.name, buildPastTable(shown, table)] as const),
    ...listViews(tables)
      .filter(isReadable)
      .map((view) => [view.name, buildPastView(view, stored)] as const),
  ])
  const names = [...tables, ...listViews(tables)]
    .map(({ name }) => name)
    .filter((name) => stored.has(name) || past.has(name))
  const rewritten = `CREATE OR REPLACE VIEW past.rewritten_rows AS SELECT unnest(CAST(${quoteText(JSON.stringify(listRewrittenRows(history).map((row) => ({ ...row, is_later: false }))))}::JSON AS ${REWRITTEN_TYPE}), recursive := true);`
  const keyed = new Set(tables.filter(({ key }) => key).map(({ name }) => name))
  return [
    fillIn(LAKE_HEAD, shown),
    buildRunDay(listListedDays(history), shown),
    rewritten,
    ...(former.length === 0 ? [] : [`SET VARIABLE former = ${toFormerSql(former)};`]),
    ...names.flatMap((name) => {
      const now = keyed.has(name)
        ? `SELECT * EXCLUDE (is_last) FROM ${readLakeFile(name)}`
        : `FROM ${readLakeFile(name)}`
      const chosen = `if(getvariable('as_of') IS NULL, ${quoteText(now)}, ${quoteText(`FROM past.${quoteName(name)}`)})`
      const own = `CREATE OR REPLACE VIEW ${quoteName(name)} AS FROM ${stored.has(name) ? `query(${chosen})` : `past.${quoteName(name)}`};`
      const sql = past.get(name)
      return sql === undefined ? [own] : [`CREATE OR REPLACE VIEW past.${quoteName(name)} AS ${sql};`, own]
    }),
  ].join('\n\n')
}

/** The day that snapshots are about. */
const buildRunDay = (
  days: readonly Day[],
  { runDay, toMarketDay }: Pick<ShownLake, 'runDay' | 'toMarketDay'>,
): string => {
  const now = runDay === undefined ? 'CAST(NULL AS DATE)' : `DATE '${runDay}'`
  const cases = days
    .toReversed()
    .map((day) => `WHEN as_of_day() >= DATE '${day}' THEN DATE '${toMarketDay(day)}'`)
  const none = days.length === 0 ? 'no day is recorded' : `the history begins on ${days[0]}`
  return `CREATE OR REPLACE MACRO run_day() AS CASE WHEN getvariable('as_of') IS NULL THEN ${now} ${cases.join(' ')} ELSE error(${quoteText(none)}) END;`
}

const buildPastTable = ({ history, stored }: ShownLake, table: Table): string => {
  const { name, columns, key } = table
  if (isRecordedTable(table)) {
    const answers = listAnswers(history, name).filter(({ chosen, damage }) => chosen ?? damage)
    const [first] = answers
    if (first === undefined) return `FROM ${readLakeFile(name)} WHERE false`
    const files = chooseFiles(answers, `[${quoteText(nameLakeFile(name))}]`, (file) =>
      join('..', nameHistoryFile(file)),
    )
    return `${buildListSelect(files, selectColumns(table))} AND as_of_day() >= DATE '${first.day}'`
  }
  const document = stored.has(FIRST_SEEN_VIEW) ? SEEN_DOCUMENTS[name] : undefined
  if (document) return buildPastDocuments(name, document)
  const time = columns.find(({ type }) => type === 'TIMESTAMP' || type === 'DATE')
  const until = time ? `coalesce(CAST(${quoteName(time.name)} AS DATE), as_of_day()) <= as_of_day()` : 'true'
  return `SELECT ${key ? '* EXCLUDE (is_last)' : '*'} FROM ${readLakeFile(name)} WHERE ${until}`
}

/**
 * Documents that a run had by then, or that are dated until then if they were there before the first record.
 * As `query` has them.
 */
const buildPastDocuments = (
  name: string,
  { kind, time, title, detail }: (typeof SEEN_DOCUMENTS)[string],
): string => {
  const seen = { symbol: 'symbol', happened_at: time, title, detail }
  const columns = Object.keys(seen).map((column) => `${column} AS seen_${column}`)
  const same = Object.entries(seen).map(([column, value]) => `seen_${column} IS NOT DISTINCT FROM ${value}`)
  return `SELECT t.* FROM ${readLakeFile(name)} AS t
    LEFT JOIN (SELECT ${columns.join(', ')}, first_seen FROM ${readLakeFile(FIRST_SEEN_VIEW)} WHERE kind = '${kind}') ON ${same.join(' AND ')}
    WHERE coalesce(first_seen, CAST(${time} AS DATE), as_of_day()) <= as_of_day()`
}

const buildPastView = ({ name, sql }: View, stored: ReadonlySet<string>): string =>
  name === FIRST_SEEN_VIEW && stored.has(name)
    ? `FROM ${readLakeFile(name)} WHERE coalesce(first_seen, day) <= as_of_day()`
    : (name === CANDLE_DAYS && stored.has('master') ? toPastCandles(sql) : sql)
        .replaceAll(RUN_DAY, 'run_day()')
        .replaceAll(
          REWRITTEN_ROWS,
          '(SELECT * REPLACE (day > as_of_day() AS is_later) FROM past.rewritten_rows)',
        )

/**
 * Names a table with rows of stocks, one with candles, and a list on the newest recorded day. Leaves out
 * lines about what is not there.
 */
const fillIn = (text: string, { history, tables, stored }: ShownLake): string => {
  const first = (...names: readonly string[]) => names.find((name) => stored.has(name))
  const list = first('surveillance', ...tables.filter(isRecordedTable).map(({ name }) => name))
  const day = list && listListedDays(history).at(-1)
  const names = {
    table: first('screener', ...stored),
    candles: first('candles_adjusted', 'candles'),
    list,
    day,
  }
  const lines = Object.entries(names).reduce(
    (all, [name, value]) =>
      all.flatMap((line) =>
        value ? [line.replaceAll(`{${name}}`, value)] : line.includes(`{${name}}`) ? [] : [line],
      ),
    text.split('\n'),
  )
  return lines.join('\n')
}

const LAKE_HEAD = `-- The tables of "scripstream query", for DuckDB 1.4 or newer. Start it in this folder: duckdb -init views.sql
--   FROM {table};
--   SET VARIABLE as_of = DATE '{day}';       -- from now on as of this day; RESET VARIABLE as_of: now
-- "scripstream export" rewrites this file.
CREATE SCHEMA IF NOT EXISTS past;
${AS_OF_MACRO}`

const LAKE_README = `# The lake: tables that any tool can read

Each folder is a table of \`scripstream query\`, with one Parquet file: the collected lists, and what is derived from them. Rows are sorted by symbol and day.

- A file is written beside the lake and renamed, so that a reader sees the old or the new table. \`scripstream export\` writes those that have changed, and so does a run
  with the setting \`"lake": true\`. A query writes only what it needs.
- Times are those of India, without a zone. The units of the columns: \`scripstream query\`. \`extra\` has the fields without a column. JSON is text.
- Of two candles of one day the last one counts: \`is_last\` in \`candles\` and \`index_candles\`. \`candles_adjusted\` has each day once.
- As of a day, lists are those of the newest recorded day until then, and filings and news those that a run had collected by then (\`first_seen\`), or that are dated until
  then if they were there before the first record. A lake without the table \`first_seen\` has those that are dated until then.
- Files of other outputs than the present ones are never used by \`scripstream\`. The folder may be deleted at any time.

Start in this folder. DuckDB, version 1.4 or newer (earlier ones read a view once for each place that names it, and do not come to an end):

    duckdb -init views.sql
    FROM {table};
    SET VARIABLE as_of = DATE '{day}'; FROM {list};

pandas (packages pandas and pyarrow):

    import pandas
    {table} = pandas.read_parquet('{table}/{table}.parquet')
    tcs = pandas.read_parquet('{candles}/{candles}.parquet', filters=[('symbol', '==', 'TCS')])

Polars:

    import polars
    {table} = polars.read_parquet('{table}/{table}.parquet')
    tcs = polars.scan_parquet('{candles}/{candles}.parquet').filter(polars.col('symbol') == 'TCS').collect()

DuckDB from Python, as a pandas frame (\`.pl()\` for Polars):

    import duckdb; db = duckdb.connect(); db.execute(open('views.sql').read())
    db.execute("SET VARIABLE as_of = DATE '{day}'")
    frame = db.sql('FROM {table}').df()
`
