import { createPermutation, createRandom } from './random.js'

export interface Company {
  readonly symbol: string
  readonly name: string
}

/** Creates `count` companies (at most `companyCount`) with distinct symbols, awkward symbols first. A longer list starts like a shorter one. */
export const createCompanies = (seed: number, count: number): readonly Company[] => {
  const companies = awkwardCompanies.slice(0, count).map(([symbol, name]) => ({ symbol, name }))
  const usedSymbols = new Set(awkwardCompanies.map(([symbol]) => symbol))
  const order = createPermutation(combinations, createRandom(seed, 'companies').int(0, combinations - 1))
  for (let index = 0; companies.length < count; index++) {
    const words = pickWords(order(index))
    const symbol = createUniqueSymbol(words, usedSymbols)
    usedSymbols.add(symbol)
    companies.push({ symbol, name: words.join(' ') })
  }
  return companies
}

const createUniqueSymbol = ([family, trade, form]: Words, usedSymbols: ReadonlySet<string>) => {
  const stem = `${family.slice(0, 6)}${trade.slice(0, 4)}`.toUpperCase()
  const longer = `${family.slice(0, 5)}${trade.slice(0, 3)}${form.slice(0, 2)}`.toUpperCase()
  let symbol = usedSymbols.has(stem) ? longer : stem
  for (let number = 2; usedSymbols.has(symbol); number++) symbol = `${longer}${number}`
  return symbol
}

// Symbols that have broken naive code: characters with a meaning in URLs, file names or CSV, and leading digits.
const awkwardCompanies: readonly (readonly [symbol: string, name: string])[] = [
  ['M&M', 'Mahindra & Mahindra'],
  ['BAJAJ-AUTO', 'Bajaj Auto'],
  ['360ONE', '360 One WAM'],
  ['M&MFIN', 'Mahindra & Mahindra Financial Services'],
  ['J&KBANK', 'Jammu & Kashmir Bank'],
  ['20MICRONS', '20 Microns'],
  ['NAM-INDIA', 'Nippon Life India AMC'],
  ['ARE&M', 'Amara Raja Energy & Mobility'],
  ['GVT&D', 'GE Vernova T&D'],
  ['3MINDIA', '3M India'],
  ['63MOONS', '63 Moons Technologies'],
]

const familyNames =
  'Aarohan Abhinav Adarsh Akshaya Amrit Anand Ankur Apex Arihant Ashoka Avanti Balaji Bharat Bhaskar Brahma Chandra Coromandel Deccan Devika Dhanuka Divya Eastern Ekta Everest Ganga Garuda Girnar Godavari Gokul Gujarat Himalaya Hindustan Indus Jagat Janaki Jaya Jindal Kalyani Kamal Kaveri Kerala Kiran Konark Krishna Lakshmi Madhav Mahavir Malabar Manas Maratha Meghna Mithila Mysore Nalanda Nandi Narmada Navin Nilgiri Omkar Orissa Padma Pallava Prakash Punjab Rajdhani Ratna Royal Sagar Sahyadri Sankalp Saraswati Shakti Shiva Sonata Surya Swastik Tamil Triveni Udaipur Ujjwal Vaibhav Vardhman Vijay Vindhya'.split(
    ' ',
  )
const tradeNames =
  'Agro Alloys Apparel Auto Bearings Biotech Breweries Cables Capital Castings Cements Ceramics Chemicals Coatings Cold Cotton Dairy Diagnostics Distilleries Electricals Energy Explosives Fasteners Fertilisers Finance Foods Forgings Gases Glass Granites Healthcare Hotels Housing Infra Jewels Laminates Leather Logistics Metals Minerals Motors Organics Packaging Paints Papers Petro Pharma Pipes Plastics Polymers Power Realty Rubber Securities Shipping Silks Software Spinning Steels Sugars Telecom Textiles Tools Tyres Wires'.split(
    ' ',
  )
const companyForms = 'Industries Enterprises Corporation Holdings India International Limited Products Works Ventures'.split(' ')

type Words = readonly [family: string, trade: string, form: string]

const combinations = familyNames.length * tradeNames.length * companyForms.length
export const MAX_COMPANIES = 50_000

const pickWords = (number: number): Words => {
  const family = familyNames[number % familyNames.length] ?? ''
  const trade = tradeNames[Math.floor(number / familyNames.length) % tradeNames.length] ?? ''
  const form = companyForms[Math.floor(number / (familyNames.length * tradeNames.length))] ?? ''
  return [family, trade, form]
}
