import type { SampleIndex, SampleStock } from '../model/market.js'
import { createHistory, type PriceHistory, writeCandle } from './prices.js'
import { createPermutation, createRandom, readLines } from './random.js'

const INDEX_COUNT = 194
// Below the Sid of every stock: requests for candles name only the Sid.
const INDEX_SID_COUNT = 1_000

/** An index, and what it consists of: the stocks from one place to another of the largest that it selects. */
export interface IndexRule extends SampleIndex {
  /** Sectors, or first words of the names of companies; all stocks if empty. */
  readonly selects: readonly string[]
  readonly from: number
  readonly to: number
  /** About so many at the anchor; any number if 0. */
  readonly points: number
}

/** The market's indices. Two of them share a symbol, as at the real provider; only their Sids differ. */
export const createIndices = (count = INDEX_COUNT): readonly IndexRule[] => {
  const sidAt = createPermutation(INDEX_SID_COUNT, 0)
  return [...readLines(AWKWARD_INDICES), ...themedIndices]
    .slice(0, count)
    .map(([Sym = '', DispSym = '', from, to, points, selects], place) => ({
      Sym,
      DispSym,
      Sid: sidAt(place + 1),
      from: Number(from),
      to: Number(to),
      points: Number(points),
      selects: selects ? selects.split(', ') : [],
    }))
    .sort((a, b) => (a.Sym < b.Sym ? -1 : a.Sym > b.Sym ? 1 : a.Sid - b.Sid))
}

/** Symbol, name, first and last place, points, and what it selects. */
const AWKWARD_INDICES = `
NIFTY|Nifty 50|0|50|25000|
SENSEX|Sensex|0|30|82000|
INDIA VIX|India VIX|0|0|0|
CAPINS|BSE Capital Markets & Insurance|0|500|0|Financial Services
CAPINS|BSE Capital Goods Industrial Solutions|0|500|0|Capital Goods
NIFTY FINSRV25 50|Nifty Financial Services 25/50|0|20|26000|Financial Services
NIFTY500 MULTICAP|Nifty 500 Multicap 50:25:25|0|500|16000|
NIFTY TATA 25 CAP|Nifty India Corporate Group Index - Tata Group 25% Cap|0|500|0|Tata, Titan
Nifty Corp MAATR|Nifty India Select 5 Corp Grps (MAATR)|0|500|0|Mahindra, Adani, Tata, Titan, Reliance
Nifty GS 11 15Yr|Nifty 11-15 Yr G Sec|0|50|3000|
`

/** The sectors of each theme. */
const THEMES = `
Auto|Automobile and Auto Components
Bank|Financial Services
Cement|Construction Materials
Chemicals|Chemicals
Commodities|Metals & Mining, Chemicals, Forest Materials, Oil Gas & Consumable Fuels
Consumption|Fast Moving Consumer Goods, Consumer Durables, Consumer Services
Defence|Capital Goods
Digital|Information Technology, Telecommunication
Durables|Consumer Durables
Energy|Oil Gas & Consumable Fuels, Power
Finance|Financial Services
FMCG|Fast Moving Consumer Goods
Healthcare|Healthcare
Housing|Realty, Construction Materials, Consumer Durables
Infra|Construction, Power, Telecommunication, Services
IT|Information Technology
Logistics|Services
Media|Consumer Services, Telecommunication
Metal|Metals & Mining
MNC|Capital Goods, Fast Moving Consumer Goods, Healthcare
Oil|Oil Gas & Consumable Fuels
Pharma|Healthcare
Power|Power
Realty|Realty
Retail|Consumer Services, Textiles
Rural|Fast Moving Consumer Goods, Automobile and Auto Components, Chemicals
Services|Services, Consumer Services
Telecom|Telecommunication
Tourism|Consumer Services
Transport|Services, Automobile and Auto Components
`

/** Symbol, name, first and last place. */
const INDEX_FAMILIES = `
NIFTY THEME|NIFTY Theme|0|10
Nifty Theme EW|Nifty Theme Equal Weight|0|10
NIFTY500 THEME|Nifty 500 Theme|0|15
BSE THEME|BSE Theme|0|12
Nifty MS Theme|Nifty Mid Small Theme|4|12
NIFTY THEME 35 20|Nifty Theme 35/20 (Capped)|0|8
BSE THEME TR|BSE Theme 65:35 TR|0|12
`

