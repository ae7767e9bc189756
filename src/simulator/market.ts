import type { PlantedEvent, SampleMarket, SampleQuarter, SampleQuote, SampleStock } from '../model/market.js'
import { type Day, SESSION_END, SESSION_START, toDay, toDayEnd, toInstant } from '../model/trading-day.js'
import { createTradingCalendar, lowerBound, type TradingCalendar } from './calendar.js'
import { createCandleReader, createHistoryCache, type Scale } from './candles.js'
import { listDocuments } from './documents.js'
import { createEventPlan, type EventOptions } from './events.js'
import { createIndexHistories, createIndices, createLargest, type SelectLargest } from './indices.js'
import { createBands, findHighest, findLowest, type PriceHistory, simulateMarket, simulatePrices } from './prices.js'
import { createRandom } from './random.js'
import { findNextResults, simulateResults, sumYears } from './results.js'
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
  /** Plans events from the turn of the year on; `true` for all kinds. Without it the only events are splits that the provider adjusts at once. */
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
 * The market at any instant (epoch milliseconds): stocks and past events stay the same, only "now" moves. Each call is cheap.
 * `options.asOf` only determines the listing dates and the first day of the planned events.
 *
 * @example createTimeline({ seed: 1, stocks: 50, asOf: Date.now(), exchange: 'NSE', events: true }).plan('2026-01-01', '2026-12-31')
 */
export const createTimeline = (options: MarketOptions): Timeline => {
  const { seed, exchange } = options
  const events = options.events === true ? {} : options.events || undefined
  const calendar = createTradingCalendar(seed, events !== undefined && (events.kinds?.includes('weekend-session') ?? true))
  const anchor = Math.max(0, lowerBound(calendar.days, findAnchorDay(options.asOf)) - 1)
  const listedAt = createListingIndex(seed, anchor, options.candleDays ?? 2_500)
  const first = createStocks(seed, options.stocks, (rank) => calendar.days[listedAt(rank)] ?? '')
  const stocks = events === undefined ? first : first.map(({ split: _, ...stock }, rank) => ({ ...stock, rank }))
  const plan = createEventPlan({ seed, calendar, anchor, stocks, events })
  const indices = createIndices(options.indices)
  const indexBySid = new Map(indices.map((index) => [String(index.Sid), index]))
  const selectLargest = createLargest(options.stocks)
  const { historyOf, historyBySid } = createHistories({ seed, calendar, anchor, plan, indexBySid, listedAt, selectLargest })
  const candles = createCandleReader({ calendar, historyOf: historyBySid, scalesOf: createScales(plan, calendar) })
  const fixed = {
    exchange,
    indices: indices.map(({ rule: _, ...index }) => index),
    ...createProviderIds(seed),
    random: (...key: readonly (string | number)[]) => createRandom(seed, ...key.map(plan.toFirstIsin)),
    stocksOn: (day: Day) => plan.listedAt(calendar.lastOpened(toInstant(day, SESSION_START))).stocks,
    bandOn: (stock: SampleStock, day: Day) => createBands(seed, stock, anchor)(calendar.lastOpened(toInstant(day, SESSION_START))),
  }
  const sampleBySid = new Map(fixed.indices.map((index) => [String(index.Sid), index]))
  return Object.assign(
    (asOf: number): SampleMarket => {
      const last = calendar.lastOpened(asOf)
      const listed = plan.listedAt(last)
      const candlesAsOf = plan.candlesAsOf(asOf)
      const shareDay = calendar.days[last] ?? ''
      const results = createResults((stock, count) =>
        simulateResults(stock, { seed, asOf, count, shareFactor: countShares(stock, shareDay) }),
      )
      const quote = createQuotes({ candles, calendar, historyOf, bandOn: fixed.bandOn, results, asOf: candlesAsOf })
      return {
        ...fixed,
        asOf,
        stocks: listed.stocks,
        stockByIsin: (isin) => listed.byIsin.get(isin),
        stockBySid: (sid) => listed.bySid.get(sid),
        indexBySid: (sid) => sampleBySid.get(sid),
        largest: (from, to) => selectLargest(listed.stocks, from, to),
        quote,
        results,
        years: (stock, count) => sumYears(results(stock, 4 * count + 3)).slice(0, count),
        nextResults: (stock) => findNextResults(seed, stock, toInstant(toDay(asOf))),
        documents: ({ Sid }, kind, wanted) => listDocuments({ seed, asOf, key: `${kind} ${Sid}`, ...wanted }),
        tradingDays: (from, to) => listOpenedDays(calendar, from, to, asOf),
        candles: (sid, start, end) => candles(sid, start, end, candlesAsOf),
        tradesOn: (sid, day) => candles(sid, toInstant(day) / 1_000, toInstant(day) / 1_000, Math.min(asOf, toDayEnd(day))),
      }
    },
    { plan: plan.plan },
  )
}

