import type { Job, QueueEvents, QueueEventsListener } from 'bullmq'
import {
  concatMap,
  defer,
  EMPTY,
  first,
  ignoreElements,
  interval,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  Observable,
  Subscription,
  startWith,
} from 'rxjs'
import { MAX_BACKLOG, type RunContext, type Stage } from '../engine/run.js'
import { StorageError } from '../model/errors.js'
import { formatQuantity } from '../model/format.js'
import { type Item, type ItemOutcome, isLost } from '../model/outcome.js'
import {
  type BlobStore,
  type ItemJobData,
  loadRows,
  NO_REQUESTS,
  toJobId,
  type WorkerOutcome,
} from './blobs.js'
import { ignoreError } from './ignore-error.js'
import { BARRIERS, type ItemQueue, type Queues } from './queues.js'
import { type Packages, retryAborted } from './redis.js'
import { listOutputPatterns, shareFiles } from './shared-run.js'
import type { WorkerStats } from './worker-stats.js'

const OUTCOMES_PER_PAGE = 1_000
const JOB_CHECK_MS = 5_000

/**
 * The barriers of stages: each is a parent job that finishes when all item jobs of its stage have finished.
 */
export type Barriers = ReturnType<typeof createBarriers>

/** The barriers of a run. This process, the driver, processes their jobs. */
export const createBarriers = (queues: Queues, run: string, { bullmq }: Packages, shown: string) => {
  const queue = queues.queue(BARRIERS)
  const waiting = new Map<string, { readonly isFed: Promise<void>; readonly reach: () => void }>()
  const watching = new Subscription()
  queues.worker<unknown, undefined>(
    BARRIERS,
    async (job: Job, token) => {
      const stage = waiting.get(String(job.id))
      await stage?.isFed
      if (await job.moveToWaitingChildren(token)) throw new bullmq.WaitingChildrenError()
      stage?.reach()
      return undefined
    },
    { name: 'driver', concurrency: 1_000 },
  )
  /**
   * Rejects when the job is gone. Without this check, the driver would wait forever after Redis has lost its
   * data.
   */
  const failWhenLost = (id: string): Promise<never> =>
    new Promise((_, reject) => {
      // After an error, the next interval checks again.
      const state$ = interval(JOB_CHECK_MS).pipe(
        mergeMap(() => queue.getJobState(id).catch(ignoreError('check a barrier'))),
      )
      const lost = new StorageError(
        `Redis at ${shown} has lost the items of this run: run the same command to resume`,
      )
      watching.add(state$.subscribe((state) => state === 'unknown' && reject(lost)))
    })
  return {
    open: async (stream: string, isSecondPass: boolean) => {
      const id = `${isSecondPass ? 'again' : 'of'}-${stream}`
      const [isFed, close] = createDeferred()
      const [isReached, reach] = createDeferred()
      waiting.set(id, { isFed, reach })
      const job: Job = await queue.add(
        stream,
        { run, item: { key: stream, rank: 0, fileName: stream, value: null } },
        { jobId: id, attempts: 1_000 },
      )
      return {
        parent: { id, queue: queue.qualifiedName },
        /** Call this when all item jobs have been added. */
        close,
        reached: Promise.race([isReached, failWhenLost(id)]),
        /** The outcomes of the items by job id, in pages. */
        outcomes: () => readOutcomes(job),
        /** The reason of the first failed item job. */
        failure: async () => Object.values(await job.getIgnoredChildrenFailures())[0],
      }
    },
    stop: () => watching.unsubscribe(),
  }
}

async function* readOutcomes(
  job: Job,
): AsyncIterable<readonly (readonly [id: string, outcome: WorkerOutcome])[]> {
  for (let cursor: number | undefined = 0; cursor !== undefined; ) {
    const page: Awaited<ReturnType<Job['getDependencies']>> = await job.getDependencies({
      processed: { cursor, count: OUTCOMES_PER_PAGE },
    })
    yield Object.entries(page.processed ?? {}).map(([key, outcome]) => [
      key.slice(key.lastIndexOf(':') + 1),
      outcome as WorkerOutcome,
    ])
    cursor = page.nextProcessedCursor || undefined
  }
}

