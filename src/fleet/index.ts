/**
 * Runs on several machines: `fleet` is the engine of a collector, `fleetWorker` works for it. Needs `bullmq`
 * and `ioredis`.
 *
 * @module scripstream/fleet
 * @beta
 */
export type { FleetState } from '../model/report.js'
export { fleet } from './driver.js'
export type { FleetOptions } from './options.js'
export { fleetWorker, type WorkerNews, type WorkerOptions, workerName } from './worker.js'
