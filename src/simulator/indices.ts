import type { SampleIndex, SampleStock } from '../model/market.js'
import type { TradingCalendar } from './calendar.js'
import { createHistory, type MarketMoves, type PriceHistory } from './prices.js'
import { createPermutation, createRandom, drawBell, drawBetween } from './random.js'

const INDEX_COUNT = 194
// Below the Sid of every stock: requests for candles name only the Sid.
const INDEX_SID_COUNT = 1_000

/** What an index consists of: the stocks from one place to another of the largest that it selects. */
export interface IndexRule {
  readonly kind: 'stocks' | 'volatility' | 'bonds'
  /** All stocks if absent. */
  readonly selects?: ((stock: SampleStock) => boolean) | undefined
  readonly from?: number
  readonly to?: number
  /** All members have the same weight; else they have that of their market capitalisation. */
  readonly isEqual?: boolean
  /** Points at the anchor. */
  readonly levels?: readonly number[]
}

/** The market's indices. Two of them share a symbol, as at the real provider; only their Sids differ. */
export const createIndices = (count = INDEX_COUNT): readonly (SampleIndex & { readonly rule: IndexRule })[] => {
  const sidAt = createPermutation(INDEX_SID_COUNT, 0)
  return [...awkwardIndices, ...themedIndices]
    .slice(0, count)
    .map(([Sym, DispSym, rule], index) => ({ Sym, DispSym, Sid: sidAt(index + 1), rule }))
    .sort((a, b) => (a.Sym < b.Sym ? -1 : a.Sym > b.Sym ? 1 : a.Sid - b.Sid))
}

type NamedIndex = readonly [Sym: string, DispSym: string, rule: IndexRule]

const inSectors = (...sectors: readonly string[]): IndexRule => ({ kind: 'stocks', selects: ({ sector }) => sectors.includes(sector) })
const ofGroups = (names: RegExp): IndexRule => ({ kind: 'stocks', selects: ({ Name }) => names.test(Name) })

const awkwardIndices: readonly NamedIndex[] = [
  ['NIFTY', 'Nifty 50', { kind: 'stocks', to: 50, levels: [20_000, 30_000] }],
  ['SENSEX', 'Sensex', { kind: 'stocks', to: 30, levels: [65_000, 95_000] }],
  ['INDIA VIX', 'India VIX', { kind: 'volatility' }],
  ['CAPINS', 'BSE Capital Markets & Insurance', inSectors('Financial Services')],
  ['CAPINS', 'BSE Capital Goods Industrial Solutions', inSectors('Capital Goods')],
  ['NIFTY FINSRV25 50', 'Nifty Financial Services 25/50', { ...inSectors('Financial Services'), to: 20 }],
  ['NIFTY500 MULTICAP', 'Nifty 500 Multicap 50:25:25', { kind: 'stocks', to: 500 }],
  ['NIFTY TATA 25 CAP', 'Nifty India Corporate Group Index - Tata Group 25% Cap', ofGroups(/Tata|Titan/)],
  ['Nifty Corp MAATR', 'Nifty India Select 5 Corp Grps (MAATR)', ofGroups(/Mahindra|Adani|Tata|Titan|Reliance/)],
  ['Nifty GS 11 15Yr', 'Nifty 11-15 Yr G Sec', { kind: 'bonds', levels: [2_000, 4_000] }],
]

/** The sectors of each theme. */
const themes = {
  Auto: ['Automobile and Auto Components'],
  Bank: ['Financial Services'],
  Cement: ['Construction Materials'],
  Chemicals: ['Chemicals'],
  Commodities: ['Metals & Mining', 'Chemicals', 'Forest Materials', 'Oil Gas & Consumable Fuels'],
  Consumption: ['Fast Moving Consumer Goods', 'Consumer Durables', 'Consumer Services'],
  Defence: ['Capital Goods'],
  Digital: ['Information Technology', 'Telecommunication'],
  Durables: ['Consumer Durables'],
  Energy: ['Oil Gas & Consumable Fuels', 'Power'],
  Finance: ['Financial Services'],
  FMCG: ['Fast Moving Consumer Goods'],
  Healthcare: ['Healthcare'],
  Housing: ['Realty', 'Construction Materials', 'Consumer Durables'],
  Infra: ['Construction', 'Power', 'Telecommunication', 'Services'],
  IT: ['Information Technology'],
  Logistics: ['Services'],
  Media: ['Consumer Services', 'Telecommunication'],
  Metal: ['Metals & Mining'],
  MNC: ['Capital Goods', 'Fast Moving Consumer Goods', 'Healthcare'],
  Oil: ['Oil Gas & Consumable Fuels'],
  Pharma: ['Healthcare'],
  Power: ['Power'],
  Realty: ['Realty'],
  Retail: ['Consumer Services', 'Textiles'],
  Rural: ['Fast Moving Consumer Goods', 'Automobile and Auto Components', 'Chemicals'],
  Services: ['Services', 'Consumer Services'],
  Telecom: ['Telecommunication'],
  Tourism: ['Consumer Services'],
  Transport: ['Services', 'Automobile and Auto Components'],
} as const
type Theme = keyof typeof themes

