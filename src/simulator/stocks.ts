import { toCents } from '../model/format.js'
import type { SampleSplit, SampleStock } from '../model/market.js'
import { computeCheckDigit } from '../model/stock.js'
import { addDays, type Day } from '../model/trading-day.js'
import { createPermutation, createRandom, readLines } from './random.js'

const MIN_SID = 1_001
const STOCK_SID_COUNT = 100_000
/**
 * Stocks with this market capitalisation (₹ crore) or more have derivatives, and no price band: about one in
 * ten.
 */
const MIN_DERIVATIVES_MCAP = 40_000

/**
 * The listed stocks. `listedOn` returns the listing date of a rank. The names that people type come first,
 * not the largest stocks.
 */
export const createStocks = (
  seed: number,
  count: number,
  listedOn: (rank: number) => Day,
): readonly SampleStock[] => {
  if (!Number.isInteger(count) || count < 0 || count > MAX_COMPANIES)
    throw new RangeError(`stocks: 0 to ${MAX_COMPANIES}, not ${count}`)
  const random = createRandom(seed, 'stocks')
  const isinAt = createPermutation(ISIN_COUNT, random.int(0, ISIN_COUNT - 1))
  const sidAt = createPermutation(STOCK_SID_COUNT, random.int(0, STOCK_SID_COUNT - 1))
  // Eight small stocks are always under surveillance and at a limit, so that each list has four, or a page
  // would not be read.
  const firstLimited = count < realCompanies.length + 8 ? 0 : realCompanies.length
  return createCompanies(seed, count).map(({ Symbol: symbol, Name, sector, ...known }, rank) => {
    const figures = createRandom(seed, 'stock', rank)
    const isLimited = rank >= firstLimited && rank < firstLimited + 8
    const [cap, price] = known.cap ? [known.cap, known.price] : isLimited ? [1_500, 120] : []
    // Half of those that are not known have less than ₹ 1,200 crore.
    const Mcap = toCents(cap ? cap * figures.decimal(0.75, 1.25) : 40 + 75_000 * power(figures.next(), 6))
    const Ltp = toCents(price ? price * figures.decimal(0.75, 1.25) : 6 + 4_000 * power(figures.next(), 4))
    const pe = figures.decimal(8, 70)
    const luck = isLimited ? (rank % 2) / 15 : Mcap < MAX_WATCHED_MCAP ? figures.next() : 1
    const watched = luck < 0.045 ? 'asm' : luck < 0.07 ? 'gsm' : undefined
    const hasDerivatives = Mcap >= MIN_DERIVATIVES_MCAP
    return {
      Symbol: symbol,
      Name,
      sector,
      ISIN: createIsin(isinAt(rank)),
      Sid: String(MIN_SID + sidAt(rank)),
      FnoFlag: hasDerivatives ? 1 : 0,
      Mcap,
      Ltp,
      pe,
      pb: toCents(pe * figures.decimal(0.04, 0.25)),
      dividend: Math.round((Ltp / pe) * figures.pick([0, 0.1, 0.2, 0.3, 0.5]) * 10) / 10,
      // Those under surveillance have no intraday trades, and a narrow band.
      series: watched ? 'BE' : Mcap < 150 && figures.chance(0.65) ? 'SM' : 'EQ',
      band: watched ? 5 : hasDerivatives ? undefined : figures.pick([20, 20, 20, 20, 20, 20, 20, 10, 5]),
      ...(isLimited && { limitPlace: rank % 8 }),
      ...(watched && { watched }),
      listedOn: listedOn(rank),
      ...createSplit(seed, rank),
    }
  })
}

const MAX_WATCHED_MCAP = 4_500

/** The operator differs between machines. */
const power = (base: number, exponent: number): number =>
  exponent === 0 ? 1 : base * power(base, exponent - 1)

// Splits are on fixed dates, not relative to "now": past events must not move from one run to the next.
const firstSplit: Day = '2026-02-13'
const splitKinds = [
  { type: 'SPLIT', factor: 2 },
  { type: 'SPLIT', factor: 5 },
  { type: 'SPLIT', factor: 10 },
  { type: 'BONUS', factor: 2 },
] as const

/**
 * One stock in fifty has a split within two years; the fifth always has one, so that small markets have one
 * too.
 */
