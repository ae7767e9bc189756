import { hostname } from 'node:os'
import type { Worker } from 'bullmq'
import {
  exhaustMap,
  filter,
  firstValueFrom,
  interval,
  merge,
  NEVER,
  Observable,
  Subject,
  scan,
  startWith,
} from 'rxjs'
import type { StreamDefinition } from '../engine/define-stream.js'
import { UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { createBlobStore, type ItemJobData, type WorkerOutcome } from './blobs.js'
import { ignoreError } from './ignore-error.js'
import { type FleetOptions, readFleetAddress } from './options.js'
import { createJobProcessor, createRunOpener, type ItemJob, type JobContext } from './process-job.js'
import { createQueues, createStallDetector, MAX_STALL_MS } from './queues.js'
import { connectToRedis, loadPackages } from './redis.js'
import { createSharedBackoffs } from './shared-backoffs.js'
import { createWorkerRuns } from './worker-run.js'

/** What a worker needs to join a fleet. */
export interface WorkerOptions extends FleetOptions {
  /** The streams of the driver: items of a stream that no worker has are never processed. */
  readonly streams: readonly StreamDefinition[]
  /** The headers that this machine sends with its requests. */
  readonly headers: Settings['headers']
  /** The settings of hosts on this machine, of which it sends the headers. */
  readonly hosts?: Settings['hosts'] | undefined
  /** The name in the report, unique in the fleet. */
  readonly name: string
  /** Maximum number of active items per stream; if absent, an equal share of the limit of the whole fleet. */
  readonly concurrency?: number | undefined
  /** When it emits, the worker takes no more items, finishes its active ones, and completes. */
  readonly stop?: Observable<unknown> | undefined
}

/**
 * What a worker reports: that it is connected, the runs that it works for, and the items that it finishes.
 */
export type WorkerNews =
  | { readonly type: 'joined'; readonly name: string; readonly shown: string }
  | { readonly type: 'run'; readonly run: string }
  | { readonly type: 'item-finished'; readonly stream: string }

/** A unique name: host and process id. */
export const workerName = (): string => `${hostname()}-${process.pid}`

/**
 * By then Redis has the outcome of the last item. If Redis is down, another worker processes the item again.
 */
const REPORT_MS = 3_000

/**
 * Processes the items of one run after another, until `stop` emits or it is unsubscribed; in both cases
 * active items are finished. Errors with a `UsageError` or a `StorageError` if it cannot work; its items are
 * then given to other workers.
 *
 * @example fleetWorker({ address: 'redis://10.0.0.5', blobs: '/mnt/market-blobs', version: '1.0.0', streams, headers: {}, name: workerName() }).subscribe()
 */
export const fleetWorker = (options: WorkerOptions): Observable<WorkerNews> =>
  new Observable((subscriber) => {
    let hasFailed = false
    const fail = (error: unknown) => {
      hasFailed = true
      subscriber.error(error)
    }
    const opened = openWorker(options, (news) => subscriber.next(news), fail)
    opened.catch(fail)
    subscriber.add(
      (options.stop ?? NEVER).subscribe(() => {
        opened.then((end) => end(false)).then(() => subscriber.complete(), fail)
      }),
    )
    // If opening failed, the error was reported above. The items of a worker that fails to close are given to
    // other workers.
    return () => void opened.then((end) => end(hasFailed)).catch(ignoreError('close the worker'))
  })

/** A worker that is connected to its fleet. */
interface ConnectedWorker extends JobContext {
  readonly lost$: Subject<readonly string[]>
  activeJobs: number
  readonly disconnect: () => Promise<void>
}

const openWorker = async (
  options: WorkerOptions,
  report: (news: WorkerNews) => void,
  fail: (error: unknown) => void,
) => {
  const { streams, name, concurrency = Number.POSITIVE_INFINITY } = options
  if (!/^[!-~]{1,100}$/.test(name))
    throw new UsageError(
      `invalid worker name ${JSON.stringify(name)}; use 1 to 100 printable ASCII characters without spaces`,
    )
  let hasJoined = false
  /** The first item may arrive before the first rebalance has ended. */
  const reportAfterJoined = (news?: WorkerNews) => {
    if (!hasJoined) report({ type: 'joined', name, shown: readFleetAddress(options.address).shown })
    hasJoined = true
    if (news !== undefined) report(news)
  }
  const connected = await connectWorker(options, reportAfterJoined, fail)
  const workers = new Map(streams.map((stream) => [stream, openStreamWorker(stream, connected, concurrency)]))
  const rebalancing = rebalanceConcurrency(workers, connected, concurrency).subscribe({
    next: () => reportAfterJoined(),
    error: fail,
  })
  return async (isHurried: boolean) => {
    rebalancing.unsubscribe()
    // `close` would wait forever while Redis is down.
    await firstValueFrom(
      merge(
        connected.queues.close(isHurried),
        emitWhenStable(() => connected.activeJobs === 0),
      ),
    )
    await connected.disconnect()
  }
}

const connectWorker = async (
  options: WorkerOptions,
  report: (news: WorkerNews) => void,
  fail: (error: unknown) => void,
): Promise<ConnectedWorker> => {
  const { streams, headers, hosts = {}, name, version } = options
  const address = readFleetAddress(options.address)
  const packages = loadPackages()
  const redis = await connectToRedis(address, packages, options)
  const queues = createQueues(redis, address, version, packages)
  const blobs = createBlobStore(options.blobs)
  const runs = createWorkerRuns({ blobs, streams, own: { headers, hosts } })
  const backoffs = createSharedBackoffs(redis, queues.prefix)
  const stalled$ = new Subject<void>()
  const stallDetector = createStallDetector(
    MAX_STALL_MS,
    () => redis.status === 'ready',
    () => stalled$.next(),
  )
  return {
    name,
    streams,
    packages,
    queues,
    blobs,
    backoffs,
    stallDetector,
    stalled$,
    lost$: new Subject(),
    activeJobs: 0,
    openRun: createRunOpener({ runs, streams, backoffs, onRun: (run) => report({ type: 'run', run }), fail }),
    onFinished: (stream) => report({ type: 'item-finished', stream }),
    disconnect: async () => {
      stallDetector.stop()
      backoffs.close()
      await runs.close()
      redis.disconnect()
    },
  }
}

const openStreamWorker = (
  stream: StreamDefinition,
  connected: ConnectedWorker,
  concurrency: number,
): Worker<ItemJobData, WorkerOutcome, string> => {
  const processJob = createJobProcessor(stream, connected)
  const countAndProcess = (job: ItemJob) => {
    connected.activeJobs += 1
    return processJob(job).finally(() => (connected.activeJobs -= 1))
  }
  const worker = connected.queues.worker<ItemJobData, WorkerOutcome>(stream.name, countAndProcess, {
    name: connected.name,
    concurrency: Math.min(concurrency, stream.workers),
  })
  worker.on('lockRenewalFailed', (ids) => connected.lost$.next(ids))
  return worker
}

/** Emits when a condition has been true for as long as Redis needs to receive the outcome of an item. */
const emitWhenStable = (condition: () => boolean): Observable<unknown> =>
  interval(REPORT_MS / 10).pipe(
    scan((times) => (condition() ? times + 1 : 0), 0),
    filter((times) => times > 10),
  )

const REBALANCE_MS = 1_000

type Workers = ReadonlyMap<StreamDefinition, Worker<ItemJobData, WorkerOutcome, string>>

/**
 * Divides the concurrency of each stream evenly among all connected workers, once a second, so that a worker
 * that joins late gets an equal share. No stream gets more than `max` on this worker. Errors if a driver of
 * another build is there, and none of this one.
 */
const rebalanceConcurrency = (
  workers: Workers,
  connected: ConnectedWorker,
  max: number,
): Observable<unknown> =>
  interval(REBALANCE_MS).pipe(
    startWith(0),
    exhaustMap(() =>
      rebalance(workers, connected, max).catch((error: unknown) => {
        if (error instanceof UsageError) throw error
        // The concurrency stays as it is until the next interval.
        ignoreError('rebalance the concurrency')(error)
      }),
    ),
  )

const rebalance = async (workers: Workers, connected: ConnectedWorker, max: number): Promise<void> => {
  const { queues } = connected
  const [first] = workers.keys()
  if (first === undefined) return
  const count = Math.max(
    1,
    (await queues.readWorkerCount()) ?? (await countWithoutDriver(connected, first.name)),
  )
  for (const [stream, worker] of workers) {
    const cap = (await queues.queue(stream.name).getGlobalConcurrency()) ?? stream.workers
    worker.concurrency = Math.max(1, Math.min(max, Math.ceil(cap / count)))
  }
}

/** @throws UsageError if the driver is of another build */
const countWithoutDriver = async ({ queues, name }: ConnectedWorker, stream: string): Promise<number> => {
  const { workers, otherDriver } = await queues.listMembers(stream)
  if (otherDriver === undefined) return workers.length
  await queues.reportOther(otherDriver, name).catch(ignoreError('report this worker'))
  throw new UsageError(
    `this worker is of another build than the driver: the driver is ${otherDriver}, this worker is ${queues.build}; install the same on both`,
  )
}
