import { createTimeline } from '../../../src/simulator/market.js'

/** The evening that the benchmarks collect. */
export const EVENING = '2026-02-12T20:00:00+05:30'
/** The evening of the next day on which the market trades. */
export const NEXT_EVENING = '2026-02-13T20:00:00+05:30'

export const SEED = 1

/** The market of so many stocks, at any instant (epoch milliseconds). */
export const marketOf = (stocks: number) =>
  createTimeline({ seed: SEED, stocks, exchange: 'NSE', asOf: Date.parse(EVENING), candleDays: 2_700 })
