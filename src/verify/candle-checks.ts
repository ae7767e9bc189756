import { countWeekdays } from '../market/calendar.js'
import { numberToDay } from '../market/candle-file.js'
import { toDay } from '../model/trading-day.js'
import { countCoverage, deriveCalendar, type MarketCalendar, MIN_INDICES, mergeMarketDays } from './calendar.js'
import { ofSeries, type SeriesFinding } from './candle-series.js'
import { type ListFacts, type Summaries, summarizeCandles } from './candle-summaries.js'
import type { CheckName, Finding, Unchecked } from './finding.js'
import { findLateValues } from './late-values.js'
import type { StreamFiles } from './output-files.js'
import { findOutsideBand, findUnknownBands, findWidestBands, listBands, readBandDay } from './price-bands.js'
import { findRecordedValues } from './recorded-values.js'
import { findEndedSeries, findMissingSessions, findShiftedSeries, findShortHistories, type SeriesDays, STALE_SESSIONS } from './sessions.js'
import { findSharedCandles, type SharedCandles } from './shared-candles.js'

interface MarketContext extends Omit<ListFacts, 'bands'> {
  /** The symbols of the master list. */
  readonly listed: readonly string[]
  /** How many of them the last run selected. */
  readonly selected?: number
  /** The "now" of the folder's last run, epoch milliseconds; price bands are of that day. */
  readonly asOf?: number
}

/** What is known once all candle files were read. */
interface MarketFacts extends MarketContext, ListFacts, Summaries {
  readonly calendar: MarketCalendar
  /** The day number of the lists. */
  readonly bandDay: number | undefined
  readonly recorded: ReturnType<typeof findRecordedValues>
  /** The symbols with candles, of whatever days, or with a finding about them. */
  readonly known: ReadonlySet<string | undefined>
}

/** A check that needs the candles of all stocks. */
interface MarketCheck {
  readonly check: CheckName
  readonly find?: (facts: MarketFacts) => readonly Finding[]
  /** What it cannot find, the missing input, and how to get it. */
  readonly lacks?: (facts: MarketFacts) => string | undefined | false
}

/** A check of each stock against the market. */
const ofEach =
  (find: (stock: SeriesDays, facts: MarketFacts) => readonly SeriesFinding[]) =>
  (facts: MarketFacts): readonly Finding[] =>
    facts.stocks.flatMap((stock) => ofSeries(stock, find(stock, facts)))

const MARKET_CHECKS: readonly MarketCheck[] = [
  { check: 'shifted-series', find: (facts) => findLateValues(facts, facts.calendar.sessions) },
  {
    check: 'stale-symbols',
    find: (facts) => findStocksWithoutCandles(facts),
    lacks: (facts) =>
      hasSelectedStocks(facts) &&
      `stocks without candles: the last run selected ${facts.selected} of ${facts.listed.length} stocks; fetch all`,
  },
  {
    check: 'unadjusted-actions',
    lacks: ({ rows }) =>
      (rows.get('history_corporate_actions.json') ?? []).length === 0 &&
      'splits and other adjustments: no corporate actions; fetch corporate-actions',
  },
  {
    check: 'spliced-series',
    lacks: ({ listedOn }) => listedOn.size === 0 && 'candles before the day of listing: no list with listing days; fetch listing-dates',
  },
  {
    check: 'missing-sessions',
    find: ofEach((stock, { calendar }) => findMissingSessions(stock, calendar)),
    lacks: ({ calendar, stocks }) =>
      calendar.last === undefined &&
      `missing sessions: the candles of ${stocks.length} stocks, without indices, are too few; fetch indices-ohlcv`,
  },
  {
    check: 'odd-days',
    find: ({ calendar }) => calendar.findings,
    lacks: ({ calendar, indices }) =>
      calendar.last !== undefined && indices.length < MIN_INDICES && 'days that all stocks lack: too few indices; fetch indices-ohlcv',
  },
  { check: 'newest-sessions', find: (facts) => [...findEnded(facts), ...findOldMarket(facts)] },
  { check: 'short-histories', find: ({ stocks, listedOn }) => findShortHistories(stocks, listedOn) },
  { check: 'recorded-values', find: ({ recorded }) => recorded.findings },
  {
    check: 'price-bands',
    find: (facts) => [...findUnknownBands(facts.rows), ...ofEach(findOutsideBand)(facts)],
    lacks: ({ rows, bandDay, stocks }) => {
      if (listBands(rows).length === 0) return 'price bands: no list of them; fetch complete-price-bands'
      if (bandDay === undefined) return 'price bands: no report with their day; the next run writes one'
      if (stocks.some(({ days }) => days.last === bandDay)) return undefined
      return `price bands: no candles of their day, ${numberToDay(bandDay)}; run again later, the provider may be late`
    },
  },
]

const NEED_CANDLES: readonly CheckName[] = [
  'unadjusted-actions',
  'large-moves',
  'missing-sessions',
  'odd-days',
  'stale-symbols',
  'price-bands',
]

/**
 * Reads all candle files once. Checks that need the market's calendar follow after the last file. Indices are checked for impossible
 * candles only: they may move freely and have calendars of their own.
 */
