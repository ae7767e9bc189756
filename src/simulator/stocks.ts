import type { Random, SampleSplit, SampleStock } from '../model/market.js'
import { addDays, type Day } from '../model/trading-day.js'
import { createPermutation, createRandom, drawBetween } from './random.js'

const MIN_SID = 1_001
const STOCK_SID_COUNT = 100_000
/** Stocks with this market capitalisation (₹ crore) or more have derivatives, and no price band: about one in ten. */
const MIN_DERIVATIVES_MCAP = 40_000

/** The listed stocks. `listedOn` returns the listing date of a rank. The names that people type come first, not the largest stocks. */
export const createStocks = (seed: number, count: number, listedOn: (rank: number) => Day): readonly SampleStock[] => {
  if (!Number.isInteger(count) || count < 0 || count > MAX_COMPANIES) throw new RangeError(`stocks: 0 to ${MAX_COMPANIES}, not ${count}`)
  const random = createRandom(seed, 'stocks')
  const isinAt = createPermutation(ISIN_COUNT, random.int(0, ISIN_COUNT - 1))
  const sidAt = createPermutation(STOCK_SID_COUNT, random.int(0, STOCK_SID_COUNT - 1))
  const alwaysWatched = findAlwaysWatched(count)
  return createCompanies(seed, count).map((company, rank) => {
    const figures = createRandom(seed, 'stock', rank)
    const isAlwaysWatched = alwaysWatched.includes(rank)
    const [caps, prices] = isAlwaysWatched && rank >= realCompanies.length ? SMALL : company.knots
    const Mcap = toCents(drawBetween(caps, figures.next()))
    const [Ltp, pe] = [toCents(drawBetween(prices, figures.next())), figures.decimal(8, 70)]
    const watched = isAlwaysWatched ? lists[rank % 2] : drawWatched(Mcap, figures)
    return {
      Symbol: company.symbol,
      ISIN: createIsin(isinAt(rank)),
      Name: company.name,
      Sid: String(MIN_SID + sidAt(rank)),
      FnoFlag: Mcap >= MIN_DERIVATIVES_MCAP ? 1 : 0,
      Mcap,
      ...{ Ltp, pe, pb: figures.decimal(0.8, 9) },
      dividend: Math.round((Ltp / pe) * figures.pick([0, 0.1, 0.2, 0.3, 0.5]) * 10) / 10,
      sector: company.sector,
      ...drawTradingRules(Mcap, watched, figures),
      ...(isAlwaysWatched && { limitPlace: rank % 8 }),
      ...(watched && { watched }),
      listedOn: listedOn(rank),
      ...createSplit(seed, rank),
    }
  })
}

const toCents = (value: number): number => Math.round(value * 100) / 100

const lists = ['asm', 'gsm'] as const

/** Eight small stocks are always under surveillance and at a limit, so that each list has four, or a page would not be read; in a market without so many stocks the first eight. */
const findAlwaysWatched = (count: number): readonly number[] => {
  const first = count < realCompanies.length + 8 ? 0 : realCompanies.length
  return Array.from({ length: 8 }, (_, place) => first + place)
}

const MAX_WATCHED_MCAP = 4_500

const drawWatched = (mcap: number, figures: Random): SampleStock['watched'] => {
  const share = figures.next()
  if (mcap > MAX_WATCHED_MCAP || share > 0.07) return undefined
  return share < 0.045 ? 'asm' : 'gsm'
}

/** The series and the band of a stock. A stock under surveillance is in a series without intraday trades, with a narrow band. */
const drawTradingRules = (mcap: number, watched: SampleStock['watched'], figures: Random): Pick<SampleStock, 'series' | 'band'> => {
  const share = figures.next()
  const series = watched === undefined ? (mcap < 150 && figures.chance(0.75) ? 'SM' : 'EQ') : 'BE'
  if (watched !== undefined) return { series, band: watched === 'gsm' && share < 0.2 ? 2 : 5 }
  if (mcap >= MIN_DERIVATIVES_MCAP) return { series, band: undefined }
  return { series, band: share < 0.88 ? 20 : share < 0.94 ? 10 : 5 }
}

// Splits are on fixed dates, not relative to "now": past events must not move from one run to the next.
const firstSplit: Day = '2026-02-13'
const splitKinds = [
  { type: 'SPLIT', factor: 2 },
  { type: 'SPLIT', factor: 5 },
  { type: 'SPLIT', factor: 10 },
  { type: 'BONUS', factor: 2 },
] as const

