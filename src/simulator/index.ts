/**
 * The provider, simulated on loopback, with faults, latency and rate limits.
 *
 * @module scripstream/simulator
 */
export type { Control, Latency } from './conditions.js'
export { Fault } from './faults.js'
export { Limits } from './limits.js'
export { createMarket, type MarketOptions } from './market.js'
export type { EndpointStats, SimulatorStats } from './request-log.js'
export { type Simulator, type SimulatorOptions, serveSimulator } from './server.js'
