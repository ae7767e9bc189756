import { relative } from 'node:path'
import { listTables } from '../engine/define-stream.js'
import { CollectError, formatError } from '../model/errors.js'
import type { Table } from '../model/table.js'
import { quoteText } from '../storage/duckdb.js'
import { openFolder, type TableFolder } from '../storage/table-folder.js'
import { ROOM } from '../tables/limited-query.js'
import { readQuery } from '../tables/query.js'
import type { DataSource } from './folder.js'

/** What could be read, and why the rest could not. */
interface Readable<Answer> {
  readonly answer: Answer
  /** Why nothing could be read. */
  readonly problem?: string
  /** The damaged tables, which count as empty, with a sentence each. */
  readonly damage: ReadonlyMap<string, string>
}

export const STOCK_NAMES = '(SELECT symbol, any_value(name) AS name FROM master GROUP BY symbol)'

/** The day of the folder, as views have it. A statement over tables alone has no variables. */
export const FOLDER_DAY = '(SELECT max(day) FROM symbol_isins)'

/** Not after the last run: what the provider dates ahead would hide the others. */
export const isUpToRun = (day: string): string => `${day} <= coalesce(${FOLDER_DAY}, DATE '9999-12-31')`

/** New results, without figures while the provider still has those of the quarter before. */
export const NEW_RESULTS = `(SELECT symbol, name, CAST(results_at AS DATE) AS results_day, results_at, results_quarter, results_day_return_pct, sector, market_cap_cr,
  CASE WHEN figures_are_of_results = 1 THEN sales_q0_cr END AS sales_cr, CASE WHEN figures_are_of_results = 1 THEN sales_yoy_pct END AS sales_yoy_pct, CASE WHEN figures_are_of_results = 1 THEN sales_qoq_pct END AS sales_qoq_pct,
  CASE WHEN figures_are_of_results = 1 THEN net_profit_q0_cr END AS net_profit_cr, CASE WHEN figures_are_of_results = 1 THEN net_profit_yoy_pct END AS net_profit_yoy_pct, CASE WHEN figures_are_of_results = 1 THEN net_profit_qoq_pct END AS net_profit_qoq_pct
  FROM screener WHERE new_results = 1)`

/** SQL whose one value is JSON of this type. */
type Statement<Json> = string & { readonly json?: Json }

/** The statement of a list: its rows in the order of some columns. */
export const listOf = <Row>(rows: string, order: string): Statement<readonly Row[]> =>
  `SELECT coalesce(to_json(list(r ORDER BY ${order})), CAST('[]' AS JSON)) FROM (${rows}) AS r`

export const rowOf = <Row>(row: string): Statement<Row> => `SELECT to_json(r) FROM (${row}) AS r`

/**
 * Answers several statements at once, each of which has one JSON value; `with` are common table expressions.
 * Fields without a value are absent. Damaged files are left out, and with `symbol` those of other stocks;
 * without DuckDB there is no answer but the reason.
 */
export const readAnswer = async <Answer extends object>(
  { root, streams, day }: Pick<DataSource, 'root' | 'streams' | 'day'>,
  parts: { readonly [Name in keyof Answer]: Statement<Answer[Name]> },
  { symbol, with: common = [] }: { readonly symbol?: string; readonly with?: readonly string[] } = {},
): Promise<Readable<Partial<Answer>>> => {
  const tables = listTables(streams)
  const sql = `${common.length === 0 ? '' : `WITH ${common.join(', ')} `}SELECT json_object(${Object.entries(
    parts,
  )
    .map(([name, part]) => `'${name}', (${part})`)
    .join(', ')})`
  const read = (without: ReadonlySet<string>) =>
    readJson<Partial<Answer>>(sql, { out: root, tables, asOf: day, symbol, without, room: ROOM })
  return readUndamaged({ root, tables, symbol }, read, {})
}

/**
 * Reads again without the tables that turn out to be damaged. `nothing` is the answer where there is no
 * DuckDB, or no data.
 */
export const readUndamaged = async <Answer>(
  {
    root,
    tables,
    symbol,
  }: { readonly root: string; readonly tables: readonly Table[]; readonly symbol?: string | undefined },
  read: (without: ReadonlySet<string>) => Promise<Answer>,
  nothing: Answer,
): Promise<Readable<Answer>> => {
  const damage = new Map<string, string>()
  for (;;) {
    try {
      return { answer: await read(new Set(damage.keys())), damage }
    } catch (error) {
      if (error instanceof CollectError && UNANSWERABLE.includes(error.code)) {
        const problem =
          error.code === 'no-outputs' ? 'there is no master list' : `no figures, because ${error.message}`
        return { answer: nothing, damage, problem }
      }
      const [table, path] =
        (await findNamedFile(formatError(error), await openFolder(root, symbol), tables)) ?? []
      if (table === undefined || path === undefined || damage.has(table)) throw error
      damage.set(table, `${path} is damaged; move it away and run again`)
    }
  }
}

const UNANSWERABLE: readonly unknown[] = ['missing-package', 'no-outputs']

/** The table and the path of the file that an error names. */
const findNamedFile = async (message: string, folder: TableFolder, tables: readonly Table[]) => {
  for (const table of tables) {
    const path = (await folder.listFiles(table))
      .flatMap(({ paths }) => paths)
      .find((one) => message.includes(one))
    if (path !== undefined) return [table.name, relative(folder.root, path)] as const
  }
  return undefined
}

const readJson = <Answer>(sql: string, source: Parameters<typeof readQuery>[1]): Promise<Answer> =>
  readQuery(sql, source, async ({ result }) => {
    const [[text] = []] = await result.getRows()
    return JSON.parse(String(text), (_, value: unknown) => value ?? undefined) as Answer
  })

/** Before the symbols of a list that is kept by its reader. */
const OWN_PREFIX = 'mine:'

/**
 * The condition of a stock of `screener` to be in a universe: `F&O`, the members of an index, or
 * `mine:TCS,INFY`; all are for an empty name.
 */
export const isOfUniverse = (universe: string): string => {
  if (universe === '') return 'true'
  if (universe === 'F&O') return 'fno = 1'
  if (universe.startsWith(OWN_PREFIX))
    return `symbol IN (${universe.slice(OWN_PREFIX.length).split(',').map(quoteText).join(', ')})`
  return `isin IN (SELECT isin FROM index_members WHERE "index" = ${quoteText(universe)})`
}
