import type { DuckDBConnection } from '@duckdb/node-api'
import type { Day } from '../../model/trading-day.js'
import { quoteText } from '../../storage/duckdb.js'
import { describeDamage, type History, type RewrittenRow, type Warn } from '../../storage/history/record.js'
import { REWRITTEN_ROWS, REWRITTEN_TYPE, REWRITTEN_VIEW } from '../views/candles.js'
import type { View } from '../views/view.js'

/** Sets the variable with the candle histories that runs replaced, if a view reads it. `until` is the day as of which tables are read. */
export const setRewritten = async (
  connection: DuckDBConnection,
  views: readonly View[],
  { history, until, warn }: { readonly history: History; readonly until?: Day | undefined; readonly warn: Warn },
): Promise<void> => {
  if (!views.some(({ sql }) => sql.includes(REWRITTEN_ROWS))) return
  history.damages.map(describeDamage).forEach(warn)
  const rows = listRewritten(history).map((row) => ({ ...row, is_later: until !== undefined && row.day > until }))
  await connection.run(`SET VARIABLE ${REWRITTEN_VIEW} = CAST(${quoteText(JSON.stringify(rows))}::JSON AS ${REWRITTEN_TYPE})`)
}

/** Of two on a day the later one counts. */
export const listRewritten = ({ records }: History): readonly RewrittenRow[] => {
  const all = records.flatMap(({ rewritten = [] }) => rewritten)
  return [...new Map(all.map((row) => [`${row.day} ${row.stream} ${row.item}`, row])).values()]
}
