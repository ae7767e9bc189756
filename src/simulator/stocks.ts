import type { SampleSplit, SampleStock } from '../model/market.js'
import { addDays, type Day } from '../model/trading-day.js'
import { createPermutation, createRandom } from './random.js'

const MIN_SID = 1_001
const STOCK_SID_COUNT = 100_000
/** The largest stocks have a band: lists of stocks at a limit begin with them. */
const LIMITED_STOCKS = 10
/** Stocks with this market capitalisation (₹ crore) or more have derivatives: about the two hundred largest. */
const MIN_DERIVATIVES_MCAP = 17_000

/** The listed stocks, largest first. `listedOn` returns the listing date of a rank. */
export const createStocks = (seed: number, count: number, listedOn: (rank: number) => Day): readonly SampleStock[] => {
  if (!Number.isInteger(count) || count < 0 || count > MAX_COMPANIES) throw new RangeError(`stocks: 0 to ${MAX_COMPANIES}, not ${count}`)
  const random = createRandom(seed, 'stocks')
  const isinAt = createPermutation(ISIN_COUNT, random.int(0, ISIN_COUNT - 1))
  const sidAt = createPermutation(STOCK_SID_COUNT, random.int(0, STOCK_SID_COUNT - 1))
  return createCompanies(seed, count).map((company, rank) => {
    const figures = createRandom(seed, 'stock', rank)
    // The gap between ranks is larger than the jitter, so the order is preserved.
    const Mcap = Math.round((2e6 / (rank + 1 + figures.next() / 2) ** 0.9) * 1e4) / 1e4
    return {
      Symbol: company.symbol,
      ISIN: createIsin(isinAt(rank)),
      Name: company.name,
      Sid: String(MIN_SID + sidAt(rank)),
      FnoFlag: Mcap >= MIN_DERIVATIVES_MCAP ? 1 : 0,
      Mcap,
      Ltp: Math.round(1_000 * 400 ** figures.next()) / 100,
      pe: figures.decimal(4, 90),
      sector: company.sector,
      // Not narrower than the largest daily move that the candles have.
      band: rank < LIMITED_STOCKS ? figures.pick([10, 20, 40]) : figures.pick([10, 20, 40, undefined]),
      listedOn: listedOn(rank),
      ...createSplit(seed, rank),
    }
  })
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
}

/** Creates `count` companies (at most `companyCount`) with distinct symbols, those of real companies first. A longer list starts like a shorter one. */
const createCompanies = (seed: number, count: number): readonly Company[] => {
  const companies: Company[] = realCompanies.slice(0, count).map(([symbol, name, sector]) => ({ symbol, name, sector }))
  const usedSymbols = new Set(realCompanies.map(([symbol]) => symbol))
  const order = createPermutation(combinations, createRandom(seed, 'companies').int(0, combinations - 1))
  for (let index = 0; companies.length < count; index++) {
    const words = pickWords(order(index))
    const symbol = createUniqueSymbol(words, usedSymbols)
    usedSymbols.add(symbol)
    companies.push({ symbol, name: words.join(' '), sector: sectorOf.get(words[1]) ?? '' })
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
  ['M&M', 'Mahindra & Mahindra', 'Automobile and Auto Components'],
  ['BAJAJ-AUTO', 'Bajaj Auto', 'Automobile and Auto Components'],
  ['360ONE', '360 One WAM', 'Financial Services'],
  ['M&MFIN', 'Mahindra & Mahindra Financial Services', 'Financial Services'],
  ['J&KBANK', 'Jammu & Kashmir Bank', 'Financial Services'],
  ['20MICRONS', '20 Microns', 'Metals & Mining'],
  ['NAM-INDIA', 'Nippon Life India AMC', 'Financial Services'],
  ['ARE&M', 'Amara Raja Energy & Mobility', 'Automobile and Auto Components'],
  ['GVT&D', 'GE Vernova T&D', 'Capital Goods'],
  ['3MINDIA', '3M India', 'Diversified'],
  ['63MOONS', '63 Moons Technologies', 'Information Technology'],
] as const

/** Symbols that people type when they try something out. Their data is as simulated as that of all others. */
const knownCompanies = [
  ['RELIANCE', 'Reliance Industries', 'Oil Gas & Consumable Fuels'],
  ['TCS', 'Tata Consultancy Services', 'Information Technology'],
  ['HDFCBANK', 'HDFC Bank', 'Financial Services'],
  ['INFY', 'Infosys', 'Information Technology'],
  ['ICICIBANK', 'ICICI Bank', 'Financial Services'],
  ['SBIN', 'State Bank of India', 'Financial Services'],
  ['BHARTIARTL', 'Bharti Airtel', 'Telecommunication'],
  ['ITC', 'ITC', 'Fast Moving Consumer Goods'],
  ['LT', 'Larsen & Toubro', 'Construction'],
  ['HINDUNILVR', 'Hindustan Unilever', 'Fast Moving Consumer Goods'],
  ['WIPRO', 'Wipro', 'Information Technology'],
  ['MARUTI', 'Maruti Suzuki India', 'Automobile and Auto Components'],
  ['SUNPHARMA', 'Sun Pharmaceutical Industries', 'Healthcare'],
  ['TATASTEEL', 'Tata Steel', 'Metals & Mining'],
  ['AXISBANK', 'Axis Bank', 'Financial Services'],
  ['KOTAKBANK', 'Kotak Mahindra Bank', 'Financial Services'],
  ['ADANIENT', 'Adani Enterprises', 'Metals & Mining'],
  ['ASIANPAINT', 'Asian Paints', 'Consumer Durables'],
  ['TITAN', 'Titan Company', 'Consumer Durables'],
  ['ZOMATO', 'Zomato', 'Consumer Services'],
] as const

const realCompanies: readonly (readonly [symbol: string, name: string, sector: string])[] = [...awkwardCompanies, ...knownCompanies]

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