const createDeferred = (): readonly [Promise<void>, () => void] => {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => (end = resolve))
  return [promise, () => end()]
}

const CHUNK_SIZE = 1_000
const MAX_PARALLEL_READS = 8
/** Another machine may be able to write where one cannot. */
const JOB_RETRY_OPTIONS = { attempts: 20, backoff: 1_000 } as const

export interface StageDependencies {
  readonly run: RunContext
  readonly queues: Queues
  readonly barriers: Barriers
  readonly blobs: BlobStore
  readonly workerStats: WorkerStats
}

/**
 * Hands the items of a stage to the fleet, and emits their outcomes as they finish; completes at the barrier
 * of the stage.
 */
export const processOnFleet = (
  stage: Stage,
  items: readonly Item[],
  dependencies: StageDependencies,
): Observable<ItemOutcome> => {
  if (items.length === 0) return EMPTY
  const { run, blobs } = dependencies
  const { stream, workers, activeItems, isStopping } = stage
  const hasRoom = () => !isStopping() && activeItems.active < workers + MAX_BACKLOG
  const room$ = defer(() => activeItems.ended$.pipe(startWith(undefined), first(hasRoom)))
  return handOutItems(stage, items, dependencies).pipe(
    concatMap((finished) =>
      room$.pipe(
        map(() => {
          activeItems.begin()
          reportOutcome(stream.name, finished.outcome, dependencies)
          return finished
        }),
      ),
    ),
    mergeMap(
      ({ item, outcome }) => loadRows(stream.name, { run: run.session.record.run, item }, outcome, blobs),
      MAX_PARALLEL_READS,
    ),
  )
}

const reportOutcome = (
  stream: string,
  { by, requestCounts = NO_REQUESTS, warnings = [], drift }: WorkerOutcome,
  { run, workerStats }: StageDependencies,
): void => {
  workerStats.countItem(by)
  const [requests, retries, rateLimited] = requestCounts
  if (requests > 0) run.emit({ type: 'requested', stream, count: requests })
  for (let left = retries; left > 0; left -= 1) run.emit({ type: 'retried', stream })
  for (let left = rateLimited; left > 0; left -= 1) run.emit({ type: 'rate-limited', stream })
  for (const text of warnings) run.emit({ type: 'warning', stream, text })
  if (drift) run.drift.add(`${by} ${stream}`, drift)
}

