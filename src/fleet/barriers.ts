import type { Job } from 'bullmq'
import { StorageError } from '../model/errors.js'
import { ignoreError } from './ignore-error.js'
import type { WorkerOutcome } from './outcome.js'
import type { Queues } from './queues.js'
import type { Packages } from './redis.js'

export const BARRIERS = 'barriers'
const PAGE_SIZE = 1_000
const JOB_CHECK_MS = 5_000

/** The barrier of a stage: a parent job that finishes when all item jobs of the stage have finished. */
export interface Barrier {
  /** The parent of each item job. */
  readonly parent: { readonly id: string; readonly queue: string }
  /** Call this when all item jobs have been added. */
  readonly close: () => void
  /** Resolves when all items have finished. */
  readonly reached: Promise<void>
  /** The outcomes of the items by job id, in pages. */
  readonly outcomes: () => AsyncIterable<readonly (readonly [id: string, outcome: WorkerOutcome])[]>
  /** The reason of the first failed item job. */
  readonly failure: () => Promise<string | undefined>
}

export interface Barriers {
  readonly open: (stream: string, isSecondPass: boolean) => Promise<Barrier>
  readonly stop: () => void
}

interface PendingBarrier {
  readonly isFed: Promise<void>
  readonly reach: () => void
}

/** The barriers of a run. This process, the driver, processes their jobs. */
export const createBarriers = (queues: Queues, run: string, { bullmq }: Packages, shown: string): Barriers => {
  const queue = queues.queue(BARRIERS)
  const waiting = new Map<string, PendingBarrier>()
  const watches = new Set<NodeJS.Timeout>()
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
  /** Rejects when the job is gone. Without this check, the driver would wait forever after Redis has lost its data. */
  const lost = (id: string): Promise<never> =>
    new Promise((_, reject) => {
      const watch = setInterval(() => {
        const check = queue.getJobState(id).then((state) => {
          if (state === 'unknown')
            reject(new StorageError(`Redis at ${shown} has lost the items of this run: run the same command to resume`))
        })
        // The next interval checks again.
        check.catch(ignoreError('check a barrier'))
      }, JOB_CHECK_MS)
      watches.add(watch)
    })
  return {
    open: async (stream, isSecondPass) => {
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
        close,
        reached: Promise.race([isReached, lost(id)]),
        outcomes: async function* () {
          for (let cursor: number | undefined = 0; cursor !== undefined; ) {
            const page: Awaited<ReturnType<Job['getDependencies']>> = await job.getDependencies({ processed: { cursor, count: PAGE_SIZE } })
            yield Object.entries(page.processed ?? {}).map(
              ([key, outcome]) => [key.slice(key.lastIndexOf(':') + 1), outcome as WorkerOutcome] as const,
            )
            cursor = page.nextProcessedCursor || undefined
          }
        },
        failure: async () => Object.values(await job.getIgnoredChildrenFailures())[0],
      }
    },
    stop: () => watches.forEach(clearInterval),
  }
}

const createDeferred = (): readonly [Promise<void>, () => void] => {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => (end = resolve))
  return [promise, () => end()]
}
