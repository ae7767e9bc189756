import type { Item } from '../model/outcome.js'
import { omitUndefined } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { quoteText } from '../storage/duckdb.js'
import { describeSignal } from '../tables/changes/signals.js'
import { readSignals } from '../tables/changes/watch-record.js'
import { BREADTH_FIGURES, selectBreadth } from '../tables/views/breadth.js'
import { ACTION_DAYS, selectScoreboard } from '../tables/views/screener/session.js'
import { RUN_DAY } from '../tables/views/view.js'
import type {
  About,
  Breadth,
  IndexRow,
  MarketAnswer,
  OwnStock,
  OwnStocksAnswer,
  Panel,
  ResultsRow,
  SignalRow,
  TodayAnswer,
  UpcomingAction,
} from './answers.js'
import type { MarketFolder, StoredList } from './folder.js'
import { describeAbout, findMissingFile, type KnownRuns, readRunFacts } from './freshness.js'
import { describeScore, type Score } from './score.js'
import { INDEX_STREAM, nameIndex, orderIndices, readIndices, readSid, readStockNames } from './stocks.js'
import { isOfUniverse, listOf, NEW_RESULTS, readAnswer, rowOf, STOCK_NAMES } from './tables.js'

type BreadthRow = Omit<Breadth, 'about' | 'sessions'> & { readonly day: string }
type FoundIndex = Omit<IndexRow, 'key'> & { readonly sid: string }

const SHOWN_SESSIONS = 60

const MARKET_PARTS = {
  breadth:
    rowOf<BreadthRow>(`SELECT day, (SELECT count(*) FROM prices) AS listed, stocks AS traded, advances, declines, unchanged, new_highs AS "newHighs", new_lows AS "newLows",
    above_sma50_pct AS "above50Pct", above_sma200_pct AS "above200Pct", median_change_pct AS "medianChangePct", turnover_cr AS "turnoverCr"
    FROM (${selectBreadth("'' AS universe", 'prices WHERE true')})`),
  // All slow columns are named, because the rows of a whole view are stored.
  sessions: listOf<{ readonly day: string; readonly advances: number; readonly declines: number }>(
    `SELECT day, advances, declines FROM (SELECT day, advances, declines, above_sma20_pct, above_sma50_pct, above_sma200_pct, new_highs, new_lows
        FROM breadth WHERE level = 'market' ORDER BY day DESC LIMIT ${SHOWN_SESSIONS})`,
    'r.day',
  ),
  indices: listOf<FoundIndex>(
    `SELECT i.symbol, i.sid, i.name, price_day AS day, close_inr AS close, change_pct AS "changePct", closes FROM index_prices AS i JOIN (
      SELECT symbol, sid, list(close ORDER BY date) AS closes FROM (
        SELECT symbol, sid, date, close FROM index_candles QUALIFY row_number() OVER (PARTITION BY symbol, sid ORDER BY date DESC) <= ${SHOWN_SESSIONS}
      ) GROUP BY symbol, sid
    ) AS c ON c.symbol = i.symbol AND c.sid = i.sid`,
    'r.symbol, r.sid',
  ),
}

/**
 * What the market, or a universe of it, did on the newest session. The sessions before are known of the whole
 * market only.
 */
export const readMarket = async (folder: MarketFolder, universe = ''): Promise<MarketAnswer> => {
  const [runs, names, list] = [
    await readRunFacts(folder),
    await readStockNames(folder),
    await readIndices(folder),
  ]
  // All columns of a view are asked for where its rows are stored. For a day of the past they are not, and
  // `*` would take ten times as long.
  const columns = folder.day === undefined ? '*' : BREADTH_FIGURES
  const { answer, damage, problem } = await readAnswer(folder, MARKET_PARTS, {
    with: [`prices AS MATERIALIZED (SELECT ${columns} FROM screener WHERE ${isOfUniverse(universe)})`],
  })
  const { breadth, sessions = [] } = answer
  const about = omitUndefined({
    ...describeAbout(runs, 'all-ohlcv', {
      isMissing: breadth === undefined,
      damage: problem ?? [...damage.values()][0],
    }),
    day: breadth?.day,
  })
  return {
    breadth: {
      traded: 0,
      advances: 0,
      declines: 0,
      unchanged: 0,
      newHighs: 0,
      newLows: 0,
      turnoverCr: 0,
      listed: names.items.length,
      ...breadth,
      about,
      sessions: (universe === '' ? sessions : []).map(({ day, advances, declines }) => [
        day,
        advances,
        declines,
      ]),
    },
    indices: toIndexPanel(answer.indices ?? [], { runs, list, problem }),
  }
}

/** The indices with candles, well-known ones first. */
const toIndexPanel = (
  found: readonly FoundIndex[],
  {
    runs,
    list,
    problem,
  }: { readonly runs: KnownRuns; readonly list: StoredList<Item>; readonly problem: string | undefined },
): Panel<IndexRow> => {
  const items = new Map(list.rows.map((item) => [`${item.key}\n${readSid(item)}`, item]))
  const rows = found.flatMap(({ sid, ...index }): IndexRow[] => {
    const item = items.get(`${index.symbol}\n${sid}`)
    return item === undefined ? [] : [{ ...index, key: item.fileName, name: nameIndex(item) }]
  })
  const listed = describeAbout(runs, INDEX_STREAM, list)
  const candles = describeAbout(runs, 'indices-ohlcv', {
    isMissing: rows.length === 0 && list.rows.length > 0,
    damage: problem,
  })
  const day = rows
    .map((row) => row.day)
    .sort()
    .at(-1)
  const about: About = omitUndefined({ ...(listed.problem === undefined ? candles : listed), day })
  return { about, rows: orderIndices(rows), total: list.rows.length }
}

