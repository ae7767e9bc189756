import { createTimeline } from '../../../src/simulator/market.js'

/** The time of the first daily run. */
export const FIRST_RUN_AT = '2026-02-12T20:00:00+05:30'
/** The time of the daily run on the next trading day. */
export const NEXT_RUN_AT = '2026-02-13T20:00:00+05:30'

export const SEED = 1

/** A market with a number of stocks, at any instant (epoch milliseconds). */
export const createBenchTimeline = (stocks: number) =>
  createTimeline({ seed: SEED, stocks, exchange: 'NSE', asOf: Date.parse(FIRST_RUN_AT), candleDays: 2_700 })
