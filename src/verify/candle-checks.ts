import { countWeekdays } from '../market/calendar.js'
import { numberToDay } from '../market/candle-file.js'
import { formatNumber, formatPart, formatQuantity } from '../model/format.js'
import { toDay } from '../model/trading-day.js'
import { findAgainstLists } from './against-lists.js'
import { deriveCalendar, type MarketCalendar, MIN_INDICES, mergeMarketDays } from './calendar.js'
import { ofSeries } from './candle-series.js'
import { type ListFacts, type Summaries, summarizeCandles } from './candle-summaries.js'
import type { CheckName, Finding, MissingInput } from './finding.js'
import type { StreamFiles } from './output-files.js'
import { findOutsideBand, findUnknownBands, findWidestBands, listBands, readBandDay } from './price-bands.js'
import { findRecordedValues } from './recorded-values.js'
import {
  findEndedSeries,
  findLateValues,
  findMissingSessions,
  findShiftedSeries,
  findShortHistories,
  type SeriesDays,
  STALE_SESSIONS,
} from './sessions.js'
import { findSharedCandles } from './shared-candles.js'

interface MarketContext extends Omit<ListFacts, 'bands'> {
  readonly listed: readonly string[]
  /** How many of them the last run selected. */
  readonly selected?: number
  /** The "now" of the folder's last run, epoch milliseconds; price bands are of that day. */
  readonly asOf?: number
}

type CandleFacts = Awaited<ReturnType<typeof readCandleFacts>>

const ofEach = (
  facts: CandleFacts,
  find: (stock: SeriesDays, facts: CandleFacts) => readonly Finding[],
): readonly Finding[] => facts.stocks.flatMap((stock) => ofSeries(stock, find(stock, facts)))

/**
 * What the checks of candles find, of one file or against the market. Those of one file were made while it
 * was read.
 */
export const checkCandles = (facts: CandleFacts): readonly Finding[] => {
  const doubts = listDoubts(facts)
  return [...doubts, ...findAgainstLists({ ...facts, doubts })]
}

const listDoubts = (facts: CandleFacts): readonly Finding[] => [
  ...facts.shared.map(({ finding }) => finding),
  ...facts.findings,
  ...facts.shifted,
  ...findLateValues(facts, facts.calendar.sessions),
  ...findStocksWithoutCandles(facts),
  ...ofEach(facts, (stock, { calendar }) => findMissingSessions(stock, calendar)),
  ...facts.calendar.findings,
  ...findEnded(facts),
  ...findOldMarket(facts),
  ...findShortHistories(facts.stocks, facts.listedOn),
  ...findUnknownBands(facts.rows),
  ...ofEach(facts, findOutsideBand),
  ...facts.recorded.findings,
]

/** The checks that need candles of stocks. */
const CANDLE_CHECKS: readonly CheckName[] = [
  ...([
    'large-moves',
    'shifted-series',
    'stale-symbols',
    'unadjusted-actions',
    'spliced-series',
    'missing-sessions',
    'odd-days',
  ] as const),
  ...(['newest-sessions', 'short-histories', 'price-bands', 'recorded-values', 'witness'] as const),
]

export const listMissingMarketInputs = (facts: CandleFacts): readonly MissingInput[] => {
  const { stocks, indices, rows, listed, selected, listedOn, calendar, recorded } = facts
  if (stocks.length === 0)
    return [[CANDLE_CHECKS, 'prices and sessions: no candles of stocks; fetch all-ohlcv']]
  const hasActions = (rows.get('history_corporate_actions.json') ?? []).length > 0
  const hasSessions = calendar.last !== undefined
  return [
    [
      ['stale-symbols'],
      hasSelectedStocks(facts) &&
        `stocks without candles: the last run selected ${formatPart(selected ?? 0, listed.length, 'stock')}; fetch all`,
    ],
    [
      ['unadjusted-actions'],
      !hasActions && 'splits and other adjustments: no corporate actions; fetch corporate-actions',
    ],
    [
      ['spliced-series'],
      listedOn.size === 0 &&
        'candles before the day of listing: no list with listing days; fetch listing-dates',
    ],
    [
      ['missing-sessions'],
      !hasSessions &&
        `missing sessions: the candles of ${formatQuantity(stocks.length, 'stock')}, without indices, are too few; fetch indices-ohlcv`,
    ],
    [
      ['odd-days'],
      hasSessions &&
        indices.length < MIN_INDICES &&
        'days that all stocks lack: too few indices; fetch indices-ohlcv',
    ],
    [['price-bands'], describeMissingBands(facts)],
    [['recorded-values'], recorded.lacks],
  ]
}