/** The results of each stock, computed once as far as they were wanted. */
const createResults = (simulate: SampleMarket['results']): SampleMarket['results'] => {
  const known = new Map<string, readonly SampleQuarter[]>()
  return (stock, count) => {
    const found = known.get(stock.Sid)
    const made = found && found.length >= count ? found : simulate(stock, Math.max(count, 12))
    known.set(stock.Sid, made)
    return made.slice(0, count)
  }
}

interface HistoryOptions {
  readonly seed: number
  readonly calendar: TradingCalendar
  readonly anchor: number
  readonly plan: ReturnType<typeof createEventPlan>
  readonly indexBySid: ReadonlyMap<string, ReturnType<typeof createIndices>[number]>
  readonly listedAt: ReturnType<typeof createListingIndex>
  readonly selectLargest: SelectLargest
}

/** The candles of stocks and indices, each computed when it is first needed. */
const createHistories = ({ seed, calendar, anchor, plan, indexBySid, listedAt, selectLargest }: HistoryOptions) => {
  const market = simulateMarket(seed, calendar.days.length)
  const stocks = new Map<string, SampleStock>()
  const ofStocks = createHistoryCache((sid, last) => {
    const stock = stocks.get(sid) as SampleStock
    const first = lowerBound(calendar.days, stock.listedOn)
    return simulatePrices({ seed, stock, anchor, first, last: Math.max(anchor, first, last), moves: market.moves })
  })
  const historyOf = (stock: SampleStock, last: number): PriceHistory | undefined => {
    stocks.set(stock.Sid, stock)
    return ofStocks(stock.Sid, last)
  }
  const stocksIn = (session: number) => plan.listedAt(session).stocks
  const ofIndex = createIndexHistories({ seed, calendar, anchor, market, selectLargest, stocksIn, historyOf })
  const ofIndices = createHistoryCache((sid, last) => {
    const index = indexBySid.get(sid)
    return index && ofIndex({ index, first: listedAt(index.Sym), last: Math.max(anchor, last) })
  })
  return {
    historyOf,
    historyBySid: (sid: string, last: number): PriceHistory | undefined => {
      const stock = plan.listedAt(last).bySid.get(sid)
      return stock ? historyOf(stock, last) : ofIndices(sid, last)
    },
  }
}

interface QuoteOptions {
  readonly candles: ReturnType<typeof createCandleReader>
  readonly calendar: TradingCalendar
  readonly historyOf: (stock: SampleStock, last: number) => PriceHistory | undefined
  readonly bandOn: SampleMarket['bandOn']
  readonly results: SampleMarket['results']
  readonly asOf: number
}

/** The newest candle of each stock, read once. */
const createQuotes = ({ candles, calendar, historyOf, bandOn, results, asOf }: QuoteOptions): SampleMarket['quote'] => {
  const last = calendar.lastOpened(asOf)
  const [day = '', time = 0] = [calendar.days[last], calendar.times[last]]
  const quotes = new Map<string, SampleQuote | undefined>()
  const read = (stock: SampleStock): SampleQuote | undefined => {
    const history = historyOf(stock, last)
    const { c, v } = candles(stock.Sid, time, time, asOf)
    const [close] = c
    if (history === undefined || close === undefined) return undefined
    const isOver = asOf >= toInstant(day, SESSION_END)
    // In shares of the anchor: what a split changes is not a move of the price.
    const now = isOver ? (history.close[last - history.first] ?? 0) : Math.round(close * 100 * countShares(stock, day))
    const before = history.close[Math.max(0, last - 1 - history.first)] ?? now
    const band = bandOn(stock, day)
    const isLimited = band !== undefined && now !== before
    const limit =
      isLimited && now === findHighest(before, band) ? 'upper' : isLimited && now === findLowest(before, band) ? 'lower' : undefined
    const earnings = results(stock, 4).reduce((sum, { eps }) => sum + eps, 0)
    return {
      ...{ close, limit, volume: v[0] ?? 0, change: (now / before - 1) * 100, marketCap: (stock.Mcap * now) / (stock.Ltp * 100) },
      pe: earnings > 0 ? Math.round((close / earnings) * 100) / 100 : undefined,
    }
  }
  return (stock) => {
    if (!quotes.has(stock.Sid)) quotes.set(stock.Sid, read(stock))
    return quotes.get(stock.Sid)
  }
}

