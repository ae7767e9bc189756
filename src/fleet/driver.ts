import { Observable } from 'rxjs'
import type { Engine, Executor } from '../pipeline/engine.js'
import type { PlannedStream } from '../pipeline/plan.js'
import type { RunServices } from '../pipeline/run.js'
import { readFleetAddress } from './address.js'
import { closeDriver, connectDriver, type DriverOptions } from './driver-connections.js'
import { createFleetExecutor } from './fleet-executor.js'
import type { FleetOptions } from './options.js'
import { loadPackages } from './packages.js'
import { prepareRun } from './prepare-run.js'
import { connectToRedis } from './redis.js'
import { watchWorkers } from './watch-workers.js'

/** Checks that a fleet is available: rejects with the same errors as `fleet`, and starts nothing. */
export const reachFleet = async ({ address, allowVolatile = false }: FleetOptions): Promise<void> => {
  const redis = await connectToRedis(readFleetAddress(address), await loadPackages(), { allowVolatile })
  redis.disconnect()
}

/**
 * Distributes the items of a run to the workers of a fleet (`fleetWorker`), through queues on Redis. Outputs are written to the folder in
 * the settings, as without a fleet. An interrupted run resumes when it is started again. The run errors with a `StorageError` if the server
 * cannot be used.
 *
 * @example
 * createCollector({ engine: fleet({ address: 'redis://10.0.0.5', blobs: '/mnt/market-blobs', version: '1.0.0' }), settings })
 * @throws UsageError for an invalid address
 */
export const fleet = (options: FleetOptions): Engine => {
  const address = readFleetAddress(options.address)
  return {
    begin: (run, plan) =>
      new Observable((subscriber) => {
        const opened = openDriver({ ...options, address }, run, plan, (error) => subscriber.error(error))
        opened.then(
          ({ executor }) => subscriber.next(executor),
          (error: unknown) => subscriber.error(error),
        )
        // If opening failed, the error was reported above, and everything is closed.
        return () => void opened.then(({ close }) => close()).catch(() => undefined)
      }),
  }
}

interface OpenDriver {
  readonly executor: Executor
  readonly close: () => Promise<void>
}

const openDriver = async (
  options: DriverOptions,
  run: RunServices,
  plan: readonly PlannedStream[],
  fail: (error: unknown) => void,
): Promise<OpenDriver> => {
  const driver = await connectDriver(options, run, plan)
  const prepared = await prepareRun(driver, fail)
  const emitWorkers = await watchWorkers(driver)
  return { executor: createFleetExecutor(driver, prepared, emitWorkers), close: () => closeDriver(driver) }
}