const describeMissingBands = ({ rows, bandDay, stocks }: CandleFacts): string | false => {
  if (listBands(rows).length === 0) return 'price bands: no list of them; fetch complete-price-bands'
  if (bandDay === undefined) return 'price bands: no report with their day; the next run writes one'
  const hasCandles = stocks.some(({ days }) => days.last === bandDay)
  return (
    !hasCandles &&
    `price bands: no candles of their day, ${numberToDay(bandDay)}; run again later, the provider may be late`
  )
}

/**
 * Reads all candle files once, and what the checks need of the market. Indices are checked for impossible
 * candles only: they may move freely and have calendars of their own.
 */
export const readCandleFacts = async (
  root: string,
  files: readonly StreamFiles[],
  context: MarketContext,
) => {
  const bands = findWidestBands(context.rows)
  const all = await summarizeCandles(root, files, { ...context, bands })
  const { shifted, summaries, calendar } = separateShifted(all)
  const bandDay = readBandDay(summaries.stocks, context.asOf)
  return {
    ...context,
    ...summaries,
    bands,
    shifted,
    calendar,
    bandDay,
    recorded: findRecordedValues({ ...context, ...summaries, listDay: bandDay }),
    shared: await findSharedCandles(root, summaries.prints),
    /** The symbols with candles, of whatever days, or with a finding about them. */
    known: new Set([...all.stocks, ...all.findings].map(({ symbol }) => symbol)),
  }
}

/** Finds series that are a day off: the calendar and the other checks are made without them. */
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

const SHARED_CHECKS: readonly CheckName[] = [
  'spliced-series',
  'unadjusted-actions',
  'large-moves',
  'volumes',
  'missing-sessions',
]

/**
 * Leaves out what is only a consequence of shared candles: it is of the other stock, or of the switch to it.
 * One for many stocks on a day.
 */
export const mergeCandleFindings = (
  found: readonly Finding[],
  { shared, calendar }: CandleFacts,
): readonly Finding[] => {
  const isExplained = (one: Finding): boolean =>
    SHARED_CHECKS.includes(one.check) &&
    shared.some(
      ({ finding, isShared }) =>
        finding !== one && finding.symbol === one.symbol && one.day !== undefined && isShared(one.day),
    )
  return mergeMarketDays(
    found.filter((one) => !isExplained(one)),
    calendar,
  )
}

/** Series that end before the market. Those of damaged files may be longer. */
const findEnded = (facts: CandleFacts): readonly Finding[] => {
  const damaged = new Set(
    facts.findings.flatMap(({ check, file }) => (check === 'files' ? (file ?? []) : [])),
  )
  return ofEach(facts, (stock, { calendar }) =>
    damaged.has(stock.file) ? [] : findEndedSeries(stock, calendar),
  )
}

/** An exchange is never closed on more weekdays in a row. */
const MAX_HOLIDAYS = 2

/**
 * A market whose newest candles are older than holidays explain. Days that the indices have are found by the
 * calendar.
 */
const findOldMarket = ({ calendar: { last, findings }, asOf }: CandleFacts): readonly Finding[] => {
  if (last === undefined || asOf === undefined) return []
  const weekdays = countWeekdays(numberToDay(last + 1), toDay(asOf))
  const lastDay = numberToDay(last)
  if (weekdays <= MAX_HOLIDAYS || findings.some(({ day = '' }) => day > lastDay)) return []
  const detail = `the newest candles are of ${lastDay}, ${formatNumber(weekdays)} weekdays before the day of the run`
  return [{ check: 'newest-sessions', severity: 'warning', day: numberToDay(last + 1), detail }]
}

/**
 * Listed stocks without any candle, though the market has some. Unreadable files have a finding of their own.
 */
const findStocksWithoutCandles = (facts: CandleFacts): readonly Finding[] => {
  const { stocks, calendar, listed, known } = facts
  if (hasSelectedStocks(facts) || stocks.length === 0 || calendar.sessions.length <= STALE_SESSIONS) return []
  return listed
    .filter((symbol) => !known.has(symbol))
    .map((symbol) => ({ check: 'stale-symbols', severity: 'warning', symbol, detail: 'it has no candles' }))
}

/**
 * Whether the folder has the candles of a watchlist only. In a folder of the whole market, a run may have
 * selected few stocks too.
 */
const hasSelectedStocks = ({ stocks, listed, selected = listed.length }: CandleFacts): boolean =>
  selected < listed.length && stocks.length < listed.length / 2
