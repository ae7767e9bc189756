import type { PlantedEvent, SampleIndex, SampleMarket, SampleStock } from '../model/market.js'
import { type Day, SESSION_START, toDay, toDayEnd, toInstant } from '../model/trading-day.js'
import { createTradingCalendar, lowerBound, type TradingCalendar } from './calendar.js'
import { createCandleReader, type PriceListing, type Scale } from './candles.js'
import { createEventPlan, type EventOptions } from './events.js'
import { createPermutation, createRandom } from './random.js'
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

  const listingOf = (sid: string, last: number, asOf: number): PriceListing | undefined => {
    const stock = plan.listedAt(last).bySid.get(sid)
    if (stock !== undefined)
      return { first: lowerBound(calendar.days, stock.listedOn), price: stock.Ltp, scales: listScales(stock, calendar, last, asOf) }
    const index = indexBySid.get(sid)
    return index && { first: listedAt(index.Sym), price: createRandom(seed, 'index', sid).decimal(1_000, 60_000) }
  }
  const candles = createCandleReader({ seed, calendar, anchor, listingOf })
  const fixed = {
    exchange,
    indices,
    ...createProviderIds(seed),
    indexBySid: (sid: string) => indexBySid.get(sid),
    random: (...key: readonly (string | number)[]) => createRandom(seed, ...key.map(plan.toFirstIsin)),
    stocksOn: (day: Day) => plan.listedAt(calendar.lastOpened(toInstant(day, SESSION_START))).stocks,
  }
  const epoch = events && toInstant(calendar.days[anchor] ?? '')
  return Object.assign(
    (asOf: number): SampleMarket => {
      const listed = plan.listedAt(calendar.lastOpened(asOf))
      const candlesAsOf = plan.candlesAsOf(asOf)
      return {
        ...fixed,
        asOf,
        stocks: listed.stocks,
        stockByIsin: (isin) => listed.byIsin.get(isin),
        stockBySid: (sid) => listed.bySid.get(sid),
        published: (ageMs) => (epoch === undefined ? { at: asOf - ageMs, issue: '' } : findIssue(epoch - ageMs, asOf)),
        tradingDays: (from, to) => listOpenedDays(calendar, from, to, asOf),
        candles: (sid, start, end) => candles(sid, start, end, candlesAsOf),
        tradesOn: (sid, day) => candles(sid, toInstant(day) / 1_000, toInstant(day) / 1_000, Math.min(asOf, toDayEnd(day))),
      }
    },
    { plan: plan.plan },
  )
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

const ISSUE_MS = 365 * 86_400_000

/** The newest of the instants that lie whole years of 365 days from a given one, and are not after `asOf`. */
const findIssue = (at: number, asOf: number) => {
  const years = Math.floor((asOf - at) / ISSUE_MS)
  return { at: at + years * ISSUE_MS, issue: years === 0 ? '' : `-${years}` }
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

const INDEX_COUNT = 194
// Below the Sid of every stock: requests for candles name only the Sid.
const INDEX_SID_COUNT = 1_000

/** The market's indices. Two of them share a symbol, as at the real provider; only their Sids differ. */
const createIndices = (count = INDEX_COUNT): readonly SampleIndex[] => {
  const sidAt = createPermutation(INDEX_SID_COUNT, 0)
  return [...awkwardIndices, ...themedIndices]
    .slice(0, count)
    .map(([Sym, DispSym], index) => ({ Sym, DispSym, Sid: sidAt(index + 1) }))
    .sort((a, b) => (a.Sym < b.Sym ? -1 : a.Sym > b.Sym ? 1 : a.Sid - b.Sid))
}

type IndexNames = readonly [Sym: string, DispSym: string]

const awkwardIndices: readonly IndexNames[] = [
  ['NIFTY', 'Nifty 50'],
  ['SENSEX', 'Sensex'],
  ['INDIA VIX', 'India VIX'],
  ['CAPINS', 'BSE Capital Markets & Insurance'],
  ['CAPINS', 'BSE Capital Goods Industrial Solutions'],
  ['NIFTY FINSRV25 50', 'Nifty Financial Services 25/50'],
  ['NIFTY500 MULTICAP', 'Nifty 500 Multicap 50:25:25'],
  ['NIFTY TATA 25 CAP', 'Nifty India Corporate Group Index - Tata Group 25% Cap'],
  ['Nifty Corp MAATR', 'Nifty India Select 5 Corp Grps (MAATR)'],
  ['Nifty GS 11 15Yr', 'Nifty 11-15 Yr G Sec'],
]

const themes =
  'Auto Bank Cement Chemicals Commodities Consumption Defence Digital Durables Energy Finance FMCG Healthcare Housing Infra IT Logistics Media Metal MNC Oil Pharma Power Realty Retail Rural Services Telecom Tourism Transport'.split(
    ' ',
  )

const indexFamilies: readonly ((theme: string) => IndexNames)[] = [
  (theme) => [`NIFTY ${theme.toUpperCase()}`, `NIFTY ${theme}`],
  (theme) => [`Nifty ${theme} EW`, `Nifty ${theme} Equal Weight`],
  (theme) => [`NIFTY500 ${theme.toUpperCase()}`, `Nifty 500 ${theme}`],
  (theme) => [`BSE ${theme.toUpperCase()}`, `BSE ${theme}`],
  (theme) => [`Nifty MS ${theme}`, `Nifty Mid Small ${theme}`],
  (theme) => [`NIFTY ${theme.toUpperCase()} 35 20`, `Nifty ${theme} 35/20 (Capped)`],
  (theme) => [`${theme.slice(0, 4).toUpperCase()}${theme.length}TR`, `BSE ${theme} 65:35 TR`],
]

const themedIndices = indexFamilies.flatMap((named) => themes.map(named))