const themedIndices = readLines(INDEX_FAMILIES).flatMap((family) =>
  readLines(THEMES).map(([theme = '', sectors = '']) => [
    ...family.map((text) => text.replace('THEME', theme.toUpperCase()).replace('Theme', theme)),
    '0',
    sectors,
  ]),
)

/**
 * Returns the stocks from one place to another by market capitalisation; a market that began with fewer than
 * 500 has fewer in proportion.
 */
export const createLargest = (count: number) => {
  const scale = Math.min(1, count / 500)
  let [known, sorted]: (readonly SampleStock[])[] = []
  return (stocks: readonly SampleStock[], from: number, to: number): readonly SampleStock[] => {
    if (sorted === undefined || known !== stocks)
      sorted = [...stocks].sort((one, other) => other.Mcap - one.Mcap)
    known = stocks
    return sorted.slice(Math.round(from * scale), Math.ceil(to * scale))
  }
}
export type SelectLargest = ReturnType<typeof createLargest>

/** The members of an index; the largest stocks of the market if it selects none of them. */
const findMembers = (
  { selects, from, to }: IndexRule,
  stocks: readonly SampleStock[],
  selectLargest: SelectLargest,
) => {
  if (selects.length === 0) return selectLargest(stocks, from, to)
  const own = selectLargest(stocks, 0, 500).filter(({ sector, Name }) =>
    selects.some((word) => sector === word || Name.startsWith(word)),
  )
  return own.length === 0 ? selectLargest(stocks, 0, 50) : own.slice(own.length > from ? from : 0, to)
}

interface IndexOptions {
  readonly seed: number
  readonly anchor: number
  readonly vix: PriceHistory
  readonly selectLargest: SelectLargest
  /**
   * The listed stocks in a session; the same list for all sessions without a listing or a delisting between.
   */
  readonly stocksIn: (session: number) => readonly SampleStock[]
  readonly historyOf: (stock: SampleStock, last: number) => PriceHistory
}

/**
 * The candles of an index from a session, or the first one of its members, to another: from one close to the
 * next, it moves as the value of those members does that have both closes; bonds move by a tenth of it.
 */
export const simulateIndex = (
  index: IndexRule,
  listed: number,
  last: number,
  { seed, anchor, vix, stocksIn, historyOf, selectLargest }: IndexOptions,
): PriceHistory => {
  if (index.Sym === 'INDIA VIX') return vix
  const share = index.DispSym.endsWith('G Sec') ? 0.1 : 1
  const isEqual = index.DispSym.endsWith('Equal Weight')
  let stocks: readonly SampleStock[] | undefined
  let members: readonly { readonly own: PriceHistory; readonly shares: number }[] = []
  const membersIn = (session: number) => {
    if (stocks !== stocksIn(session))
      members = findMembers(index, stocksIn(session), selectLargest).map((stock) => ({
        own: historyOf(stock, last),
        shares: (isEqual ? 1 : stock.Mcap) / stock.Ltp,
      }))
    stocks = stocksIn(session)
    return members
  }
  const first = Math.min(last, Math.max(listed, Math.min(...membersIn(anchor).map(({ own }) => own.first))))
  const history = createHistory(first, last - first + 1)
  const column = () => new Float64Array(history.length)
  const [opens, closes] = [column(), column()]
  let level = 1
  for (let i = 0; i < history.length; i++) {
    let before = 0
    let open = 0
    let close = 0
    let volume = 0
    for (const { own, shares } of membersIn(first + i)) {
      const at = first + i - own.first
      if (at < 1 || at >= own.length) continue
      before += shares * (own.close[at - 1] as number)
      open += shares * (own.open[at] as number)
      close += shares * (own.close[at] as number)
      volume += own.volume[at] as number
    }
    const unit = before === 0 ? 0 : (share * level) / before
    opens[i] = level + unit * (open - before)
    level += unit * (close - before)
    closes[i] = level
    history.volume[i] = volume
  }
  const random = createRandom(seed, 'index', index.Sid)
  const points = (index.points || random.int(1_500, 50_000)) * random.decimal(0.9, 1.1)
  const scale = (points * 100) / (closes[Math.max(0, Math.min(history.length - 1, anchor - first))] as number)
  for (let i = 0; i < history.length; i++) {
    const open = scale * (opens[i] as number)
    const close = scale * (closes[i] as number)
    // Its members do not all have their highest price at the same time.
    writeCandle(history, i, open, close, close * 0.001 + Math.abs(close - open) * 0.2)
  }
  return history
}