const MAX_TODAY_ROWS = 14

const TODAY_WITH = [
  `results AS MATERIALIZED (FROM ${NEW_RESULTS})`,
  `actions AS MATERIALIZED (SELECT symbol, any_value(m.name) AS name, day, lower(action) AS action, sum(amount_inr) AS amount,
      string_agg(DISTINCT terms, '; ' ORDER BY terms) AS terms, max(market_cap) AS size
    FROM actions_unique JOIN ${STOCK_NAMES} AS m USING (symbol) LEFT JOIN (SELECT symbol, max(market_cap) AS market_cap FROM master_data GROUP BY symbol) USING (symbol)
    WHERE day BETWEEN ${RUN_DAY} AND ${RUN_DAY} + ${ACTION_DAYS} AND action NOT LIKE '%RESULT%' GROUP BY symbol, day, action)`,
]

const TODAY_PARTS = {
  results: listOf<ResultsRow>(
    `SELECT symbol, name, results_day AS day, results_quarter AS quarter, sales_cr AS "salesCr", sales_yoy_pct AS "salesYoyPct", sales_qoq_pct AS "salesQoqPct",
      net_profit_cr AS "profitCr", net_profit_yoy_pct AS "profitYoyPct", net_profit_qoq_pct AS "profitQoqPct", results_day_return_pct AS "dayReturnPct",
      row_number() OVER (ORDER BY market_cap_cr DESC NULLS LAST, symbol) AS place FROM results
      ORDER BY market_cap_cr DESC NULLS LAST, symbol LIMIT ${MAX_TODAY_ROWS}`,
    'r.place',
  ),
  actions: listOf<UpcomingAction>(
    `SELECT *, row_number() OVER (ORDER BY day, size DESC NULLS LAST, symbol, action) AS place FROM actions ORDER BY place LIMIT ${MAX_TODAY_ROWS}`,
    'r.place',
  ),
  counts: rowOf<Score & { readonly actions: number }>(
    `SELECT (SELECT count(*) FROM actions) AS actions, reported, due, sales_known AS "salesKnown", sales_grew AS "salesGrew", profit_known AS "profitKnown", profit_grew AS "profitGrew",
      day_return_pct AS "dayReturnPct" FROM (${selectScoreboard('screener')})`,
  ),
}

/**
 * What one looks at in the morning besides the market: results of the last days, and the actions of the days
 * to come.
 */
export const readToday = async (folder: MarketFolder): Promise<TodayAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer(folder, TODAY_PARTS, { with: TODAY_WITH })
  const { results = [], actions = [], counts = {} } = answer
  const { actions: total = 0, ...score }: Partial<NonNullable<typeof answer.counts>> = counts
  const [broken] = damage.values()
  const about = (stream: string) => {
    const missing = findMissingFile(folder, stream)
    const lost = missing === undefined ? undefined : `${missing} is missing`
    return describeAbout(facts, stream, { damage: problem ?? broken ?? lost })
  }
  return {
    results: {
      about: about('fundamental-data'),
      rows: results,
      total: score.reported ?? 0,
      sum: describeScore(score),
    },
    actions: { about: about('corporate-actions'), rows: actions, total },
  }
}

/** How far back the notes of a stock go. */
const NOTE_DAYS = 2
const MAX_STOCK_NOTES = 4
const MAX_OWN_STOCKS = 200

/**
 * The stocks of a list, each with its price and with what happened to it. Symbols that are in no list are
 * named.
 */
export const readOwnStocks = async (folder: MarketFolder, text: string): Promise<OwnStocksAnswer> => {
  const symbols = [...new Set(text.split(',').map((one) => one.trim().toUpperCase()))]
    .filter(Boolean)
    .slice(0, MAX_OWN_STOCKS)
  if (symbols.length === 0) return { rows: [], unknown: [] }
  const list = symbols.map(quoteText).join(', ')
  const stocks = listOf<OwnStock>(
    `SELECT symbol, name, price_day AS day, close_inr AS close, change_pct AS "changePct", rvol AS "volumeTimes", circuit, asm_stage AS asm, gsm_stage AS gsm,
      if(band_before_pct IS NULL, NULL, band) AS band, notes, list_position([${list}], symbol) AS place FROM screener LEFT JOIN (
        SELECT symbol, list({ day: day, kind: kind, title: title } ORDER BY day DESC, happened_at DESC)[:${MAX_STOCK_NOTES}] AS notes FROM events
        WHERE symbol IN (${list}) AND day BETWEEN ${RUN_DAY} - ${NOTE_DAYS} AND ${RUN_DAY} + ${ACTION_DAYS} GROUP BY symbol
      ) AS e USING (symbol) WHERE symbol IN (${list})`,
    'r.place',
  )
  const { answer, problem } = await readAnswer(folder, { stocks })
  const rows = answer.stocks ?? []
  return omitUndefined({
    rows,
    unknown: problem === undefined ? symbols.filter((one) => !rows.some(({ symbol }) => symbol === one)) : [],
    problem,
  })
}

/** What rules found in the newest session, or in that of a day. */
export const readSignalRows = async (root: string, until: Day | undefined): Promise<readonly SignalRow[]> =>
  (await readSignals(root, { since: 'newest', until })).map((signal) => ({
    day: signal.day,
    rule: signal.rule,
    subject: signal.subject,
    text: describeSignal(signal),
  }))
