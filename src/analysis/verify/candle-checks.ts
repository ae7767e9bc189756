import { countWeekdays } from '../../market/calendar.js'
import { dayToNumber, numberToDay } from '../../market/candle-file.js'
import { lastWeekday, toDay } from '../../model/trading-day.js'
import { countCoverage, deriveCalendar, type MarketCalendar, MIN_INDICES, mergeMarketDays } from './calendar.js'
import { type CandleContext, type Summaries, summarizeCandles } from './candle-summaries.js'
import type { CheckName, Finding, Unchecked } from './finding.js'
import { findLateValues } from './late-values.js'
import type { StreamFiles } from './output-files.js'
import { findOutsideBands, findUnknownBands, findWidestBands } from './price-bands.js'
import { findRecordedValues } from './recorded-values.js'
import { findEndedSeries, findMissingSessions, findShiftedSeries, findShortHistories, STALE_SESSIONS } from './sessions.js'
import { findSharedCandles, type SharedCandles } from './shared-candles.js'

const CANDLE_CHECKS: readonly CheckName[] = [
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
export const verifyCandles = async (root: string, files: readonly StreamFiles[], context: Omit<CandleContext, 'bands'>) => {
  const bands = findWidestBands(context.rows.get(BAND_FILE) ?? [], context.rows.get('incremental_price_bands.json') ?? [])
  const all = await summarizeCandles(root, files, { ...context, bands })
  const { shifted, summaries, calendar } = separateShifted(all)
  const shared = await findSharedCandles(root, summaries.prints)
  const damaged = new Set(summaries.findings.flatMap(({ check, file }) => (check === 'files' ? (file ?? []) : [])))
  const missing = summaries.stocks.flatMap((series) => findMissingSessions(series, calendar))
  const recorded = findRecordedValues({ ...context, ...summaries, listDay: readBandDay(summaries, context) })
  return {
    findings: mergeMarketDays(
      [
        ...shifted,
        ...findLateValues(summaries, calendar.sessions),
        ...shared.map(({ finding }) => finding),
        ...[...summaries.findings, ...missing].filter((finding) => !isExplainedBy(shared, finding)),
        ...calendar.findings,
        ...summaries.stocks.flatMap((series) => (damaged.has(series.file) ? [] : findEndedSeries(series, calendar))),
        ...findShortHistories(summaries.stocks, context.listedOn),
        ...recorded.findings,
        ...findOldMarket(calendar, context),
        ...findStocksWithoutCandles(all, calendar, context),
        ...findBandViolations(summaries, { ...context, bands }),
      ],
      calendar,
    ),
    unchecked: [...describeUnchecked(summaries, calendar, context), ...recorded.unchecked],
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
  const shifted = [...all.stocks, ...all.indices].flatMap((series) => findShiftedSeries(series, (day) => sessions.has(day)))
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

/** An exchange is never closed on more weekdays in a row. */
const MAX_HOLIDAYS = 2

/** A market whose newest candles are older than holidays explain. Days that the indices have are found by the calendar. */
const findOldMarket = ({ last, findings }: MarketCalendar, { asOf }: Pick<CandleContext, 'asOf'>): readonly Finding[] => {
  if (last === undefined || asOf === undefined) return []
  const weekdays = countWeekdays(numberToDay(last + 1), toDay(asOf))
  const lastDay = numberToDay(last)
  if (weekdays <= MAX_HOLIDAYS || findings.some(({ day = '' }) => day > lastDay)) return []
  const detail = `the newest candles are of ${lastDay}, ${weekdays} weekdays before the day of the run`
  return [{ check: 'newest-sessions', severity: 'warning', day: numberToDay(last + 1), detail }]
}

type ListedContext = Pick<CandleContext, 'listed' | 'selected'>

/** Listed stocks without any candle, though the market has some. Unreadable files have a finding of their own. */
const findStocksWithoutCandles = (summaries: Summaries, { sessions }: MarketCalendar, context: ListedContext): readonly Finding[] => {
  const { stocks, findings } = summaries
  const { listed } = context
  if (hasSelectedStocks(summaries, context) || stocks.length === 0 || sessions.length <= STALE_SESSIONS) return []
  const known = new Set([...stocks, ...findings].map(({ symbol }) => symbol))
  return listed
    .filter((symbol) => !known.has(symbol))
    .map((symbol) => ({ check: 'stale-symbols', severity: 'warning', symbol, detail: 'it has no candles' }))
}

/** Whether the folder has the candles of a watchlist only. In a folder of the whole market, a run may have selected few stocks too. */
const hasSelectedStocks = ({ stocks }: Summaries, { listed, selected = listed.length }: ListedContext): boolean =>
  selected < listed.length && stocks.length < listed.length / 2

const BAND_FILE = 'complete_price_bands.json'

/**
 * The day number of the price bands: that of the run, or on a weekend without a session the Friday before. Bands change daily, so they apply
 * to candles of this day only.
 */
const readBandDay = ({ stocks }: Summaries, { asOf }: Pick<CandleContext, 'asOf'>): number | undefined => {
  if (asOf === undefined) return undefined
  const day = dayToNumber(toDay(asOf))
  return stocks.some(({ days }) => days.last === day) ? day : dayToNumber(lastWeekday(toDay(asOf)))
}

const findBandViolations = (summaries: Summaries, context: CandleContext): readonly Finding[] => {
  const day = readBandDay(summaries, context)
  const unknown = findUnknownBands(context.rows.get(BAND_FILE) ?? [], BAND_FILE)
  return day === undefined ? unknown : [...unknown, ...findOutsideBands(summaries.stocks, day, context)]
}

/** The inputs of the checks of candles that are missing. */
const describeUnchecked = (summaries: Summaries, { last }: MarketCalendar, context: Omit<CandleContext, 'bands'>): readonly Unchecked[] => {
  const { stocks, indices } = summaries
  if (stocks.length === 0) return [{ checks: CANDLE_CHECKS, text: 'prices and sessions: no candles of stocks; fetch all-ohlcv' }]
  const bandDay = readBandDay(summaries, context)
  const hasBands = (context.rows.get(BAND_FILE) ?? []).length > 0
  const missing: readonly (readonly [isMissing: boolean, check: CheckName, text: string])[] = [
    [
      hasSelectedStocks(summaries, context),
      'stale-symbols',
      `stocks without candles: the last run selected ${context.selected} of ${context.listed.length} stocks; fetch all`,
    ],
    [
      (context.rows.get('history_corporate_actions.json') ?? []).length === 0,
      'unadjusted-actions',
      'splits and other adjustments: no corporate actions; fetch corporate-actions',
    ],
    [context.listedOn.size === 0, 'spliced-series', 'candles before the day of listing: no list with listing days; fetch listing-dates'],
    [
      last === undefined,
      'missing-sessions',
      `missing sessions: the candles of ${stocks.length} stocks, without indices, are too few; fetch indices-ohlcv`,
    ],
    [last !== undefined && indices.length < MIN_INDICES, 'odd-days', 'days that all stocks lack: too few indices; fetch indices-ohlcv'],
    [!hasBands, 'price-bands', 'price bands: no list of them; fetch complete-price-bands'],
    [hasBands && bandDay === undefined, 'price-bands', 'price bands: no report with their day; the next run writes one'],
    [
      hasBands && bandDay !== undefined && !stocks.some(({ days }) => days.last === bandDay),
      'price-bands',
      `price bands: no candles of their day, ${numberToDay(bandDay ?? 0)}; run again later, the provider may be late`,
    ],
  ]
  return missing.filter(([isMissing]) => isMissing).map(([, check, text]) => ({ checks: [check], text }))
}
