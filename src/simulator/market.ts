import type { SampleIndex, SampleMarket } from '../model/market.js'
import { type Day, toDay } from '../model/trading-day.js'
import { createTradingCalendar, lowerBound, type TradingCalendar } from './calendar.js'
import { createCandleReader, type PriceListing } from './candles.js'
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
}

/**
 * The market at `asOf`. The same options give the same market in every process.
 *
 * @example createMarket({ seed: 1, stocks: 50, asOf: Date.now(), exchange: 'NSE' })
 */
export const createMarket = (options: MarketOptions): SampleMarket => createTimeline(options)(options.asOf)

/**
 * The market at any instant (epoch milliseconds): stocks and past events stay the same, only "now" moves. Each call is cheap.
 * `options.asOf` only determines the listing dates.
 */
export const createTimeline = (options: MarketOptions): ((asOf: number) => SampleMarket) => {
  const { seed, exchange } = options
  const calendar = createTradingCalendar(seed)
  const anchor = Math.max(0, lowerBound(calendar.days, findAnchorDay(options.asOf)) - 1)
  const listedAt = createListingIndex(seed, anchor, options.candleDays ?? 2_500)
  const stocks = createStocks(seed, options.stocks, (rank) => calendar.days[listedAt(rank)] ?? '')
  const indices = createIndices()
  const byIsin = new Map(stocks.map((stock) => [stock.ISIN, stock]))
  const bySid = new Map(stocks.map((stock) => [stock.Sid, stock]))
  const indexBySid = new Map(indices.map((index) => [String(index.Sid), index]))

  const listingOf = (sid: string): PriceListing | undefined => {
    const stock = bySid.get(sid)
    if (stock !== undefined) return { first: lowerBound(calendar.days, stock.listedOn), price: stock.Ltp, split: stock.split }
    const index = indexBySid.get(sid)
    return index && { first: listedAt(index.Sym), price: createRandom(seed, 'index', sid).decimal(1_000, 60_000) }
  }
  const candles = createCandleReader({ seed, calendar, anchor, listingOf })
  const fixed = {
    exchange,
    stocks,
    indices,
    ...createProviderIds(seed),
    stockByIsin: (isin: string) => byIsin.get(isin),
    stockBySid: (sid: string) => bySid.get(sid),
    indexBySid: (sid: string) => indexBySid.get(sid),
    random: (...key: readonly (string | number)[]) => createRandom(seed, ...key),
  }
  return (asOf) => ({
    ...fixed,
    asOf,
    tradingDays: (from, to) => listOpenedDays(calendar, from, to, asOf),
    candles: (sid, start, end) => candles(sid, start, end, asOf),
  })
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
const createIndices = (): readonly SampleIndex[] => {
  const sidAt = createPermutation(INDEX_SID_COUNT, 0)
  return [...awkwardIndices, ...themedIndices]
    .slice(0, INDEX_COUNT)
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