/** One stock in fifty has a split within two years; the fifth always has one, so that small markets have one too. */
const createSplit = (seed: number, rank: number): { readonly split?: SampleSplit } => {
  const random = createRandom(seed, 'split', rank)
  if (rank !== 4 && !random.chance(0.02)) return {}
  return {
    split: { ...random.pick<Omit<SampleSplit, 'on'>>(splitKinds), on: rank === 4 ? firstSplit : addDays(firstSplit, random.int(1, 600)) },
  }
}

interface Company {
  readonly symbol: string
  readonly name: string
  readonly sector: string
  readonly knots: Knots
}

/** What the market capitalisation (₹ crore) and the price (rupees) of a company may be. */
type Knots = readonly [caps: readonly number[], prices: readonly number[]]

const ANY: Knots = [
  [25, 60, 150, 400, 900, 2_000, 4_500, 11_000, 30_000, 90_000],
  [6, 25, 60, 130, 260, 480, 850, 1_500, 3_000, 9_000],
]
const SMALL: Knots = [
  [300, 900, 3_000],
  [15, 60, 240],
]

/** The size and the price of a known company as two letters: only their classes are like the real ones. */
type Class = `${keyof typeof capClasses}${keyof typeof priceClasses}`

const capClasses = {
  S: [1_600_000, 2_000_000],
  A: [500_000, 800_000, 1_500_000],
  B: [150_000, 250_000, 450_000],
  C: [45_000, 80_000, 140_000],
  D: [8_000, 16_000, 35_000],
  E: [400, 1_000, 4_000],
} as const
const priceClasses = {
  a: [130, 250, 430],
  b: [700, 1_000, 1_700],
  c: [1_800, 2_800, 5_000],
  d: [8_000, 11_000, 16_000],
  e: [20_000, 40_000],
} as const

const toKnots = (letters: Class): Knots => [
  capClasses[letters[0] as keyof typeof capClasses],
  priceClasses[letters[1] as keyof typeof priceClasses],
]

