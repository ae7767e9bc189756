import { hostname } from 'node:os'
import type { Job, Worker } from 'bullmq'
import { filter, firstValueFrom, interval, merge, mergeMap, NEVER, Observable, Subject, scan, throwError } from 'rxjs'
import { toHostAddress } from '../limiter/limiter-registry.js'
import { formatError, StorageError, UsageError } from '../model/errors.js'
import type { Host, Settings } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { readFleetAddress } from './address.js'
import { createBlobStore } from './blobs.js'
import { createUnreported, runItemJob } from './item-job.js'
import type { ItemJobData, WorkerOutcome } from './outcome.js'
import { loadPackages } from './packages.js'
import { createQueues, LOCK_MS } from './queues.js'
import { rebalanceConcurrency } from './rebalance-concurrency.js'
import { connectToRedis } from './redis.js'
import { createSharedBackoffs, type HostBackoff } from './shared-backoffs.js'
import { createStallDetector } from './stall-detector.js'
import { createWorkerRuns, type WorkerRun } from './worker-run.js'

/** What a worker needs to join a fleet; durations are in milliseconds. */
export interface WorkerOptions {
  /** `redis://host:6379`, with `?prefix=` if several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /** The streams of the driver: items of a stream that no worker has are never processed. */
  readonly streams: readonly StreamDefinition[]
  /** The headers that this machine sends with its requests. */
  readonly headers: Settings['headers']
  /** The name in the report, unique in the fleet. */
  readonly name: string
  /** Maximum number of active items per stream; if absent, an equal share of the limit of the whole fleet. */
  readonly concurrency?: number | undefined
  readonly version: string
  /** Accept a Redis server that does not persist its data. */
  readonly allowVolatile?: boolean
  /** When it emits, the worker takes no more items, finishes its active ones, and completes. */
  readonly stop?: Observable<unknown>
}

/** What a worker reports: the runs that it joins and leaves, and the items that it finishes. */
export type WorkerNews =
  | { readonly type: 'joined'; readonly name: string; readonly shown: string }
  | { readonly type: 'run'; readonly run: string }
  | { readonly type: 'settled'; readonly stream: string }

/** A unique name: host and process id. */
export const workerName = (): string => `${hostname()}-${process.pid}`

/** Longer than any stall of a healthy event loop, shorter than the lifetime of a job lock. */
const MAX_STALL_MS = LOCK_MS * 0.4
/** By then Redis has the outcome of the last item. If Redis is down, another worker processes the item again. */
const REPORT_MS = 3_000

/**
 * Processes the items of one run after another, until `stop` emits or it is unsubscribed; in both cases active items are finished. Errors
 * with a `UsageError` or a `StorageError` if it cannot work; its items are then given to other workers.
 */