const indexFamilies: readonly ((theme: Theme) => readonly [Sym: string, DispSym: string, places?: Partial<IndexRule>])[] = [
  (theme) => [`NIFTY ${theme.toUpperCase()}`, `NIFTY ${theme}`, { to: 12 }],
  (theme) => [`Nifty ${theme} EW`, `Nifty ${theme} Equal Weight`, { to: 12, isEqual: true }],
  (theme) => [`NIFTY500 ${theme.toUpperCase()}`, `Nifty 500 ${theme}`, { to: 20 }],
  (theme) => [`BSE ${theme.toUpperCase()}`, `BSE ${theme}`, { to: 15 }],
  (theme) => [`Nifty MS ${theme}`, `Nifty Mid Small ${theme}`, { from: 4, to: 15 }],
  (theme) => [`NIFTY ${theme.toUpperCase()} 35 20`, `Nifty ${theme} 35/20 (Capped)`, { to: 10 }],
  (theme) => [`${theme.slice(0, 4).toUpperCase()}${theme.length}TR`, `BSE ${theme} 65:35 TR`, { to: 15 }],
]

const themedIndices = indexFamilies.flatMap((named) =>
  (Object.keys(themes) as Theme[]).map((theme): NamedIndex => {
    const [Sym, DispSym, places] = named(theme)
    return [Sym, DispSym, { ...inSectors(...themes[theme]), ...places }]
  }),
)

/** Returns the stocks from one place to another by market capitalisation; a market that began with fewer than 500 has fewer in proportion. */
export const createLargest = (count: number) => {
  const scale = Math.min(1, count / 500)
  let [known, sorted]: (readonly SampleStock[])[] = []
  return (stocks: readonly SampleStock[], from: number, to: number): readonly SampleStock[] => {
    if (sorted === undefined || known !== stocks) sorted = [...stocks].sort((one, other) => other.Mcap - one.Mcap)
    known = stocks
    return sorted.slice(Math.round(from * scale), Math.ceil(to * scale))
  }
}
export type SelectLargest = ReturnType<typeof createLargest>

/** The members of an index; the largest stocks of the market if it selects none of them. */
const findMembers = (
  { selects, from = 0, to = 500 }: IndexRule,
  stocks: readonly SampleStock[],
  selectLargest: SelectLargest,
): readonly SampleStock[] => {
  if (selects === undefined) return selectLargest(stocks, from, to)
  const own = selectLargest(stocks, 0, 500).filter(selects)
  return own.length === 0 ? selectLargest(stocks, 0, 50) : own.slice(own.length > from ? from : 0, to)
}

interface IndexOptions {
  readonly seed: number
  readonly calendar: TradingCalendar
  readonly anchor: number
  readonly market: MarketMoves
  readonly selectLargest: SelectLargest
  /** The listed stocks in a session; the same list for all sessions without a listing or a delisting between. */
  readonly stocksIn: (session: number) => readonly SampleStock[]
  readonly historyOf: (stock: SampleStock, last: number) => PriceHistory | undefined
}

interface IndexSpan {
  readonly index: SampleIndex & { readonly rule: IndexRule }
  readonly first: number
  readonly last: number
}

/**
 * Computes the candles of an index: from one close to the next, it moves as the value of those members does that have both closes.
 */
export const createIndexHistories = (options: IndexOptions) => {
  const { seed, anchor, market, stocksIn, historyOf, selectLargest } = options
  return ({ index, first: listed, last }: IndexSpan): PriceHistory => {
    const { rule, Sid } = index
    if (rule.kind === 'volatility') return cutHistory(market.vix, listed, last)
    const random = createRandom(seed, 'index', Sid)
    const points = drawBetween(rule.levels ?? [1_500, 6_000, 12_000, 25_000, 60_000], random.next())
    if (rule.kind === 'bonds') return toHistory(listed, addBonds(createSums(last - listed + 1), seed), { anchor, points })
    const members = findMembers(rule, stocksIn(anchor), selectLargest).flatMap((stock) => historyOf(stock, last) ?? [])
    // Without a member that has a candle before, an index would not move.
    const first = Math.min(last, Math.max(listed, Math.min(...members.map((history) => history.first))))
    const sums = createSums(last - first + 1)
    for (const [from, to, stocks] of listSpans(stocksIn, { anchor, first, last }))
      for (const stock of findMembers(rule, stocks, selectLargest)) {
        const history = historyOf(stock, last)
        if (history) addMember(sums, history, { first, from, to, unit: rule.isEqual ? 1 / stock.Ltp : stock.Mcap / stock.Ltp })
      }
    return toHistory(first, sums, { anchor, points })
  }
}

