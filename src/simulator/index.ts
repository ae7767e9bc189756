/**
 * The provider, simulated on loopback, with faults, latency and rate limits.
 *
 * @module scripstream/simulator
 * @public
 */
export type {
  CandleColumns,
  MarketEvent,
  PlantedEvent,
  Random,
  SampleIndex,
  SampleMarket,
  SampleSplit,
  SampleStock,
  StockEvent,
} from '../model/market.js'
export { type Control, Fault, type Latency, type Limits } from './conditions.js'
export type { EventOptions } from './events.js'
export { createMarket, createTimeline, type MarketOptions, type Timeline } from './market.js'
export type { EndpointStats, SimulatorStats } from './request-log.js'
export { type Simulator, type SimulatorOptions, serveSimulator } from './server.js'