const handOutItems = (
  stage: Stage,
  items: readonly Item[],
  { run, queues, barriers, blobs, workerStats }: StageDependencies,
): Observable<{ readonly item: Item; readonly outcome: WorkerOutcome }> =>
  new Observable((subscriber) => {
    const { stream, workers, isSecondPass } = stage
    const { record, isContinued } = run.session
    const pending = new Map(items.map((item) => [toJobId({ item, isSecondPass }), item]))
    const finish = (id: string, outcome: WorkerOutcome) => {
      const item = pending.get(id)
      if (item === undefined) return
      pending.delete(id)
      subscriber.next({ item, outcome })
    }
    const fail = (error: unknown) => subscriber.error(error)
    const handOut = async () => {
      await waitForStreams(stream.after ?? [], run)
      if (stream.after) {
        const earlier = run.plan
          .filter((planned) => stream.after?.includes(planned.stream.name))
          .flatMap((planned) => listOutputPatterns(planned, run.settings.exchange))
        await shareFiles(run.settings.out, earlier, blobs.toFolder(record.run))
      }
      const queue = queues.queue(stream.name)
      await queue.setGlobalConcurrency(workers)
      const events = queues.events(stream.name)
      subscriber.add(
        listenToQueue(events, {
          completed: ({ jobId, returnvalue }) => finish(jobId, returnvalue as unknown as WorkerOutcome),
          failed: ({ failedReason }) => fail(toJobError(failedReason)),
          stalled: () => workerStats.countStalled(),
        }),
      )
      await events.waitUntilReady()
      const barrier = await barriers.open(stream.name, isSecondPass)
      barrier.reached.catch(fail)
      for (let from = 0; from < items.length; from += CHUNK_SIZE) {
        if (subscriber.closed) return
        const works = items
          .slice(from, from + CHUNK_SIZE)
          .map((item): ItemJobData => ({ run: record.run, item, ...(isSecondPass && { isSecondPass }) }))
        if (isContinued) await removeLostJobs(queue, works)
        const untilServed = () => queue.setGlobalConcurrency(workers)
        await addJobs(queue, works, { parent: barrier.parent, isOver: () => subscriber.closed, untilServed })
      }
      barrier.close()
      await barrier.reached
      for await (const page of barrier.outcomes()) for (const [id, outcome] of page) finish(id, outcome)
      // Checked last: the failure may be from the time of an earlier driver, and the item may have succeeded
      // since.
      if (pending.size > 0)
        throw toJobError(
          (await barrier.failure()) ??
            `${stream.name}: ${formatQuantity(pending.size, 'item is', 'items are')} missing from the queue; run the same command to resume`,
        )
      subscriber.complete()
    }
    handOut().catch(fail)
  })

type QueueListeners = Pick<QueueEventsListener, 'completed' | 'failed' | 'stalled'>

/**
 * Listens to a queue until the returned function is called. A second pass of the same stream has its own
 * listeners.
 */
const listenToQueue = (events: QueueEvents, { completed, failed, stalled }: QueueListeners): (() => void) => {
  events.on('completed', completed).on('failed', failed).on('stalled', stalled)
  return () => void events.off('completed', completed).off('failed', failed).off('stalled', stalled)
}

/** The error for a failed job: a worker cannot write to the shared folder, or has a bug. */
const toJobError = (reason: string): Error =>
  /^E[A-Z]{2,}\b/.test(reason)
    ? new StorageError(`a worker cannot write to the shared folder: ${reason}`)
    : new Error(reason)

/** Waits for streams of the run whose outputs are read. */
const waitForStreams = (names: readonly string[], run: RunContext): Promise<unknown> =>
  lastValueFrom(merge(...names.map((name) => run.ended.get(name) ?? EMPTY)).pipe(ignoreElements()), {
    defaultValue: undefined,
  })

const addJobs = async (
  queue: ItemQueue,
  works: readonly ItemJobData[],
  { parent, ...retry }: { parent: { id: string; queue: string } } & Parameters<typeof retryAborted>[1],
): Promise<void> => {
  const jobs = await retryAborted(
    () =>
      queue.addBulk(
        works.map((work) => ({
          name: 'item',
          data: work,
          opts: { ...JOB_RETRY_OPTIONS, jobId: toJobId(work), parent, ignoreDependencyOnFailure: true },
        })),
      ),
    retry,
  )
  // BullMQ reports a rejected job only by a negative number as its id.
  const rejected = jobs.filter(({ id = '-' }, index) => id !== toJobId(works[index] as ItemJobData))
  if (rejected.length > 0)
    throw new Error(`the queue rejected ${rejected.length} of ${works.length} items (${rejected[0]?.id})`)
}

/** Removes jobs that failed or may lack rows, so that a resumed run fetches their items again. */
const removeLostJobs = async (queue: ItemQueue, works: readonly ItemJobData[]): Promise<void> => {
  await Promise.all(
    works.map(async (work) => {
      const id = toJobId(work)
      const job = await queue.getJob(id)
      const outcome = job?.returnvalue as WorkerOutcome | null | undefined
      if (job && (job.failedReason || (outcome && (isLost(outcome) || outcome.degraded !== undefined))))
        await queue.remove(id)
    }),
  )
}