export const fleetWorker = (options: WorkerOptions): Observable<WorkerNews> =>
  new Observable((subscriber) => {
    let hasFailed = false
    const fail = (error: unknown): void => {
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
    // If opening failed, the error was reported above.
    return () => void opened.then((end) => end(hasFailed)).catch(() => undefined)
  })

const openWorker = async (options: WorkerOptions, report: (news: WorkerNews) => void, fail: (error: unknown) => void) => {
  const { streams, headers, name, concurrency = Number.POSITIVE_INFINITY, allowVolatile = false } = options
  if (!/^[!-~]{1,100}$/.test(name))
    throw new UsageError(`invalid worker name ${JSON.stringify(name)}; use 1 to 100 printable ASCII characters without spaces`)
  const address = readFleetAddress(options.address)
  const packages = await loadPackages()
  const redis = await connectToRedis(address, packages, { allowVolatile })
  const queues = createQueues(redis, address, options.version, packages)
  const blobs = createBlobStore(options.blobs)
  const runs = createWorkerRuns({ blobs, streams, headers })
  const backoffs = createSharedBackoffs(redis, queues.prefix)
  const stalled$ = new Subject<void>()
  const lost$ = new Subject<readonly string[]>()
  const stallDetector = createStallDetector(
    MAX_STALL_MS,
    () => redis.status === 'ready',
    () => stalled$.next(),
  )
  let run = ''
  let active = 0
  let loadedBackoffs: readonly [WorkerRun, Promise<unknown>] | undefined

  const openRun = async (id: string, isQueued: () => Promise<boolean>): Promise<WorkerRun> => {
    const workerRun = await runs.open(id).catch(async (error: unknown) => {
      // A driver of another run removes the queues and the folder of the previous run.
      if (!(await isQueued())) throw new JobReassignedError('the run was removed')
      fail(error)
      throw error
    })
    if (run !== id) {
      run = id
      report({ type: 'run', run })
    }
    if (loadedBackoffs?.[0] !== workerRun) {
      const addresses = new Set(listHosts(streams).map((host) => toHostAddress(workerRun.settings, host)))
      const loading = Promise.all([...addresses].map(backoffs.load))
      loadedBackoffs = [workerRun, loading]
      // After an error, the next item reads the back-offs again.
      loading.catch(() => {
        if (loadedBackoffs?.[1] === loading) loadedBackoffs = undefined
      })
    }
    await loadedBackoffs[1]
    return workerRun
  }
  const pauseQueues =
    ({ settings }: WorkerRun) =>
    async ({ address: limited, ms }: HostBackoff): Promise<void> => {
      const affected = streams.filter((stream) => listHosts([stream]).some((host) => toHostAddress(settings, host) === limited))
      await Promise.all(affected.map((stream) => queues.queue(stream.name).rateLimit(Math.ceil(ms))))
    }
  const workerFor = (stream: StreamDefinition): Worker<ItemJobData, WorkerOutcome, string> => {
    let unreported = createUnreported()
    let unreportedRun = ''
    const processJob = async (job: Job<ItemJobData, WorkerOutcome, string>): Promise<WorkerOutcome> => {
      const workerRun = await openRun(
        job.data.run,
        async () => (await queues.queue(stream.name).getJob(job.id ?? ''))?.data.run === job.data.run,
      )
      if (unreportedRun !== workerRun.run) unreported = createUnreported()
      unreportedRun = workerRun.run
      // If this process was stalled after it got the job, another worker may have the job by now.
      if (workerRun.clock() - (job.processedOn ?? 0) > MAX_STALL_MS) throw new JobReassignedError('the job was received too long ago')
      const tools = {
        ...{ by: name, blobs, unreported, backoffs, stallDetector, pauseQueues: pauseQueues(workerRun) },
        createRequeueError: () => new packages.bullmq.RateLimitError(),
      }
      const reassigned$ = merge(stalled$, lost$.pipe(mergeMap((ids) => (ids.includes(job.id ?? '') ? [undefined] : [])))).pipe(
        mergeMap(() => throwError(() => new JobReassignedError('the job was given to another worker'))),
      )
      const outcome = await firstValueFrom(merge(runItemJob(stream, job.data, workerRun, tools), reassigned$)).catch((error: unknown) => {
        throw isRetryable(error) ? error : new packages.bullmq.UnrecoverableError(workerRun.redact(formatError(error)))
      })
      report({ type: 'settled', stream: stream.name })
      return outcome
    }
    const countAndProcess = (job: Job<ItemJobData, WorkerOutcome, string>): Promise<WorkerOutcome> => {
      active += 1
      return processJob(job).finally(() => (active -= 1))
    }
    const worker = queues.worker<ItemJobData, WorkerOutcome>(stream.name, countAndProcess, {
      name,
      concurrency: Math.min(concurrency, stream.workers),
    })
    worker.on('lockRenewalFailed', (ids) => lost$.next(ids))
    return worker
  }
  const workers = new Map(streams.map((stream) => [stream, workerFor(stream)]))
  const rebalancing = rebalanceConcurrency(workers, queues, concurrency)
  report({ type: 'joined', name, shown: address.shown })
  return async (isHurried: boolean): Promise<void> => {
    rebalancing.unsubscribe()
    // `close` would wait forever while Redis is down.
    await firstValueFrom(
      merge(
        queues.close(isHurried),
        emitWhenStable(() => active === 0),
      ),
    )
    stallDetector.stop()
    backoffs.close()
    await runs.close()
    redis.disconnect()
  }
}

/** Emits when a condition has been true for as long as Redis needs to receive the outcome of an item. */
const emitWhenStable = (condition: () => boolean): Observable<unknown> =>
  interval(REPORT_MS / 10).pipe(
    scan((times) => (condition() ? times + 1 : 0), 0),
    filter((times) => times > 10),
  )

const listHosts = (streams: readonly StreamDefinition[]): readonly Host[] =>
  streams.flatMap(({ endpoints }) => endpoints.map(({ host }) => host))

/** The job belongs to another worker by now, so its outcome here does not count. */
class JobReassignedError extends Error {}

/** Whether another attempt may succeed, here or on another machine: after errors of disk, network or queue, not after bugs. */
const isRetryable = (error: unknown): boolean =>
  error instanceof JobReassignedError ||
  error instanceof StorageError ||
  (error instanceof Error && ('code' in error || error.name === 'ReplyError' || error.name === 'RateLimitError'))