export const verifyCandles = async (root: string, files: readonly StreamFiles[], context: MarketContext) => {
  const bands = findWidestBands(context.rows)
  const all = await summarizeCandles(root, files, { ...context, bands })
  const { shifted, summaries, calendar } = separateShifted(all)
  const shared = await findSharedCandles(root, summaries.prints)
  const bandDay = readBandDay(summaries.stocks, context.asOf)
  const recorded = findRecordedValues({ ...context, ...summaries, listDay: bandDay })
  const known = new Set([...all.stocks, ...all.findings].map(({ symbol }) => symbol))
  const facts: MarketFacts = { ...context, ...summaries, bands, calendar, bandDay, recorded, known }
  const found = [...summaries.findings, ...MARKET_CHECKS.flatMap(({ find }) => find?.(facts) ?? [])]
  const unchecked = MARKET_CHECKS.flatMap(({ check, lacks }): readonly Unchecked[] => {
    const text = lacks?.(facts)
    return text ? [{ checks: [check], text }] : []
  })
  const noCandles = { checks: NEED_CANDLES, text: 'prices and sessions: no candles of stocks; fetch all-ohlcv' }
  return {
    findings: mergeMarketDays(
      [...shifted, ...shared.map(({ finding }) => finding), ...found.filter((one) => !isExplainedBy(shared, one))],
      calendar,
    ),
    unchecked: [...(summaries.stocks.length === 0 ? [noCandles] : unchecked), ...recorded.unchecked],
    count: summaries.count,
    /** Day numbers. */
    sessions: calendar.sessions,
    coverage: countCoverage(
      summaries.stocks.map(({ days }) => days),
      calendar,
    ),
    /** Rupees per session, by symbol. */
    tradedValues: new Map(summaries.stocks.map(({ symbol, tradedValue }) => [symbol, tradedValue])),
  }
}

/** Series that are a day off, one finding each: the calendar and the other checks are made without them. */
const separateShifted = (all: Summaries) => {
  const derive = ({ stocks, indices }: Pick<Summaries, 'stocks' | 'indices'>): MarketCalendar =>
    deriveCalendar(
      stocks.map(({ days }) => days),
      indices.map(({ days }) => days),
    )
  const calendar = derive(all)
  const sessions = new Set(calendar.sessions)
  const shifted = [...all.stocks, ...all.indices].flatMap((one) =>
    ofSeries(
      one,
      findShiftedSeries(one, (day) => sessions.has(day)),
    ),
  )
  if (shifted.length === 0) return { shifted, summaries: all, calendar }
  const files = new Set(shifted.map(({ file }) => file))
  const isSound = ({ file }: { readonly file: string }): boolean => !files.has(file)
  const summaries = { ...all, stocks: all.stocks.filter(isSound), indices: all.indices.filter(isSound) }
  return { shifted, summaries, calendar: derive(summaries) }
}

const SHARED_CHECKS: readonly CheckName[] = ['spliced-series', 'unadjusted-actions', 'large-moves', 'volumes', 'missing-sessions']

/** Whether a finding is only a consequence of shared candles: it is of the other stock, or of the switch to it. */
const isExplainedBy = (shared: readonly SharedCandles[], { check, symbol, day }: Finding): boolean =>
  SHARED_CHECKS.includes(check) && shared.some(({ finding, isShared }) => finding.symbol === symbol && day !== undefined && isShared(day))

/** Series that end before the market. Those of damaged files may be longer. */
const findEnded = (facts: MarketFacts): readonly Finding[] => {
  const damaged = new Set(facts.findings.flatMap(({ check, file }) => (check === 'files' ? (file ?? []) : [])))
  return ofEach((stock, { calendar }) => (damaged.has(stock.file) ? [] : findEndedSeries(stock, calendar)))(facts)
}

/** An exchange is never closed on more weekdays in a row. */
const MAX_HOLIDAYS = 2

/** A market whose newest candles are older than holidays explain. Days that the indices have are found by the calendar. */
const findOldMarket = ({ calendar: { last, findings }, asOf }: MarketFacts): readonly Finding[] => {
  if (last === undefined || asOf === undefined) return []
  const weekdays = countWeekdays(numberToDay(last + 1), toDay(asOf))
  const lastDay = numberToDay(last)
  if (weekdays <= MAX_HOLIDAYS || findings.some(({ day = '' }) => day > lastDay)) return []
  const detail = `the newest candles are of ${lastDay}, ${weekdays} weekdays before the day of the run`
  return [{ check: 'newest-sessions', severity: 'warning', day: numberToDay(last + 1), detail }]
}

/** Listed stocks without any candle, though the market has some. Unreadable files have a finding of their own. */
const findStocksWithoutCandles = (facts: MarketFacts): readonly Finding[] => {
  const { stocks, calendar, listed, known } = facts
  if (hasSelectedStocks(facts) || stocks.length === 0 || calendar.sessions.length <= STALE_SESSIONS) return []
  return listed
    .filter((symbol) => !known.has(symbol))
    .map((symbol) => ({ check: 'stale-symbols', severity: 'warning', symbol, detail: 'it has no candles' }))
}

/** Whether the folder has the candles of a watchlist only. In a folder of the whole market, a run may have selected few stocks too. */
const hasSelectedStocks = ({ stocks, listed, selected = listed.length }: MarketFacts): boolean =>
  selected < listed.length && stocks.length < listed.length / 2
