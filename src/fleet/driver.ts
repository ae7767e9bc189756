import { from, interval, merge, mergeMap, Observable, pipe, tap, toArray } from 'rxjs'
import type { Engine, Executor, Stage } from '../engine/run.js'
import { formatError, StorageError } from '../model/errors.js'
import { getErrorCode } from '../storage/file-system.js'
import {
  acquireDriverLease,
  closeDriver,
  connectDriver,
  type Driver,
  type DriverLease,
  type DriverOptions,
} from './driver-connections.js'
import { ignoreError } from './ignore-error.js'
import { type FleetOptions, readFleetAddress } from './options.js'
import { createBarriers, processOnFleet, type StageDependencies } from './process-stage.js'
import { BARRIERS, clearQueues } from './queues.js'
import { connectToRedis, loadPackages } from './redis.js'
import { listReadableOutputs, shareFiles, writeRunFile } from './shared-run.js'

/**
 * Checks that a fleet is available: rejects with the same errors as `fleet`, and starts nothing.
 *
 * @throws UsageError for an invalid address, or without the packages
 * @throws StorageError if the server or the shared folder cannot be used
 * @example await reachFleet({ address: 'redis://10.0.0.5', blobs: '/mnt/market-blobs', version: '1.0.0' })
 */
export const reachFleet = async (options: FleetOptions): Promise<void> => {
  const redis = await connectToRedis(readFleetAddress(options.address), loadPackages(), options)
  redis.disconnect()
}

/**
 * Distributes the items of a run to the workers of a fleet (`fleetWorker`), through queues on Redis. Outputs
 * are written to the folder in the settings, as without a fleet. An interrupted run resumes when it is
 * started again. The run errors with a `StorageError` if the server cannot be used.
 *
 * @example
 * createCollector({ engine: fleet({ address: 'redis://10.0.0.5', blobs: '/mnt/market-blobs', version: '1.0.0' }), settings })
 * @throws UsageError for an invalid address
 */
export const fleet = (options: FleetOptions): Engine => {
  const address = readFleetAddress(options.address)
  return {
    begin: (run) =>
      new Observable((subscriber) => {
        const opened = openDriver({ ...options, address }, run, (error) => subscriber.error(error))
        opened.then(
          ({ executor }) => subscriber.next(executor),
          (error: unknown) => subscriber.error(error),
        )
        // If opening failed, the error was reported above and everything is closed. After a failed close, the
        // lease expires by itself.
        return () => void opened.then(({ close }) => close()).catch(ignoreError('close the driver'))
      }),
  }
}

/**
 * Acquires the fleet for a run, and shares with the workers what they need. Closes the driver if that fails.
 * `fail` is called if the lease is lost later.
 * @throws StorageError if another run uses the fleet, or the shared folder cannot be used
 */
const openDriver = async (
  options: DriverOptions,
  run: Driver['run'],
  fail: (error: unknown) => void,
): Promise<{ readonly executor: Executor; readonly close: () => Promise<void> }> => {
  const driver = await connectDriver(options, run)
  try {
    const lease = await acquireFleet(driver, fail)
    await shareRun(driver)
    // Opens the connections of the queue events early.
    for (const stream of driver.names) driver.queues.events(stream)
    const barriers = createBarriers(
      driver.queues,
      run.session.record.run,
      driver.packages,
      options.address.shown,
    )
    driver.barriers = barriers
    driver.isRunning = true
    const emitWorkers = await watchWorkers(driver)
    const executor: Executor = {
      work: (stage) => handOutStage(stage, { ...driver, barriers }, emitWorkers),
      finish: () => from(finishOnFleet(driver, lease)),
    }
    return { executor, close: () => closeDriver(driver) }
  } catch (error) {
    await closeDriver(driver)
    throw getErrorCode(error) === undefined
      ? error
      : new StorageError(`cannot use the shared folder ${driver.options.blobs}: ${formatError(error)}`, {
          cause: error,
        })
  }
}

