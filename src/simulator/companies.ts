import { randomFrom, spread } from './random.js'

export interface Company {
  readonly symbol: string
  readonly name: string
}

/** Creates `count` companies (at most `companyCount`) with distinct symbols, awkward symbols first. A longer list starts like a shorter one. */
export const companiesOf = (seed: number, count: number): readonly Company[] => {
  const companies = awkward.slice(0, count).map(([symbol, name]) => ({ symbol, name }))
  const taken = new Set(awkward.map(([symbol]) => symbol))
  const order = spread(combinations, randomFrom(seed, 'companies').int(0, combinations - 1))
  for (let index = 0; companies.length < count; index++) {
    const words = wordsAt(order(index))
    const symbol = freeSymbol(words, taken)
    taken.add(symbol)
    companies.push({ symbol, name: words.join(' ') })
  }
  return companies
}

const freeSymbol = ([family, trade, form]: Words, taken: ReadonlySet<string>) => {
  const stem = `${family.slice(0, 6)}${trade.slice(0, 4)}`.toUpperCase()
  const longer = `${family.slice(0, 5)}${trade.slice(0, 3)}${form.slice(0, 2)}`.toUpperCase()
  let symbol = taken.has(stem) ? longer : stem
  for (let number = 2; taken.has(symbol); number++) symbol = `${longer}${number}`
  return symbol
}

// Symbols that have broken naive code: characters with a meaning in URLs, file names or CSV, and leading digits.
const awkward: readonly (readonly [symbol: string, name: string])[] = [
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

const families =
  'Aarohan Abhinav Adarsh Akshaya Amrit Anand Ankur Apex Arihant Ashoka Avanti Balaji Bharat Bhaskar Brahma Chandra Coromandel Deccan Devika Dhanuka Divya Eastern Ekta Everest Ganga Garuda Girnar Godavari Gokul Gujarat Himalaya Hindustan Indus Jagat Janaki Jaya Jindal Kalyani Kamal Kaveri Kerala Kiran Konark Krishna Lakshmi Madhav Mahavir Malabar Manas Maratha Meghna Mithila Mysore Nalanda Nandi Narmada Navin Nilgiri Omkar Orissa Padma Pallava Prakash Punjab Rajdhani Ratna Royal Sagar Sahyadri Sankalp Saraswati Shakti Shiva Sonata Surya Swastik Tamil Triveni Udaipur Ujjwal Vaibhav Vardhman Vijay Vindhya'.split(
    ' ',
  )
const trades =
  'Agro Alloys Apparel Auto Bearings Biotech Breweries Cables Capital Castings Cements Ceramics Chemicals Coatings Cold Cotton Dairy Diagnostics Distilleries Electricals Energy Explosives Fasteners Fertilisers Finance Foods Forgings Gases Glass Granites Healthcare Hotels Housing Infra Jewels Laminates Leather Logistics Metals Minerals Motors Organics Packaging Paints Papers Petro Pharma Pipes Plastics Polymers Power Realty Rubber Securities Shipping Silks Software Spinning Steels Sugars Telecom Textiles Tools Tyres Wires'.split(
    ' ',
  )
const forms = 'Industries Enterprises Corporation Holdings India International Limited Products Works Ventures'.split(' ')

type Words = readonly [family: string, trade: string, form: string]

const combinations = families.length * trades.length * forms.length
export const companyCount = 50_000

const wordsAt = (number: number): Words => {
  const family = families[number % families.length] ?? ''
  const trade = trades[Math.floor(number / families.length) % trades.length] ?? ''
  const form = forms[Math.floor(number / (families.length * trades.length))] ?? ''
  return [family, trade, form]
}
