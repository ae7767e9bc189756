import { toCents } from '../model/format.js'
import type { PlantedEvent, SampleMarket, SampleQuarter, SampleStock } from '../model/market.js'
import { type Day, SESSION_START, toDay, toDayEnd, toInstant } from '../model/trading-day.js'
import { createTradingCalendar, lowerBound, type TradingCalendar } from './calendar.js'
import { createCandleReader, createHistoryCache, type Scale } from './candles.js'
import { listDocuments } from './documents.js'
import { createEventPlan, type EventOptions } from './events.js'
import { createIndices, createLargest, type IndexRule, type SelectLargest, simulateIndex } from './indices.js'
import { createBands, findHighest, findLowest, simulateMarket, simulatePrices } from './prices.js'
import { createRandom } from './random.js'
import { simulateResults, sumYears } from './results.js'
import { createStocks } from './stocks.js'

/** The parameters of a simulated market. */
export interface MarketOptions {
  readonly seed: number
  /** How many stocks are listed, 0 to 50,000. */
  readonly stocks: number
  /** "Now" of the market, epoch milliseconds. */
  readonly asOf: number
  readonly exchange: string
  /** Maximum number of daily candles of most stocks at the turn of the year; about 2,500 by default. */
  readonly candleDays?: number | undefined
  /** How many indices there are, up to 194. */
  readonly indices?: number | undefined
  /**
   * Plans events from the turn of the year on; `true` for all kinds. Without it the only events are splits
   * that the provider adjusts at once.
   */
  readonly events?: boolean | EventOptions | undefined
}

/** The market at any instant (epoch milliseconds), and what was planned for it. */
export interface Timeline {
  (asOf: number): SampleMarket
  /** The planned events of the days from `from` to `to`, both included, oldest first. */
  plan(from: Day, to: Day): readonly PlantedEvent[]
}

/**
 * The market at `asOf`. The same options give the same market in every process.
 *
 * @example createMarket({ seed: 1, stocks: 50, asOf: Date.now(), exchange: 'NSE' })
 */
export const createMarket = (options: MarketOptions): SampleMarket => createTimeline(options)(options.asOf)

/**
 * The market at any instant (epoch milliseconds): stocks and past events stay the same, only "now" moves.
 * Each call is cheap. `options.asOf` only determines the listing dates and the first day of the planned
 * events.
 *
 * @example createTimeline({ seed: 1, stocks: 50, asOf: Date.now(), exchange: 'NSE', events: true }).plan('2026-01-01', '2026-12-31')
 */
export const createTimeline = (options: MarketOptions): Timeline => {
  const { seed, exchange } = options
  const events = options.events === true ? {} : options.events || undefined
  const calendar = createTradingCalendar(
    seed,
    events !== undefined && (events.kinds?.includes('weekend-session') ?? true),
  )
  const { days, lastOpened } = calendar
  const anchor = Math.max(0, lowerBound(days, findAnchorDay(options.asOf)) - 1)
  const listedAt = createListingIndex(seed, anchor, options.candleDays ?? 2_500)
  const first = createStocks(seed, options.stocks, (rank) => days[listedAt(rank)] ?? '')
  const stocks =
    events === undefined ? first : first.map(({ split: _, ...stock }, rank) => ({ ...stock, rank }))
  const plan = createEventPlan({ seed, calendar, anchor, stocks, events })
  const indices = createIndices(options.indices)
  const indexBySid = new Map(indices.map((index) => [String(index.Sid), index]))
  const selectLargest = createLargest(options.stocks)
  const historyOf = createHistories({ seed, calendar, anchor, plan, indexBySid, listedAt, selectLargest })
  const read = createCandleReader(calendar, historyOf)
  const lastOn = (day: Day) => lastOpened(toInstant(day, SESSION_START))
  const fixed = {
    exchange,
    indices,
    ...createProviderIds(seed),
    random: (...key: readonly (string | number)[]) => createRandom(seed, ...key.map(plan.toFirstIsin)),
    indexBySid: (sid: string) => indexBySid.get(sid),
    stocksOn: (day: Day) => plan.listedAt(lastOn(day)).stocks,
    bandOn: (stock: SampleStock, day: Day) => createBands(seed, stock, anchor)(lastOn(day)),
  }
  return Object.assign(
    (asOf: number): SampleMarket => {
      const listed = plan.listedAt(lastOpened(asOf))
      const candles = (sid: string, start: number, end: number, at: number) => {
        const stock = plan.listedAt(lastOpened(at)).bySid.get(sid)
        return read(sid, start, end, at, stock && listScales(stock, days, at))
      }
      const candlesAsOf = plan.candlesAsOf(asOf)
      const results = createResults(seed, asOf)
      const quote = createQuotes({ read, calendar, asOf: candlesAsOf, bandOn: fixed.bandOn, results })
      return {
        ...fixed,
        asOf,
        stocks: listed.stocks,
        stockByIsin: (isin) => listed.byIsin.get(isin),
        stockBySid: (sid) => listed.bySid.get(sid),
        largest: (from, to) => selectLargest(listed.stocks, from, to),
        quote,
        results,
        years: (stock, count) => sumYears(results(stock, 4 * count + 3)).slice(0, count),
        documents: ({ Sid }, kind, wanted) => listDocuments([seed, kind, Sid], asOf, wanted),
        tradingDays: (from, to) => listOpenedDays(calendar, from, to, asOf),
        candles: (sid, start, end) => candles(sid, start, end, candlesAsOf),
        tradesOn: (sid, day) =>
          candles(sid, toInstant(day) / 1_000, toInstant(day) / 1_000, Math.min(asOf, toDayEnd(day))),
      }
    },
    { plan: plan.plan },
  )
}

