import type { SampleStock } from '../model/market.js'
import type { Day } from '../model/trading-day.js'
import { companiesOf, companyCount } from './companies.js'
import { isinCount, isinOf } from './isin.js'
import { randomFrom, spread } from './random.js'

const lowestSid = 1_001
const sidCount = 100_000
/** Market capitalisation, in crore rupees, from which a stock has derivatives: about the two hundred largest. */
const derivativesFrom = 17_000

/** The listed stocks, largest first. `listedOn` says when the stock at a rank was listed. */
export const stocksOf = (seed: number, count: number, listedOn: (rank: number) => Day): readonly SampleStock[] => {
  if (!Number.isInteger(count) || count < 0 || count > companyCount) throw new RangeError(`stocks: 0 to ${companyCount}, not ${count}`)
  const random = randomFrom(seed, 'stocks')
  const isinAt = spread(isinCount, random.int(0, isinCount - 1))
  const sidAt = spread(sidCount, random.int(0, sidCount - 1))
  return companiesOf(seed, count).map((company, rank) => {
    const figures = randomFrom(seed, 'stock', rank)
    // Ranks lie further apart than the jitter, so the order stays.
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
    }
  })
}
