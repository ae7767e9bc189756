import type { SampleSplit, SampleStock } from '../model/market.js'
import { addDays, type Day } from '../model/trading-day.js'
import { createCompanies, MAX_COMPANIES } from './companies.js'
import { createIsin, ISIN_COUNT } from './isin.js'
import { createPermutation, createRandom } from './random.js'

const MIN_SID = 1_001
const STOCK_SID_COUNT = 100_000
/** Stocks with this market capitalisation (crore rupees) or more have derivatives: about the two hundred largest. */
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