/** The results of each stock, computed once as far as they are wanted. */
const createResults = (seed: number, asOf: number): SampleMarket['results'] => {
  const known = new Map<string, readonly SampleQuarter[]>()
  return (stock, count, ahead = 0) => {
    const key = `${stock.Sid} ${ahead}`
    const options = {
      seed,
      until: asOf + ahead * 86_400_000,
      count: Math.max(count, 12),
      shareFactor: countShares(stock, asOf),
    }
    const found = known.get(key)
    const made = found && found.length >= count ? found : simulateResults(stock, options)
    known.set(key, made)
    return made.slice(0, count)
  }
}

interface QuoteOptions extends Pick<SampleMarket, 'asOf' | 'bandOn' | 'results'> {
  readonly read: ReturnType<typeof createCandleReader>
  readonly calendar: TradingCalendar
}

const createQuotes = ({
  read,
  calendar: { days, times, lastOpened },
  asOf,
  bandOn,
  results,
}: QuoteOptions): SampleMarket['quote'] => {
  const last = lastOpened(asOf)
  return (stock) => {
    // In shares of the anchor: what a split changes is not a move of the price.
    const { c, v } = read(stock.Sid, times[last - 1] ?? 0, times[last] ?? 0, asOf)
    const [before = 0, now = before] = c.map((close) => Math.round(close * 100))
    const volume = v.at(-1)
    if (volume === undefined) return undefined
    const band = now === before ? undefined : bandOn(stock, days[last] ?? '')
    const shares = countShares(stock, asOf)
    const close = Math.round(now / shares) / 100
    const earnings = results(stock, 4).reduce((sum, { eps }) => sum + eps, 0)
    const growth = now / (stock.Ltp * 100)
    return {
      close,
      volume: volume * shares,
      change: (now / before - 1) * 100,
      marketCap: stock.Mcap * growth,
      pe: earnings > 0 ? toCents(close / earnings) : undefined,
      pb: toCents(stock.pb * growth),
      dividendYield: toCents((stock.dividend * 10_000) / now),
      ...(band && now === findHighest(before, band) && { limit: 'upper' as const }),
      ...(band && now === findLowest(before, band) && { limit: 'lower' as const }),
    }
  }
}

interface HistoryOptions {
  readonly seed: number
  readonly calendar: TradingCalendar
  readonly anchor: number
  readonly plan: ReturnType<typeof createEventPlan>
  readonly indexBySid: ReadonlyMap<string, IndexRule>
  readonly listedAt: ReturnType<typeof createListingIndex>
  readonly selectLargest: SelectLargest
}