const cutHistory = (history: PriceHistory, first: number, last: number): PriceHistory => {
  const cut = <T extends Int32Array | Float64Array>(column: T) => column.subarray(first - history.first, last - history.first + 1) as T
  const { open, high, low, close, volume } = history
  return { first, length: last - first + 1, open: cut(open), high: cut(high), low: cut(low), close: cut(close), volume: cut(volume) }
}

/** The spans of sessions with the same listed stocks. */
const listSpans = (
  stocksIn: IndexOptions['stocksIn'],
  { anchor, first, last }: { readonly anchor: number; readonly first: number; readonly last: number },
): readonly (readonly [from: number, to: number, stocks: readonly SampleStock[]])[] => {
  const spans: [number, number, readonly SampleStock[]][] = [[first, Math.min(anchor, last), stocksIn(anchor)]]
  for (let session = Math.max(anchor + 1, first); session <= last; session++) {
    const stocks = stocksIn(session)
    const span = spans.at(-1)
    if (span && span[2] === stocks) span[1] = session
    else spans.push([session, session, stocks])
  }
  return spans
}

/** The value of the members of an index in each session, and at the close before. */
const createSums = (length: number) => {
  const column = () => new Float64Array(length)
  return { before: column(), open: column(), close: column(), range: column(), volume: column() }
}
type Sums = ReturnType<typeof createSums>

interface Membership {
  /** The index of the session of the first sum. */
  readonly first: number
  readonly from: number
  readonly to: number
  readonly unit: number
}

const addMember = (sums: Sums, history: PriceHistory, { first, from, to, unit }: Membership): void => {
  const { before, open, close, range, volume } = sums
  const end = Math.min(to, history.first + history.length - 1)
  for (let session = Math.max(from, history.first + 1); session <= end; session++) {
    const i = session - first
    const at = session - history.first
    before[i] = (before[i] as number) + unit * (history.close[at - 1] as number)
    open[i] = (open[i] as number) + unit * (history.open[at] as number)
    range[i] = (range[i] as number) + unit * ((history.high[at] as number) - (history.low[at] as number))
    close[i] = (close[i] as number) + unit * (history.close[at] as number)
    volume[i] = (volume[i] as number) + (history.volume[at] as number)
  }
}

/** Bonds move little, and by themselves. */
const addBonds = (sums: Sums, seed: number): Sums => {
  const random = createRandom(seed, 'bonds')
  for (let i = 0; i < sums.close.length; i++) {
    sums.before[i] = 1
    sums.open[i] = 1 + drawBell(random) * 0.0003
    sums.close[i] = 1.0002 + drawBell(random) * 0.0012
    sums.range[i] = random.next() * 0.005
  }
  return sums
}

/** Not all members have their highest price at the same time: this share of their ranges is above the open and close of an index, and below. */
const SHARE_OF_RANGE = 0.15

const toHistory = (first: number, sums: Sums, { anchor, points }: { readonly anchor: number; readonly points: number }): PriceHistory => {
  const { length } = sums.close
  const level = new Float64Array(length).fill(1)
  for (let i = 1; i < length; i++)
    level[i] = (level[i - 1] as number) * (sums.before[i] ? (sums.close[i] as number) / (sums.before[i] as number) : 1)
  const scale = (points * 100) / (level[Math.max(0, Math.min(length - 1, anchor - first))] as number)
  const history = createHistory(first, length)
  for (let i = 0; i < length; i++) {
    const isMoving = i > 0 && (sums.before[i] as number) > 0
    const before = scale * (level[Math.max(0, i - 1)] as number)
    const unit = isMoving ? before / (sums.before[i] as number) : 0
    const open = Math.round(isMoving ? unit * (sums.open[i] as number) : before)
    const close = Math.round(isMoving ? unit * (sums.close[i] as number) : before)
    const range = Math.round(unit * (sums.range[i] as number) * SHARE_OF_RANGE)
    history.open[i] = open
    history.close[i] = close
    history.high[i] = Math.max(open, close) + range
    history.low[i] = Math.min(open, close) - range
    history.volume[i] = sums.volume[i] as number
  }
  return history
}
