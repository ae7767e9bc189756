import { createTimeline } from '../../../src/simulator/market.js'

/** The time of the first daily run. */
export const EVENING = '2026-02-12T20:00:00+05:30'
/** The time of the daily run on the next trading day. */
export const NEXT_EVENING = '2026-02-13T20:00:00+05:30'

export const SEED = 1

/** A market with a number of stocks, at any instant (epoch milliseconds). */
export const marketOf = (stocks: number) =>
  createTimeline({ seed: SEED, stocks, exchange: 'NSE', asOf: Date.parse(EVENING), candleDays: 2_700 })