const createSplit = (seed: number, rank: number): { readonly split?: SampleSplit } => {
  const random = createRandom(seed, 'split', rank)
  if (rank !== 4 && !random.chance(0.02)) return {}
  return {
    split: {
      ...random.pick<Omit<SampleSplit, 'on'>>(splitKinds),
      on: rank === 4 ? firstSplit : addDays(firstSplit, random.int(1, 600)),
    },
  }
}

interface Company extends Pick<SampleStock, 'Symbol' | 'Name' | 'sector'> {
  /** About its market capitalisation (₹ crore) and its price (rupees), of a known company. */
  readonly cap?: number
  readonly price?: number
}

/**
 * Creates `count` companies (at most `companyCount`) with distinct symbols, those of real companies first. A
 * longer list starts like a shorter one.
 */
const createCompanies = (seed: number, count: number): readonly Company[] => {
  const companies = realCompanies.slice(0, count)
  const usedSymbols = new Set(realCompanies.map(({ Symbol: symbol }) => symbol))
  const order = createPermutation(combinations, createRandom(seed, 'companies').int(0, combinations - 1))
  for (let index = 0; companies.length < count; index++) {
    const words = pickWords(order(index))
    const symbol = createUniqueSymbol(words, usedSymbols)
    usedSymbols.add(symbol)
    companies.push({ Symbol: symbol, Name: words.join(' '), sector: sectorOf.get(words[1]) ?? '' })
  }
  return companies
}

const createUniqueSymbol = ([family, trade, form]: NameWords, usedSymbols: ReadonlySet<string>) => {
  const stem = `${family.slice(0, 6)}${trade.slice(0, 4)}`.toUpperCase()
  const longer = `${family.slice(0, 5)}${trade.slice(0, 3)}${form.slice(0, 2)}`.toUpperCase()
  let symbol = usedSymbols.has(stem) ? longer : stem
  for (let number = 2; usedSymbols.has(symbol); number++) symbol = `${longer}${number}`
  return symbol
}

/**
 * First symbols that have broken naive code: characters with a meaning in URLs, file names or CSV, and
 * leading digits. Then symbols that people type when they try something out. Only the order of size of their
 * figures is like that of the real ones.
 */
const REAL_COMPANIES = `
M&M|Mahindra & Mahindra|Automobile and Auto Components|420000|3500
BAJAJ-AUTO|Bajaj Auto|Automobile and Auto Components|250000|9000
360ONE|360 One WAM|Financial Services|45000|1100
M&MFIN|Mahindra & Mahindra Financial Services|Financial Services|38000|300
J&KBANK|Jammu & Kashmir Bank|Financial Services|11500|105
20MICRONS|20 Microns|Metals & Mining|800|220
NAM-INDIA|Nippon Life India AMC|Financial Services|55000|850
ARE&M|Amara Raja Energy & Mobility|Automobile and Auto Components|18000|1000
GVT&D|GE Vernova T&D|Capital Goods|75000|2900
3MINDIA|3M India|Diversified|35000|31000
63MOONS|63 Moons Technologies|Information Technology|4000|850
RELIANCE|Reliance Industries|Oil Gas & Consumable Fuels|1800000|1400
TCS|Tata Consultancy Services|Information Technology|1200000|3300
HDFCBANK|HDFC Bank|Financial Services|1400000|950
INFY|Infosys|Information Technology|650000|1600
ICICIBANK|ICICI Bank|Financial Services|950000|1350
SBIN|State Bank of India|Financial Services|850000|900
BHARTIARTL|Bharti Airtel|Telecommunication|1100000|1900
ITC|ITC|Fast Moving Consumer Goods|500000|400
LT|Larsen & Toubro|Construction|500000|3700
HINDUNILVR|Hindustan Unilever|Fast Moving Consumer Goods|550000|2400
WIPRO|Wipro|Information Technology|260000|250
MARUTI|Maruti Suzuki India|Automobile and Auto Components|450000|14000
SUNPHARMA|Sun Pharmaceutical Industries|Healthcare|400000|1700
TATASTEEL|Tata Steel|Metals & Mining|210000|170
AXISBANK|Axis Bank|Financial Services|370000|1200
KOTAKBANK|Kotak Mahindra Bank|Financial Services|420000|2100
ADANIENT|Adani Enterprises|Metals & Mining|280000|2400
ASIANPAINT|Asian Paints|Consumer Durables|260000|2700
TITAN|Titan Company|Consumer Durables|330000|3700
ZOMATO|Zomato|Consumer Services|280000|300
`
const realCompanies = readLines(REAL_COMPANIES).map(
  ([symbol = '', Name = '', sector = '', cap, price]): Company => ({
    Symbol: symbol,
    Name,
    sector,
    cap: Number(cap),
    price: Number(price),
  }),
)

