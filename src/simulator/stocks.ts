import type { SampleSplit, SampleStock } from '../model/market.js'
import { addDays, type Day } from '../model/trading-day.js'
import { companiesOf, companyCount } from './companies.js'
import { isinCount, isinOf } from './isin.js'
import { randomFrom, spread } from './random.js'

const lowestSid = 1_001
const sidCount = 100_000
/** Stocks with this market capitalisation (crore rupees) or more have derivatives: about the two hundred largest. */
const derivativesFrom = 17_000

/** The listed stocks, largest first. `listedOn` returns the listing date of a rank. */
export const stocksOf = (seed: number, count: number, listedOn: (rank: number) => Day): readonly SampleStock[] => {
  if (!Number.isInteger(count) || count < 0 || count > companyCount) throw new RangeError(`stocks: 0 to ${companyCount}, not ${count}`)
  const random = randomFrom(seed, 'stocks')
  const isinAt = spread(isinCount, random.int(0, isinCount - 1))
  const sidAt = spread(sidCount, random.int(0, sidCount - 1))
  return companiesOf(seed, count).map((company, rank) => {
    const figures = randomFrom(seed, 'stock', rank)
    // The gap between ranks is larger than the jitter, so the order is preserved.
    const Mcap = Math.round((2e6 / (rank + 1 + figures.next() / 2) ** 0.9) * 1e4) / 1e4
    return {
      Symbol: company.symbol,
      ISIN: isinOf(isinAt(rank)),
      Name: company.name,
      Sid: String(lowestSid + sidAt(rank)),
      FnoFlag: Mcap >= derivativesFrom ? 1 : 0,
      Mcap,
      Ltp: Math.round(1_000 * 400 ** figures.next()) / 100,
      listedOn: listedOn(rank),
      ...splitAt(seed, rank),
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
const splitAt = (seed: number, rank: number): { readonly split?: SampleSplit } => {
  const random = randomFrom(seed, 'split', rank)
  if (rank !== 4 && !random.chance(0.02)) return {}
  return {
    split: { ...random.pick<Omit<SampleSplit, 'on'>>(splitKinds), on: rank === 4 ? firstSplit : addDays(firstSplit, random.int(1, 600)) },
  }
}
