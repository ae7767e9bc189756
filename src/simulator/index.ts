/**
 * The provider, simulated on loopback, with faults, latency and rate limits.
 *
 * @module scripstream/simulator
 * @public
 */
export type { CandleColumns, Random, SampleIndex, SampleMarket, SampleSplit, SampleStock } from '../model/market.js'
export { type Control, Fault, type Latency, type Limits } from './conditions.js'
export { createMarket, type MarketOptions } from './market.js'
export type { EndpointStats, SimulatorStats } from './request-log.js'
export { type Simulator, type SimulatorOptions, serveSimulator } from './server.js'