/** The candles of stocks and indices by their Sids, each computed when it is first needed. */
const createHistories = ({
  seed,
  calendar: { days },
  anchor,
  plan,
  indexBySid,
  listedAt,
  selectLargest,
}: HistoryOptions) => {
  const { moves, vix } = simulateMarket(seed, days.length)
  const stocksIn = (session: number) => plan.listedAt(session).stocks
  const keep = createHistoryCache()
  const historyOf = (stock: SampleStock, last: number) => {
    const first = lowerBound(days, stock.listedOn)
    return keep(stock.Sid, last, (to) =>
      simulatePrices({ seed, stock, anchor, first, last: Math.max(anchor, first, to), moves }),
    )
  }
  const options = { seed, anchor, vix, stocksIn, historyOf, selectLargest }
  return (sid: string, last: number) => {
    const stock = plan.listedAt(last).bySid.get(sid)
    const index = indexBySid.get(sid)
    if (stock) return historyOf(stock, last)
    return (
      index &&
      keep(sid, last, (to) => simulateIndex(index, listedAt(index.Sym), Math.max(anchor, to), options))
    )
  }
}

/** The splits and bonuses of a stock until an instant. */
const listSplits = ({ split, events = [] }: SampleStock, asOf: number) =>
  [
    ...(split ? [{ day: split.on, adjusted: true, adjustedOn: split.on, factor: split.factor }] : []),
    ...events,
  ].flatMap((event) => ('adjusted' in event && asOf >= toInstant(event.day, SESSION_START) ? [event] : []))

/** Today's shares for one of the anchor. */
const countShares = (stock: SampleStock, asOf: number): number =>
  listSplits(stock, asOf).reduce((all, { factor }) => all * factor, 1)

/** How the provider has changed the candles of a stock until an instant. */
const listScales = (stock: SampleStock, days: readonly Day[], asOf: number): readonly Scale[] => [
  ...(stock.events ?? []).flatMap((event) =>
    event.kind === 'rewritten-history'
      ? [
          {
            from: lowerBound(days, event.from),
            to: lowerBound(days, event.to),
            divisor: 1 / event.factor,
            shares: 1,
          },
        ]
      : [],
  ),
  ...listSplits(stock, asOf).map(({ day, adjustedOn, factor }) => {
    const isAdjusted = adjustedOn !== undefined && asOf >= toInstant(adjustedOn, SESSION_START)
    return { from: isAdjusted ? 0 : lowerBound(days, day), to: days.length, divisor: factor, shares: factor }
  }),
]

// Listing dates must not move from one day to the next, or every stored candle would be wrong tomorrow. They
// depend on a day that is the same for all runs from 2026 on; for an earlier "now" it is the turn of that
// year.
const findAnchorDay = (asOf: number): Day => {
  const turn = `${toDay(asOf).slice(0, 4)}-01-01`
  return turn < '2026-01-01' ? turn : '2026-01-01'
}

/**
 * The calendar index of a listing date: half of all nearly `candleDays` ago, the others since, the first
 * stock and NIFTY long before.
 */
const createListingIndex =
  (seed: number, anchor: number, candleDays: number) => (rankOrIndex: string | number) => {
    const random = createRandom(seed, 'listed', rankOrIndex)
    const share = random.chance(0.5) ? 0.9 + random.next() / 10 : random.next()
    const age = Math.ceil((rankOrIndex === 0 || rankOrIndex === 'NIFTY' ? 8 : share) * candleDays)
    return Math.max(0, anchor - Math.max(0, age - 1))
  }

const listOpenedDays = (calendar: TradingCalendar, from: Day, to: Day, asOf: number): readonly Day[] => {
  const end = Math.min(calendar.lastOpened(asOf) + 1, lowerBound(calendar.days, `${to}~`))
  return calendar.days.slice(lowerBound(calendar.days, from), Math.max(0, end))
}

const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const createProviderIds = (seed: number) => {
  const random = createRandom(seed, 'names')
  const text = (length: number) =>
    Array.from({ length }, () => ID_CHARACTERS[random.int(0, ID_CHARACTERS.length - 1)]).join('')
  return {
    buildId: `b${text(20)}`,
    sheet: {
      id: `1${text(43)}`,
      asmTabId: String(random.int(100_000, 499_999)),
      gsmTabId: String(random.int(500_000, 999_999)),
    },
  }
}

/** The settings of the stream that reads the simulated spreadsheet. */
export const toSheetOptions = ({ id, asmTabId, gsmTabId }: SampleMarket['sheet']) => ({
  'surveillance-lists': { sheetId: id, asmTabId, gsmTabId },
})
