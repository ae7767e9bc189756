/**
 * The provider, simulated on loopback, with faults, latency and rate limits. With the option `events`, a
 * market has many sessions with known events: splits and bonuses that the provider adjusts at once, late or
 * never, renames, changes of ISIN, listings, delistings, restated quarters, late and backdated filings,
 * entries to and exits from surveillance, rewritten candles, frozen candles, holidays and sessions on
 * weekends. The method `plan` returns them.
 *
 * @module scripstream/simulator
 * @public
 */
export type { PlantedEvent, SampleMarket, SampleStock } from '../model/market.js'
export { Fault } from './conditions.js'
export { createMarket } from './market.js'
export type { SimulatorStats } from './request-log.js'
export { type Simulator, type SimulatorOptions, serveSimulator } from './server.js'
