import { formatError, StorageError } from '../model/errors.js'
import { getErrorCode } from '../storage/file-error.js'
import { BARRIERS, type Barriers, createBarriers } from './barriers.js'
import { clearQueues, closeDriver, type Driver } from './driver-connections.js'
import { acquireDriverLease, type DriverLease } from './driver-lease.js'
import { listReadableOutputs, shareFiles } from './earlier-outputs.js'
import { writeRunFile } from './run-file.js'

/** What a driver needs to hand out the items of its run. */
export interface PreparedRun {
  readonly lease: DriverLease
  readonly barriers: Barriers
}

/**
 * Acquires the fleet for a run, and shares with the workers what they need. Closes the driver if that fails. `fail` is called if the lease
 * is lost later.
 * @throws StorageError if another run uses the fleet, or the shared folder cannot be used
 */
export const prepareRun = async (driver: Driver, fail: (error: unknown) => void): Promise<PreparedRun> => {
  try {
    const lease = await acquireFleet(driver, fail)
    await shareRun(driver)
    const barriers = openBarriers(driver)
    driver.isRunning = true
    return { lease, barriers }
  } catch (error) {
    await closeDriver(driver)
    throw getErrorCode(error) === undefined
      ? error
      : new StorageError(`cannot use the shared folder ${driver.options.blobs}: ${formatError(error)}`, { cause: error })
  }
}

/** Acquires the lease of the fleet, and removes what an earlier driver has left. */
const acquireFleet = async (driver: Driver, fail: (error: unknown) => void): Promise<DriverLease> => {
  const { options, run, plan, redis, queues, blobs } = driver
  const { record } = run.session
  const lease = await acquireDriverLease(redis, { prefix: queues.prefix, run: record.run, shown: options.address.shown }, fail)
  driver.lease = lease
  if (lease.previousRun !== undefined && lease.previousRun !== record.run) {
    // Also the queues of streams that are not in this run: workers would fail on items of a removed run.
    await clearQueues(
      queues,
      plan.map(({ stream }) => stream.name),
    )
    await blobs.removeRun(lease.previousRun)
  }
  // Only after the removal: a driver that was interrupted in between would take the old data for its own.
  await lease.startRun()
  // Barriers of an interrupted driver would wait for that driver.
  await clearQueues(queues, [BARRIERS])
  return lease
}

/** Shares the earlier outputs and the facts of the run with the workers. */
const shareRun = async ({ run, plan, blobs }: Driver): Promise<void> => {
  const { settings, accept } = run
  const { record } = run.session
  await shareFiles(settings.out, listReadableOutputs(plan, settings.exchange), blobs.toFolder(record.run))
  await writeRunFile({ run: record.run, asOf: record.asOf, accept: [...accept], settings }, blobs)
}

const openBarriers = (driver: Driver): Barriers => {
  const { options, run, names, queues, packages } = driver
  // Opens the connections of the queue events early.
  for (const stream of names) queues.events(stream)
  const barriers = createBarriers(queues, run.session.record.run, packages, options.address.shown)
  driver.barriers = barriers
  return barriers
}
