import type { QueueEvents, QueueEventsListener } from 'bullmq'
import { EMPTY, ignoreElements, lastValueFrom, merge, Observable } from 'rxjs'
import { StorageError } from '../model/errors.js'
import { type Item, isLost, type Settled } from '../model/outcome.js'
import { mergePulled } from '../operators/merge-pulled.js'
import type { Stage } from '../pipeline/engine.js'
import { fileOf } from '../pipeline/output.js'
import type { Planned } from '../pipeline/plan.js'
import type { Run } from '../pipeline/run.js'
import type { Barriers } from './barriers.js'
import type { Blobs } from './blobs.js'
import type { Census } from './census.js'
import { share } from './earlier.js'
import { idOf, NOTHING_ASKED, type Outcome, takenBack, type Work } from './outcome.js'
import type { Queues, WorkQueue } from './queues.js'
import { persisting } from './redis.js'

const CHUNK = 1_000
const READS_AT_ONCE = 8
/** Another machine may be able to write where one cannot. */
const TRIES = { attempts: 20, backoff: 1_000 } as const

export interface Driving {
  readonly run: Run
  readonly plan: readonly Planned[]
  readonly queues: Queues
  readonly barriers: Barriers
  readonly blobs: Blobs
  readonly workerStats: Census
}

/** An item that a worker has finished. */
interface Ended {
  readonly item: Item
  readonly outcome: Outcome
}

/** Hands the items of a stage to the fleet, and emits their outcomes as they finish; completes at the barrier of the stage. */
export const settledByFleet = (stage: Stage, items: readonly Item[], dependencies: Driving): Observable<Settled> => {
  if (items.length === 0) return EMPTY
  const { run, blobs } = dependencies
  const { stream, inWork, hasRoom } = stage
  return ended(stage, items, dependencies).pipe(
    mergePulled(
      ({ item, outcome }) => {
        inWork.begin()
        tell(stream.name, outcome, dependencies)
        return new Observable<Settled>((subscriber) => {
          takenBack(stream.name, { run: run.session.record.run, item }, outcome, blobs).then(
            (settled) => {
              subscriber.next(settled)
              subscriber.complete()
            },
            (error: unknown) => subscriber.error(error),
          )
        })
      },
      READS_AT_ONCE,
      { isFree: hasRoom, freed$: inWork.ended$ },
    ),
  )
}

const tell = (
  stream: string,
  { by, requestCounts = NOTHING_ASKED, warnings = [], drift }: Outcome,
  { run, workerStats }: Driving,
): void => {
  workerStats.count(by)
  const emitTimes = (count: number, type: 'requested' | 'retried' | 'rate-limited'): void => {
    for (let index = 0; index < count; index += 1) run.emit({ type, stream })
  }
  const [requested, retried, rateLimited] = requestCounts
  emitTimes(requested, 'requested')
  emitTimes(retried, 'retried')
  emitTimes(rateLimited, 'rate-limited')
  for (const text of warnings) run.emit({ type: 'noticed', stream, text })
  if (drift) run.drift.add(`${by} ${stream}`, drift)
}