/** Today's shares for one of the anchor. */
const countShares = ({ split, events = [] }: SampleStock, day: Day): number => {
  const splits = events.flatMap((event) =>
    event.kind === 'split' || event.kind === 'bonus' ? [{ on: event.day, factor: event.factor }] : [],
  )
  return [...(split ? [split] : []), ...splits].reduce((all, { on, factor }) => (on <= day ? all * factor : all), 1)
}

const createScales = (plan: ReturnType<typeof createEventPlan>, calendar: TradingCalendar) => (sid: string, last: number, asOf: number) => {
  const stock = plan.listedAt(last).bySid.get(sid)
  return stock ? listScales(stock, calendar, last, asOf) : []
}

/** How the provider has changed the candles of a stock as of the session `last`. */
const listScales = ({ split, events = [] }: SampleStock, { days }: TradingCalendar, last: number, asOf: number): readonly Scale[] => {
  const whole = { from: 0, to: Number.POSITIVE_INFINITY }
  const scales = events.flatMap((event): readonly Scale[] => {
    if (event.kind === 'rewritten-history')
      return [{ from: lowerBound(days, event.from), to: lowerBound(days, event.to), divisor: 1 / event.factor, shares: 1 }]
    if ((event.kind !== 'split' && event.kind !== 'bonus') || last < lowerBound(days, event.day)) return []
    const isAdjusted = event.adjustedOn !== undefined && last >= lowerBound(days, event.adjustedOn)
    return [{ ...whole, ...(!isAdjusted && { from: lowerBound(days, event.day) }), divisor: event.factor, shares: event.factor }]
  })
  const isSplit = split !== undefined && asOf >= toInstant(split.on, SESSION_START)
  return isSplit ? [{ ...whole, divisor: split.factor, shares: split.factor }, ...scales] : scales
}

// Listing dates must not move from one day to the next, or every stored candle would be wrong tomorrow. They depend on a day that is
// the same for all runs from 2026 on; for an earlier "now" it is the turn of that year.
const findAnchorDay = (asOf: number): Day => {
  const turn = `${toDay(asOf).slice(0, 4)}-01-01`
  return turn < '2026-01-01' ? turn : '2026-01-01'
}

/** The calendar index of a listing date: half of all nearly `candleDays` ago, the others since, the first stock and NIFTY long before. */
const createListingIndex = (seed: number, anchor: number, candleDays: number) => (rankOrIndex: string | number) => {
  const random = createRandom(seed, 'listed', rankOrIndex)
  const share = random.chance(0.5) ? 0.9 + random.next() / 10 : random.next()
  const age = Math.ceil((rankOrIndex === 0 || rankOrIndex === 'NIFTY' ? 3.2 : share) * candleDays)
  return Math.max(0, anchor - Math.max(0, age - 1))
}

const listOpenedDays = (calendar: TradingCalendar, from: Day, to: Day, asOf: number): readonly Day[] => {
  const end = Math.min(calendar.lastOpened(asOf) + 1, lowerBound(calendar.days, `${to}~`))
  return calendar.days.slice(lowerBound(calendar.days, from), Math.max(0, end))
}

const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const createProviderIds = (seed: number) => {
  const random = createRandom(seed, 'names')
  const text = (length: number) => Array.from({ length }, () => ID_CHARACTERS[random.int(0, ID_CHARACTERS.length - 1)]).join('')
  return {
    buildId: `b${text(20)}`,
    sheet: { id: `1${text(43)}`, asmTabId: String(random.int(100_000, 499_999)), gsmTabId: String(random.int(500_000, 999_999)) },
  }
}
