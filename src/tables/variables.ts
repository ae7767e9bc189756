import type { DuckDBConnection } from '@duckdb/node-api'
import type { Table } from '../model/table.js'
import { type Day, toDay } from '../model/trading-day.js'
import { quoteText } from '../storage/duckdb.js'
import { describeDamage, type History } from '../storage/history/record.js'
import { readMarketDays } from '../storage/session-days.js'
import { readRecordedSymbols, type SymbolIsin, toFormerSql } from './former-symbols.js'
import { listHistoryTables, readAllDays } from './history/as-of.js'
import { readReport } from './output-folder.js'
import { RECORDED_ACTIONS, RECORDED_VARIABLE, selectRecorded } from './views/actions.js'
import { REWRITTEN_ROWS, REWRITTEN_TYPE, REWRITTEN_VIEW } from './views/candles.js'
import type { View } from './views/view.js'

/**
 * The day that a folder's snapshots are about: that of the last run, on a weekend without a session the
 * Friday before; undefined before the first run.
 */
export const readRunDay = async (root: string, tables: readonly Table[]): Promise<Day | undefined> => {
  const report = await readReport(root)
  return toMarketDay(root, tables, report && toDay(Date.parse(report.asOf)))
}

/** The session that a day of a weekend is about; see `readMarketDays`. */
export const toMarketDay = async <D extends Day | undefined>(
  root: string,
  tables: readonly Table[],
  day: D,
): Promise<Day | D> => (day === undefined ? day : (await readMarketDays(root, tables, [day]))(day))

/** Of two histories on a day the later one counts. */
export const listRewrittenRows = ({ records }: History) => {
  // A cast to a struct needs every key.
  const all = records.flatMap(({ rewritten = [] }) => rewritten.map((row) => ({ only_day: null, ...row })))
  const toKey = ({ day, stream, item, only_day }: (typeof all)[number]) =>
    `${day} ${stream} ${item} ${only_day}`
  return [...new Map(all.map((row) => [toKey(row), row])).values()]
}

interface Variables {
  /**
   * The day that snapshots are about: that of the run, on a weekend without a session the Friday before;
   * undefined before the first run.
   */
  readonly day: Day | undefined
  readonly former: readonly SymbolIsin[]
  readonly recorded: Parameters<typeof readRecordedSymbols>[2]
  /** The day as of which tables are read; the present if absent. */
  readonly until: Day | undefined
}

/** Sets what views read besides tables. */
export const setVariables = async (
  connection: DuckDBConnection,
  views: readonly View[],
  variables: Variables,
): Promise<void> => {
  if (views.length === 0) return
  const { day, former, recorded, until } = variables
  const { history, warn } = recorded
  const symbols = [...former, ...(await readRecordedSymbols(connection, views, recorded))]
  if (day !== undefined) await connection.run(`SET VARIABLE run_day = DATE '${day}'`)
  if (symbols.length > 0) await connection.run(`SET VARIABLE former = ${toFormerSql(symbols)}`)
  if (views.some(({ sql }) => sql.includes(RECORDED_ACTIONS))) await setRecordedActions(connection, variables)
  if (!views.some(({ sql }) => sql.includes(REWRITTEN_ROWS))) return
  history.damages.map(describeDamage).forEach(warn)
  const rows = listRewrittenRows(history).map((row) => ({
    ...row,
    is_later: until !== undefined && row.day > until,
  }))
  await connection.run(
    `SET VARIABLE ${REWRITTEN_VIEW} = CAST(${quoteText(JSON.stringify(rows))}::JSON AS ${REWRITTEN_TYPE})`,
  )
}

/** The lists have the actions of two years; the recorded ones have had those before them. */
const setRecordedActions = async (
  connection: DuckDBConnection,
  { recorded: { history, tables, warn }, until }: Pick<Variables, 'recorded' | 'until'>,
): Promise<void> => {
  const [actions] = listHistoryTables(tables.filter(({ name }) => name === 'corporate_actions'))
  const { files = [], select = '' } = actions ? await readAllDays(history, actions, { until, warn }) : {}
  if (files.length > 0) await connection.run(`SET VARIABLE ${RECORDED_VARIABLE} = ${selectRecorded(select)}`)
}