const acquireFleet = async (driver: Driver, fail: (error: unknown) => void): Promise<DriverLease> => {
  const { options, run, redis, queues, blobs } = driver
  const { record } = run.session
  const lease = await acquireDriverLease(
    redis,
    { prefix: queues.prefix, run: record.run, shown: options.address.shown },
    fail,
  )
  driver.lease = lease
  if (lease.previousRun !== undefined && lease.previousRun !== record.run) {
    // Also the queues of streams that are not in this run: workers would fail on items of a removed run.
    await clearQueues(
      queues,
      run.plan.map(({ stream }) => stream.name),
    )
    await blobs.removeRun(lease.previousRun)
  }
  // Only after the removal: a driver that was interrupted in between would take the old data for its own.
  await lease.startRun()
  // Barriers of an interrupted driver would wait for that driver.
  await clearQueues(queues, [BARRIERS])
  return lease
}

const shareRun = async ({ run: { plan, settings, accept, session }, blobs }: Driver): Promise<void> => {
  const { record } = session
  await shareFiles(settings.out, listReadableOutputs(plan, settings.exchange), blobs.toFolder(record.run))
  await writeRunFile({ run: record.run, asOf: record.asOf, accept: [...accept], settings }, blobs)
}

const WORKER_COUNT_MS = 1_000

/**
 * Lists the connected workers now and once a second until the run ends, publishes their number, and emits
 * what they have done. The returned function emits that at once.
 */
const watchWorkers = async ({
  run,
  names,
  redis,
  queues,
  readRefusal,
  workerStats,
  watching,
}: Driver): Promise<() => void> => {
  let connected: readonly string[] | undefined
  let others: readonly string[] = []
  const emitWorkers = () => {
    const fleet = workerStats.read(connected, readRefusal())
    run.emit({
      type: 'fleet',
      at: run.clock(),
      fleet: others.length === 0 ? fleet : { ...fleet, others: { build: queues.build, workers: others } },
    })
  }
  const countWorkers = async () => {
    const [first = ''] = names
    connected = undefined
    if (redis.status === 'ready') {
      const { workers, otherWorkers } = await queues.listMembers(first)
      ;[connected, others] = [workers, otherWorkers]
      // It waits while Redis refuses it, and is sent again next time.
      if (readRefusal() === undefined)
        void queues.publishWorkerCount(workers.length).catch(ignoreError('publish the workers'))
    }
    emitWorkers()
  }
  // The list is only displayed, and the next interval reads it again.
  const tryToCountWorkers = (): Promise<void> => countWorkers().catch(ignoreError('count the workers'))
  await tryToCountWorkers()
  watching.add(interval(WORKER_COUNT_MS).subscribe(() => void tryToCountWorkers()))
  return emitWorkers
}

/** Hands the items of a stage to the workers, except those with a stored outcome. */
const handOutStage = (
  stage: Stage,
  dependencies: StageDependencies,
  onEnd: () => void,
): ReturnType<Executor['work']> =>
  pipe(
    // The barrier needs the complete list.
    toArray(),
    mergeMap((items) => {
      const earlier = items.map((item) => stage.findStored(item))
      const remaining = items.filter((_, index) => earlier[index] === undefined)
      return merge(
        from(earlier.filter((outcome) => outcome !== undefined)),
        processOnFleet(stage, remaining, dependencies).pipe(tap({ complete: onEnd })),
      )
    }),
  )

/** Removes the data of a finished run, so that the fleet is free for the next one. */
const finishOnFleet = async (driver: Driver, lease: DriverLease): Promise<void> => {
  const { run, names, queues, blobs, watching } = driver
  watching.unsubscribe()
  await Promise.all([clearQueues(queues, [...names, BARRIERS]), blobs.removeRun(run.session.record.run)])
  await queues.clearWorkerCount()
  driver.isRunning = false
  await lease.finishRun()
  // Released here, not on unsubscribe: a program may start its next run at once.
  await lease.release()
}
