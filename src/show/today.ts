import { omitUndefined } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { quoteText } from '../storage/duckdb.js'
import { RUN_DAY } from '../tables/views/view.js'
import { describeSignal } from '../tables/watch/compare-rows.js'
import { readSignals } from '../tables/watch/record.js'
import type { OwnStock, OwnStocksAnswer, ResultsRow, SignalRow, TodayAnswer, UpcomingAction } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, findMissingFile, readRunFacts } from './freshness.js'
import { listOf, readAnswer, rowOf, STOCK_NAMES } from './tables.js'

interface TodayTables {
  readonly results: readonly ResultsRow[]
  readonly actions: readonly UpcomingAction[]
  readonly counts: { readonly results: number; readonly actions: number }
}

const MAX_TODAY_ROWS = 14
/** Results of a weekend are those of its Friday evening and Saturday. */
export const RESULT_DAYS = 3
const ACTION_DAYS = 7

const RUN_OR_LAST_DAY = `coalesce(${RUN_DAY}, (SELECT max(day) FROM candle_days))`

const TODAY_WITH = [
  `results AS MATERIALIZED (SELECT symbol, name, CAST(results_at AS DATE) AS day, results_quarter AS quarter, market_cap_cr,
    if(figures_are_of_results = 1, sales_q0_cr, NULL) AS "salesCr", if(figures_are_of_results = 1, sales_yoy_pct, NULL) AS "salesYoyPct", if(figures_are_of_results = 1, sales_qoq_pct, NULL) AS "salesQoqPct",
    if(figures_are_of_results = 1, net_profit_q0_cr, NULL) AS "profitCr", if(figures_are_of_results = 1, net_profit_yoy_pct, NULL) AS "profitYoyPct",
    if(figures_are_of_results = 1, net_profit_qoq_pct, NULL) AS "profitQoqPct", results_day_return_pct AS "dayReturnPct"
    FROM screener WHERE CAST(results_at AS DATE) > ${RUN_OR_LAST_DAY} - ${RESULT_DAYS})`,
  `actions AS MATERIALIZED (SELECT symbol, any_value(m.name) AS name, ex_date AS day, lower(action) AS action, max(amount) AS amount
    FROM corporate_actions AS a LEFT JOIN ${STOCK_NAMES} AS m USING (symbol)
    WHERE ex_date BETWEEN ${RUN_OR_LAST_DAY} AND ${RUN_OR_LAST_DAY} + ${ACTION_DAYS} AND lower(action) NOT LIKE '%result%' GROUP BY symbol, ex_date, lower(action))`,
]

const TODAY_PARTS: Readonly<Record<keyof TodayTables, string>> = {
  results: listOf(
    `SELECT symbol, name, day, quarter, "salesCr", "salesYoyPct", "salesQoqPct", "profitCr", "profitYoyPct", "profitQoqPct", "dayReturnPct",
      row_number() OVER (ORDER BY market_cap_cr DESC NULLS LAST, symbol) AS place FROM results
      ORDER BY market_cap_cr DESC NULLS LAST, symbol LIMIT ${MAX_TODAY_ROWS}`,
    'r.place',
  ),
  actions: listOf(
    `SELECT symbol, name, day, action, amount FROM actions ORDER BY day, symbol LIMIT ${MAX_TODAY_ROWS}`,
    'r.day, r.symbol, r.action',
  ),
  counts: rowOf('SELECT (SELECT count(*) FROM results) AS results, (SELECT count(*) FROM actions) AS actions'),
}

/** What one looks at in the morning besides the market: results of the last days, and the actions of the days to come. */
export const readToday = async (folder: MarketFolder): Promise<TodayAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer<TodayTables>(folder, TODAY_PARTS, { with: TODAY_WITH })
  const { results = [], actions = [], counts = { results: 0, actions: 0 } } = answer
  const [broken] = damage.values()
  const about = (stream: string) => {
    const missing = findMissingFile(folder, stream)
    const lost = missing === undefined ? undefined : `${missing} is missing`
    return describeAbout(facts, stream, omitUndefined({ isMissing: false, damage: problem ?? broken ?? lost }))
  }
  return {
    results: { about: about('fundamental-data'), rows: results, total: counts.results },
    actions: { about: about('corporate-actions'), rows: actions, total: counts.actions },
  }
}

/** How far back the notes of a stock go. */
const NOTE_DAYS = 2
const MAX_STOCK_NOTES = 4
export const MAX_OWN_STOCKS = 200

/** The stocks of a list, each with its price and with what happened to it. Symbols that are in no list are named. */
export const readOwnStocks = async (folder: MarketFolder, text: string): Promise<OwnStocksAnswer> => {
  const symbols = [...new Set(text.split(',').map((one) => one.trim().toUpperCase()))].filter(Boolean).slice(0, MAX_OWN_STOCKS)
  if (symbols.length === 0) return { rows: [], unknown: [] }
  const list = symbols.map(quoteText).join(', ')
  const stocks = listOf(
    `SELECT symbol, name, price_day AS day, close_inr AS close, change_pct AS "changePct", rvol AS "volumeTimes", circuit, asm_stage AS asm, gsm_stage AS gsm,
      if(band_before_pct IS NULL, NULL, band) AS band, notes, list_position([${list}], symbol) AS place FROM screener LEFT JOIN (
        SELECT symbol, list({ day: day, kind: kind, title: title } ORDER BY day DESC, happened_at DESC)[:${MAX_STOCK_NOTES}] AS notes FROM events
        WHERE symbol IN (${list}) AND day BETWEEN ${RUN_OR_LAST_DAY} - ${NOTE_DAYS} AND ${RUN_OR_LAST_DAY} + ${ACTION_DAYS} GROUP BY symbol
      ) AS e USING (symbol) WHERE symbol IN (${list})`,
    'r.place',
  )
  const { answer, problem } = await readAnswer<{ stocks: readonly OwnStock[] }>(folder, { stocks })
  const rows = answer.stocks ?? []
  return omitUndefined({
    rows,
    unknown: problem === undefined ? symbols.filter((one) => !rows.some(({ symbol }) => symbol === one)) : [],
    problem,
  })
}

/** What standing queries found in the newest session, or in that of a day. */
export const readSignalRows = async (root: string, until: Day | undefined): Promise<readonly SignalRow[]> =>
  (await readSignals(root, { since: 'newest', until })).map((signal) => ({
    ...{ day: signal.day, rule: signal.rule, subject: signal.subject, text: describeSignal(signal) },
  }))
