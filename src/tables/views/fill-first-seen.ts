import type { Columned } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteText } from '../../storage/duckdb.js'
import type { History, Warn } from '../../storage/history/record.js'
import { buildSelect } from '../../storage/table-views.js'
import { listHistoryTables, readAllDays, readFirstSeen, type TableReader } from '../history/as-of.js'
import type { LakeSource } from '../lake/lake.js'
import { FIRST_SEEN_VIEW, undated } from './events.js'
import { presentIsin } from './symbols.js'
import type { View } from './view.js'

/**
 * Lists that each day has whole: where their rows come from, and what a row has on every day, as `column` or
 * `column = column of the table`.
 */
const SEEN_LISTS = [
  { table: 'announcements', relation: 'announcements', same: ['isin', 'announced_at', 'kind', 'event'] },
  {
    table: 'deals',
    relation: 'deals_valued',
    same: ['symbol', 'day = date', 'exchange', 'kind', 'side', 'client', 'quantity', 'price_inr = price'],
  },
] as const

/** A recorded value as the stock has it now, and one of the present as a list recorded it. */
const toPresent = (column: string): string => (column === 'isin' ? presentIsin('r', 's') : `r.${column}`)
const toRecorded = (column: string): string =>
  column === 'symbol' ? "split_part(t.symbol, '~', 1)" : `t.${column}`

const SEEN_ON = {
  name: 'seen_on',
  type: 'DATE',
  comment: 'when it was first seen',
  from: { history: 'seen_on' },
} as const
const LAST_DAY = '9999-12-31'

interface SeenSource extends Pick<LakeSource, 'tables' | 'folder'> {
  readonly history: History
  /** The day as of which rows are read; the present if absent. */
  readonly until?: Day | undefined
  /** The tables and views whose rows are read; all if absent. */
  readonly used?: readonly Columned[] | undefined
  /** Gets the damaged recorded days, which are left out. */
  readonly warn: Warn
}

/** The view `first_seen`, its SQL, and the files that it reads. */
interface FilledView extends TableReader {
  readonly view: View
}

/**
 * Puts the days of the history into the SQL of the view `first_seen`, if its rows are read. Without a history
 * it stays as it is. `warn` gets the damaged days.
 */
export const fillFirstSeen = async (
  views: readonly View[],
  { history, tables, folder, until, used = views, warn }: SeenSource,
): Promise<FilledView | undefined> => {
  const isFilled = used.some(({ name }) => name === FIRST_SEEN_VIEW)
  const view = isFilled ? views.find(({ name }) => name === FIRST_SEEN_VIEW) : undefined
  if (view === undefined || history.records.length === 0) return undefined
  const seen = await readFirstSeen(history, warn)
  const files = [...seen.files]
  let select = view.sql
  const fill = (relation: string, rows: string) => {
    select = select.replace(undated(relation), () => `(${rows})`)
  }
  for (const table of tables.filter(({ name }) => name === 'filings' || name === 'news')) {
    const dated = { ...table, columns: [...table.columns, SEEN_ON] }
    fill(
      table.name,
      await buildSelect(dated, folder, { known: { day: until ?? LAST_DAY, seen: seen.select } }),
    )
  }
  for (const { table, relation, same } of SEEN_LISTS) {
    const all = listHistoryTables(tables.filter(({ name }) => name === table))[0]
    const recorded = all && (await readAllDays(history, all, { until, warn }))
    if (recorded?.first === undefined) continue
    files.push(...recorded.files)
    const pairs = same
      .map((column) => column.split(' = '))
      .map(([now = '', then = now]) => [now, then] as const)
    fill(
      relation,
      `SELECT t.*, NULLIF(s.seen_on, DATE ${quoteText(recorded.first)}) AS seen_on FROM ${relation} t
        LEFT JOIN (SELECT ${pairs.map(([, then]) => `${toPresent(then)} AS ${then}`).join(', ')}, min(r.day) AS seen_on
          FROM (${recorded.select}) AS r LEFT JOIN symbol_isins AS s USING (symbol) GROUP BY ALL) s
        ON ${pairs.map(([now, then]) => `${toRecorded(now)} IS NOT DISTINCT FROM s.${then}`).join(' AND ')}`,
    )
  }
  return { view, files, select }
}
