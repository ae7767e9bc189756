import type { Job } from 'bullmq'
import { firstValueFrom, merge, mergeMap, type Observable, throwError } from 'rxjs'
import { formatError } from '../model/errors.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { BlobStore } from './blobs.js'
import { createUnreported, runItemJob } from './item-job.js'
import { isRetryable, JobReassignedError } from './job-errors.js'
import type { ItemJobData, WorkerOutcome } from './outcome.js'
import type { Packages } from './packages.js'
import { MAX_STALL_MS, type Queues } from './queues.js'
import type { SharedBackoffs } from './shared-backoffs.js'
import type { StallDetector } from './stall-detector.js'
import { createBackoffLoader, pauseQueues } from './worker-backoffs.js'
import type { createWorkerRuns, WorkerRun } from './worker-run.js'

export type ItemJob = Job<ItemJobData, WorkerOutcome, string>

/** Opens the run of a job. `isQueued` tells whether the job still exists. */
type OpenRun = (run: string, isQueued: () => Promise<boolean>) => Promise<WorkerRun>

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
  readonly openRun: OpenRun
  /** Emits when this process was stalled: all of its jobs may belong to other workers by now. */
  readonly stalled$: Observable<void>
  /** Emits the ids of jobs that were given to other workers. */
  readonly lost$: Observable<readonly string[]>
  readonly onFinished: (stream: string) => void
}

export interface RunOpenerOptions extends Pick<JobContext, 'streams' | 'backoffs'> {
  readonly runs: Pick<ReturnType<typeof createWorkerRuns>, 'open'>
  /** Called when the jobs of another run begin. */
  readonly onRun: (run: string) => void
  /** Called if this worker cannot work for the run. */
  readonly fail: (error: unknown) => void
}

/** Opens the run of each job, and reads the back-offs of its hosts. */
export const createRunOpener = ({ runs, streams, backoffs, onRun, fail }: RunOpenerOptions): OpenRun => {
  const loadBackoffs = createBackoffLoader(streams, backoffs)
  let current = ''
  return async (run, isQueued) => {
    const workerRun = await runs.open(run).catch(async (error: unknown) => {
      // A driver of another run removes the queues and the folder of the previous run.
      if (!(await isQueued())) throw new JobReassignedError('the run was removed')
      fail(error)
      throw error
    })
    if (current !== run) {
      current = run
      onRun(run)
    }
    await loadBackoffs(workerRun)
    return workerRun
  }
}

/** Processes the jobs of one stream; each resolves to its outcome. */
export const createJobProcessor = (stream: StreamDefinition, context: JobContext): ((job: ItemJob) => Promise<WorkerOutcome>) => {
  const { name: by, streams, packages, queues, blobs, backoffs, stallDetector } = context
  const { bullmq } = packages
  let unreported = createUnreported()
  let unreportedRun = ''
  return async (job) => {
    const workerRun = await context.openRun(job.data.run, () => isQueued(job, stream, queues))
    const { settings } = workerRun
    if (unreportedRun !== workerRun.run) unreported = createUnreported()
    unreportedRun = workerRun.run
    // If this process was stalled after it got the job, another worker may have the job by now.
    if (workerRun.clock() - (job.processedOn ?? 0) > MAX_STALL_MS) throw new JobReassignedError('the job was received too long ago')
    const outcome$ = runItemJob(stream, job.data, workerRun, {
      ...{ by, blobs, unreported, backoffs, stallDetector },
      pauseQueues: (backoff) => pauseQueues(backoff, { streams, queues, settings }),
      createRequeueError: () => new bullmq.RateLimitError(),
    })
    const outcome = await firstValueFrom(merge(outcome$, failWhenReassigned(job, context))).catch((error: unknown) => {
      throw isRetryable(error) ? error : new bullmq.UnrecoverableError(workerRun.redact(formatError(error)))
    })
    context.onFinished(stream.name)
    return outcome
  }
}

const isQueued = async (job: ItemJob, stream: StreamDefinition, queues: Queues): Promise<boolean> =>
  (await queues.queue(stream.name).getJob(job.id ?? ''))?.data.run === job.data.run

const failWhenReassigned = (job: ItemJob, { stalled$, lost$ }: Pick<JobContext, 'stalled$' | 'lost$'>): Observable<never> =>
  merge(stalled$, lost$.pipe(mergeMap((ids) => (ids.includes(job.id ?? '') ? [undefined] : [])))).pipe(
    mergeMap(() => throwError(() => new JobReassignedError('the job was given to another worker'))),
  )