const familyNames =
  'Aarohan Abhinav Adarsh Akshaya Amrit Anand Ankur Apex Arihant Ashoka Avanti Balaji Bharat Bhaskar Brahma Chandra Coromandel Deccan Devika Dhanuka Divya Eastern Ekta Everest Ganga Garuda Girnar Godavari Gokul Gujarat Himalaya Hindustan Indus Jagat Janaki Jaya Jindal Kalyani Kamal Kaveri Kerala Kiran Konark Krishna Lakshmi Madhav Mahavir Malabar Manas Maratha Meghna Mithila Mysore Nalanda Nandi Narmada Navin Nilgiri Omkar Orissa Padma Pallava Prakash Punjab Rajdhani Ratna Royal Sagar Sahyadri Sankalp Saraswati Shakti Shiva Sonata Surya Swastik Tamil Triveni Udaipur Ujjwal Vaibhav Vardhman Vijay Vindhya'.split(
    ' ',
  )
/** The trades in the names of companies, by sector. */
const tradesBySector = `
Automobile and Auto Components|Auto Bearings Motors Tyres
Capital Goods|Cables Castings Electricals Fasteners Forgings Packaging Pipes Tools Wires
Chemicals|Chemicals Coatings Explosives Fertilisers Gases Organics Plastics Polymers Rubber
Construction|Infra
Construction Materials|Cements Granites
Consumer Durables|Ceramics Glass Jewels Laminates Leather Paints
Consumer Services|Hotels
Fast Moving Consumer Goods|Agro Breweries Dairy Distilleries Foods Sugars
Financial Services|Capital Finance Securities
Forest Materials|Papers
Healthcare|Biotech Diagnostics Healthcare Pharma
Information Technology|Software
Metals & Mining|Alloys Metals Minerals Steels
Oil Gas & Consumable Fuels|Petro
Power|Energy Power
Realty|Housing Realty
Services|Cold Logistics Shipping
Telecommunication|Telecom
Textiles|Apparel Cotton Silks Spinning Textiles
`
const sectorOf = new Map(
  readLines(tradesBySector).flatMap(([sector = '', trades = '']) =>
    trades.split(' ').map((trade) => [trade, sector] as const),
  ),
)
const tradeNames = [...sectorOf.keys()].sort()
const companyForms =
  'Industries Enterprises Corporation Holdings India International Limited Products Works Ventures'.split(' ')

type NameWords = readonly [family: string, trade: string, form: string]

const combinations = familyNames.length * tradeNames.length * companyForms.length
export const MAX_COMPANIES = 50_000

const pickWords = (number: number): NameWords => {
  const family = familyNames[number % familyNames.length] ?? ''
  const trade = tradeNames[Math.floor(number / familyNames.length) % tradeNames.length] ?? ''
  const form = companyForms[Math.floor(number / (familyNames.length * tradeNames.length))] ?? ''
  return [family, trade, form]
}

const letterA = 'A'.charCodeAt(0)

/**
 * An Indian equity ISIN, check digit included. Distinct numbers from 0 to `isinCount - 1` give distinct
 * ISINs.
 */
const createIsin = (number: number): string => {
  const digits = String(number % 1_000).padStart(3, '0')
  const letter = String.fromCharCode(letterA + (Math.floor(number / 1_000) % 26))
  const issue = String(1 + Math.floor(number / 26_000)).padStart(2, '0')
  const body = `INE${digits}${letter}01${issue}`
  return `${body}${computeCheckDigit(body)}`
}

const ISIN_COUNT = 26_000 * 99

/** The next ISIN of the same company, as after a change of its face value. */
export const createNextIsin = (isin: string, isTaken: (isin: string) => boolean): string => {
  const body = `${isin.slice(0, 9)}${String((Number(isin.slice(9, 11)) % 99) + 1).padStart(2, '0')}`
  const next = `${body}${computeCheckDigit(body)}`
  return isTaken(next) ? createNextIsin(next, isTaken) : next
}
