import type { Worker } from 'bullmq'
import { exhaustMap, interval, type Subscription, startWith } from 'rxjs'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { ItemJobData, WorkerOutcome } from './outcome.js'
import type { Queues } from './queues.js'

const REBALANCE_MS = 1_000

type Workers = ReadonlyMap<StreamDefinition, Worker<ItemJobData, WorkerOutcome, string>>

/**
 * Divides the concurrency of each stream evenly among all connected workers, once a second, so that a worker that joins late gets an equal
 * share. No stream gets more than `max` on this worker.
 */
export const rebalanceConcurrency = (workers: Workers, queues: Queues, max: number): Subscription =>
  interval(REBALANCE_MS)
    .pipe(
      startWith(0),
      exhaustMap(() => rebalance(workers, queues, max).catch(() => undefined)),
    )
    .subscribe()

const rebalance = async (workers: Workers, queues: Queues, max: number): Promise<void> => {
  const [first] = workers.keys()
  if (first === undefined) return
  const count = Math.max(1, (await queues.readWorkerCount()) ?? (await queues.queue(first.name).getWorkersCount()))
  for (const [stream, worker] of workers) {
    const cap = (await queues.queue(stream.name).getGlobalConcurrency()) ?? stream.workers
    worker.concurrency = Math.max(1, Math.min(max, Math.ceil(cap / count)))
  }
}
