import type { Job } from 'bullmq'
import { firstValueFrom, merge, mergeMap, type Observable, throwError } from 'rxjs'
import type { StreamDefinition } from '../engine/define-stream.js'
import { toHostAddress } from '../limiter/limiter-registry.js'
import { formatError, StorageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import type { BlobStore, ItemJobData, WorkerOutcome } from './blobs.js'
import { createUnreported, runItemJob } from './item-job.js'
import { MAX_STALL_MS, type Queues, type StallDetector } from './queues.js'
import type { Packages } from './redis.js'
import type { HostBackoff, SharedBackoffs } from './shared-backoffs.js'
import type { createWorkerRuns, WorkerRun } from './worker-run.js'

/** The job belongs to another worker by now, so its outcome here does not count. */
class JobReassignedError extends Error {}

/**
 * Whether another attempt may succeed, here or on another machine: after errors of disk, network or queue,
 * not after bugs.
 */
const isRetryable = (error: unknown): boolean =>
  error instanceof JobReassignedError ||
  error instanceof StorageError ||
  (error instanceof Error &&
    ('code' in error || error.name === 'ReplyError' || error.name === 'RateLimitError'))

export type ItemJob = Job<ItemJobData, WorkerOutcome, string>

/** Opens the run of a job. `isQueued` tells whether the job still exists. */
type RunOpener = (run: string, isQueued: () => Promise<boolean>) => Promise<WorkerRun>

/** What the jobs of all streams share on one worker. */
export interface JobContext {
  /** The name of the worker. */
  readonly name: string
  readonly streams: readonly StreamDefinition[]
  readonly packages: Packages
  readonly queues: Queues
  readonly blobs: BlobStore
  readonly backoffs: SharedBackoffs
  readonly stallDetector: StallDetector
  readonly openRun: RunOpener
  /** Emits when this process was stalled: all of its jobs may belong to other workers by now. */
  readonly stalled$: Observable<void>
  /** Emits the ids of jobs that were given to other workers. */
  readonly lost$: Observable<readonly string[]>
  readonly onFinished: (stream: string) => void
}

interface RunOpenerOptions extends Pick<JobContext, 'streams' | 'backoffs'> {
  readonly runs: Pick<ReturnType<typeof createWorkerRuns>, 'open'>
  readonly onRun: (run: string) => void
  readonly fail: (error: unknown) => void
}

/** Opens the run of each job, and reads the back-offs of its hosts. */
export const createRunOpener = ({ runs, streams, backoffs, onRun, fail }: RunOpenerOptions): RunOpener => {
  let [announced, loading]: [string, Promise<unknown>] = ['', Promise.resolve()]
  let loaded: WorkerRun | undefined
  return async (run, isQueued) => {
    const workerRun = await runs.open(run).catch(async (error: unknown) => {
      // A driver of another run removes the queues and the folder of the previous run.
      if (!(await isQueued())) throw new JobReassignedError('the run was removed')
      fail(error)
      throw error
    })
    if (announced !== run) onRun(run)
    announced = run
    if (loaded !== workerRun) {
      loaded = workerRun
      loading = Promise.all([...listAddresses(streams, workerRun.settings)].map(backoffs.load))
      // The item gets the error, and the next item reads the back-offs again.
      loading.catch(() => (loaded = undefined))
    }
    await loading
    return workerRun
  }
}

export const createJobProcessor = (
  stream: StreamDefinition,
  context: JobContext,
): ((job: ItemJob) => Promise<WorkerOutcome>) => {
  const { name: by, streams, queues, blobs, backoffs, stallDetector } = context
  const { bullmq } = context.packages
  let unreported = createUnreported()
  let unreportedRun = ''
  return async (job) => {
    const workerRun = await context.openRun(job.data.run, () => isQueued(job, stream, queues))
    const { settings } = workerRun
    if (unreportedRun !== workerRun.run) unreported = createUnreported()
    unreportedRun = workerRun.run
    // If this process was stalled after it got the job, another worker may have the job by now.
    if (workerRun.clock() - (job.processedOn ?? 0) > MAX_STALL_MS)
      throw new JobReassignedError('the job was received too long ago')
    const outcome$ = runItemJob(stream, job.data, workerRun, {
      by,
      blobs,
      unreported,
      backoffs,
      checkStall: stallDetector.check,
      pauseQueues: (backoff) => pauseQueues(backoff, { streams, queues, settings }),
      createRequeueError: () => new bullmq.RateLimitError(),
    })
    const outcome = await firstValueFrom(merge(outcome$, failWhenReassigned(job, context))).catch(
      (error: unknown) => {
        throw isRetryable(error) ? error : new bullmq.UnrecoverableError(workerRun.redact(formatError(error)))
      },
    )
    context.onFinished(stream.name)
    return outcome
  }
}

const isQueued = async (job: ItemJob, stream: StreamDefinition, queues: Queues): Promise<boolean> =>
  (await queues.queue(stream.name).getJob(job.id ?? ''))?.data.run === job.data.run

const failWhenReassigned = (
  job: ItemJob,
  { stalled$, lost$ }: Pick<JobContext, 'stalled$' | 'lost$'>,
): Observable<never> =>
  merge(stalled$, lost$.pipe(mergeMap((ids) => (ids.includes(job.id ?? '') ? [undefined] : [])))).pipe(
    mergeMap(() => throwError(() => new JobReassignedError('the job was given to another worker'))),
  )

const listAddresses = (streams: readonly StreamDefinition[], settings: Settings): ReadonlySet<string> =>
  new Set(streams.flatMap(({ endpoints }) => endpoints.map(({ host }) => toHostAddress(settings, host))))

/** Pauses the queues of the streams that send requests to a host, as long as it backs off. */
const pauseQueues = async (
  { address, ms }: HostBackoff,
  {
    streams,
    queues,
    settings,
  }: { readonly streams: readonly StreamDefinition[]; readonly queues: Queues; readonly settings: Settings },
): Promise<void> => {
  const affected = streams.filter((stream) => listAddresses([stream], settings).has(address))
  await Promise.all(affected.map((stream) => queues.queue(stream.name).rateLimit(Math.ceil(ms))))
}