/** Creates `count` companies (at most `companyCount`) with distinct symbols, those of real companies first. A longer list starts like a shorter one. */
const createCompanies = (seed: number, count: number): readonly Company[] => {
  const companies: Company[] = realCompanies
    .slice(0, count)
    .map(([symbol, name, sector, letters]) => ({ symbol, name, sector, knots: toKnots(letters) }))
  const usedSymbols = new Set(realCompanies.map(([symbol]) => symbol))
  const order = createPermutation(combinations, createRandom(seed, 'companies').int(0, combinations - 1))
  for (let index = 0; companies.length < count; index++) {
    const words = pickWords(order(index))
    const symbol = createUniqueSymbol(words, usedSymbols)
    usedSymbols.add(symbol)
    companies.push({ symbol, name: words.join(' '), sector: sectorOf.get(words[1]) ?? '', knots: ANY })
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

// Symbols that have broken naive code: characters with a meaning in URLs, file names or CSV, and leading digits.
const awkwardCompanies = [
  ['M&M', 'Mahindra & Mahindra', 'Automobile and Auto Components', 'Bc'],
  ['BAJAJ-AUTO', 'Bajaj Auto', 'Automobile and Auto Components', 'Bd'],
  ['360ONE', '360 One WAM', 'Financial Services', 'Cb'],
  ['M&MFIN', 'Mahindra & Mahindra Financial Services', 'Financial Services', 'Da'],
  ['J&KBANK', 'Jammu & Kashmir Bank', 'Financial Services', 'Da'],
  ['20MICRONS', '20 Microns', 'Metals & Mining', 'Ea'],
  ['NAM-INDIA', 'Nippon Life India AMC', 'Financial Services', 'Cb'],
  ['ARE&M', 'Amara Raja Energy & Mobility', 'Automobile and Auto Components', 'Db'],
  ['GVT&D', 'GE Vernova T&D', 'Capital Goods', 'Cc'],
  ['3MINDIA', '3M India', 'Diversified', 'De'],
  ['63MOONS', '63 Moons Technologies', 'Information Technology', 'Eb'],
] as const

/** Symbols that people type when they try something out. Their data is as simulated as that of all others. */
const knownCompanies = [
  ['RELIANCE', 'Reliance Industries', 'Oil Gas & Consumable Fuels', 'Sb'],
  ['TCS', 'Tata Consultancy Services', 'Information Technology', 'Ac'],
  ['HDFCBANK', 'HDFC Bank', 'Financial Services', 'Ab'],
  ['INFY', 'Infosys', 'Information Technology', 'Ab'],
  ['ICICIBANK', 'ICICI Bank', 'Financial Services', 'Ab'],
  ['SBIN', 'State Bank of India', 'Financial Services', 'Ab'],
  ['BHARTIARTL', 'Bharti Airtel', 'Telecommunication', 'Ab'],
  ['ITC', 'ITC', 'Fast Moving Consumer Goods', 'Ba'],
  ['LT', 'Larsen & Toubro', 'Construction', 'Bc'],
  ['HINDUNILVR', 'Hindustan Unilever', 'Fast Moving Consumer Goods', 'Bc'],
  ['WIPRO', 'Wipro', 'Information Technology', 'Ba'],
  ['MARUTI', 'Maruti Suzuki India', 'Automobile and Auto Components', 'Bd'],
  ['SUNPHARMA', 'Sun Pharmaceutical Industries', 'Healthcare', 'Bb'],
  ['TATASTEEL', 'Tata Steel', 'Metals & Mining', 'Ba'],
  ['AXISBANK', 'Axis Bank', 'Financial Services', 'Bb'],
  ['KOTAKBANK', 'Kotak Mahindra Bank', 'Financial Services', 'Bb'],
  ['ADANIENT', 'Adani Enterprises', 'Metals & Mining', 'Bc'],
  ['ASIANPAINT', 'Asian Paints', 'Consumer Durables', 'Bc'],
  ['TITAN', 'Titan Company', 'Consumer Durables', 'Bc'],
  ['ZOMATO', 'Zomato', 'Consumer Services', 'Ba'],
] as const

const realCompanies: readonly (readonly [symbol: string, name: string, sector: string, letters: Class])[] = [
  ...awkwardCompanies,
  ...knownCompanies,
]

const familyNames =
  'Aarohan Abhinav Adarsh Akshaya Amrit Anand Ankur Apex Arihant Ashoka Avanti Balaji Bharat Bhaskar Brahma Chandra Coromandel Deccan Devika Dhanuka Divya Eastern Ekta Everest Ganga Garuda Girnar Godavari Gokul Gujarat Himalaya Hindustan Indus Jagat Janaki Jaya Jindal Kalyani Kamal Kaveri Kerala Kiran Konark Krishna Lakshmi Madhav Mahavir Malabar Manas Maratha Meghna Mithila Mysore Nalanda Nandi Narmada Navin Nilgiri Omkar Orissa Padma Pallava Prakash Punjab Rajdhani Ratna Royal Sagar Sahyadri Sankalp Saraswati Shakti Shiva Sonata Surya Swastik Tamil Triveni Udaipur Ujjwal Vaibhav Vardhman Vijay Vindhya'.split(
    ' ',
  )
/** The trades in the names of companies, by sector. */
const tradesBySector = {
  'Automobile and Auto Components': 'Auto Bearings Motors Tyres',
  'Capital Goods': 'Cables Castings Electricals Fasteners Forgings Packaging Pipes Tools Wires',
  Chemicals: 'Chemicals Coatings Explosives Fertilisers Gases Organics Plastics Polymers Rubber',
  Construction: 'Infra',
  'Construction Materials': 'Cements Granites',
  'Consumer Durables': 'Ceramics Glass Jewels Laminates Leather Paints',
  'Consumer Services': 'Hotels',
  'Fast Moving Consumer Goods': 'Agro Breweries Dairy Distilleries Foods Sugars',
  'Financial Services': 'Capital Finance Securities',
  'Forest Materials': 'Papers',
  Healthcare: 'Biotech Diagnostics Healthcare Pharma',
  'Information Technology': 'Software',
  'Metals & Mining': 'Alloys Metals Minerals Steels',
  'Oil Gas & Consumable Fuels': 'Petro',
  Power: 'Energy Power',
  Realty: 'Housing Realty',
  Services: 'Cold Logistics Shipping',
  Telecommunication: 'Telecom',
  Textiles: 'Apparel Cotton Silks Spinning Textiles',
} as const
const sectorOf = new Map(
  Object.entries(tradesBySector).flatMap(([sector, trades]) => trades.split(' ').map((trade) => [trade, sector] as const)),
)
const tradeNames = [...sectorOf.keys()].sort()
const companyForms = 'Industries Enterprises Corporation Holdings India International Limited Products Works Ventures'.split(' ')

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

/** An Indian equity ISIN, check digit included. Distinct numbers from 0 to `isinCount - 1` give distinct ISINs. */
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

/** The check digit of ISO 6166: letters become 10 to 35, then Luhn over all digits; the last digit is doubled. */
export const computeCheckDigit = (body: string): number => {
  const digits = [...body].map((character) => Number.parseInt(character, 36)).join('')
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const weighted = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (weighted > 9 ? weighted - 9 : weighted)
  }, 0)
  return (10 - (sum % 10)) % 10
}