const ended = (stage: Stage, items: readonly Item[], { run, plan, queues, barriers, blobs, workerStats }: Driving): Observable<Ended> =>
  new Observable((subscriber) => {
    const { stream, workers, isSecondPass } = stage
    const { record, isContinued } = run.session
    const pending = new Map(items.map((item) => [idOf(item, isSecondPass), item]))
    const finish = (id: string, outcome: Outcome): void => {
      const item = pending.get(id)
      if (item === undefined) return
      pending.delete(id)
      subscriber.next({ item, outcome })
    }
    const fail = (error: unknown): void => subscriber.error(error)
    const handOut = async (): Promise<void> => {
      await endOf(stream.after ?? [], run)
      if (stream.after) await share(run.settings.out, filesOf(stream.after, run, plan), blobs.folderOf(record.run))
      const queue = queues.queue(stream.name)
      await queue.setGlobalConcurrency(workers)
      const events = queues.events(stream.name)
      const listeners: Heard = {
        completed: ({ jobId, returnvalue }) => finish(jobId, returnvalue as unknown as Outcome),
        failed: ({ failedReason }) => fail(failureOf(failedReason)),
        stalled: () => workerStats.stall(),
      }
      subscriber.add(listen(events, listeners))
      await events.waitUntilReady()
      const barrier = await barriers.of(stream.name, isSecondPass)
      barrier.reached.catch(fail)
      for (const chunk of chunksOf(items, workers)) {
        if (subscriber.closed) return
        const works = chunk.map((item): Work => ({ run: record.run, item, ...(isSecondPass ? { isSecondPass } : {}) }))
        if (isContinued) await forgetLost(queue, works)
        await add(queue, works, { parent: barrier.parent, isOver: () => subscriber.closed })
      }
      barrier.close()
      await barrier.reached
      for await (const page of barrier.outcomes()) for (const [id, outcome] of page) finish(id, outcome)
      // Checked last: the failure may be from the time of an earlier driver, and the item may have succeeded since.
      if (pending.size > 0)
        throw failureOf(
          (await barrier.failure()) ?? `${stream.name}: ${pending.size} items are missing from the queue; run the same command to resume`,
        )
      subscriber.complete()
    }
    handOut().catch(fail)
  })

type Heard = Pick<QueueEventsListener, 'completed' | 'failed' | 'stalled'>

/** Listens to a queue until the returned function is called. A second pass of the same stream has its own listeners. */
const listen = (events: QueueEvents, { completed, failed, stalled }: Heard): (() => void) => {
  events.on('completed', completed).on('failed', failed).on('stalled', stalled)
  return () => void events.off('completed', completed).off('failed', failed).off('stalled', stalled)
}

/** The error for a failed job: a worker cannot write to the shared folder, or has a bug. */
const failureOf = (reason: string): Error =>
  /^E[A-Z]{2,}\b/.test(reason) ? new StorageError(`a worker cannot write to the shared folder: ${reason}`) : new Error(reason)

/** The first chunk has only as many items as workers, so that all of them start at once. */
function* chunksOf(items: readonly Item[], first: number): Generator<readonly Item[]> {
  yield items.slice(0, first)
  for (let from = first; from < items.length; from += CHUNK) yield items.slice(from, from + CHUNK)
}

/** Waits for streams of the run whose outputs are read. */
const endOf = (names: readonly string[], run: Run): Promise<unknown> =>
  lastValueFrom(merge(...names.map((name) => run.ended.get(name) ?? EMPTY)).pipe(ignoreElements()), { defaultValue: undefined })

const add = async (
  queue: WorkQueue,
  works: readonly Work[],
  { parent, isOver }: { parent: { id: string; queue: string }; isOver: () => boolean },
): Promise<void> => {
  const jobs = await persisting(
    () =>
      queue.addBulk(
        works.map((work) => ({
          name: 'item',
          data: work,
          opts: { ...TRIES, jobId: jobOf(work), parent, ignoreDependencyOnFailure: true },
        })),
      ),
    isOver,
  )
  // BullMQ reports a rejected job only by a negative number as its id.
  const rejected = jobs.filter(({ id = '-' }, index) => id !== jobOf(works[index] as Work))
  if (rejected.length > 0) throw new Error(`the queue rejected ${rejected.length} of ${works.length} items (${rejected[0]?.id})`)
}

const jobOf = ({ item, isSecondPass }: Work): string => idOf(item, isSecondPass)

/** Removes jobs that failed or may lack rows, so that a resumed run fetches their items again. */
const forgetLost = async (queue: WorkQueue, works: readonly Work[]): Promise<void> => {
  await Promise.all(
    works.map(async (work) => {
      const id = jobOf(work)
      const job = await queue.getJob(id)
      const outcome = job?.returnvalue as Outcome | null | undefined
      if (job && (job.failedReason || (outcome && (isLost(outcome) || outcome.degraded !== undefined)))) await queue.remove(id)
    }),
  )
}

const filesOf = (names: readonly string[], { settings: { exchange } }: Run, plan: readonly Planned[]): readonly string[] =>
  plan
    .filter(({ stream }) => names.includes(stream.name))
    .flatMap(({ stream }) => stream.outputs.map((output) => fileOf(output, exchange, { fileName: '*' })))
