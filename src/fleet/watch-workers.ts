import { interval } from 'rxjs'
import type { Driver } from './driver-connections.js'

const WORKER_COUNT_MS = 1_000

/**
 * Lists the connected workers now and once a second until the run ends, publishes their number, and emits what they have done. The returned
 * function emits that at once.
 */
export const watchWorkers = async ({ run, names, redis, queues, workerStats, watching }: Driver): Promise<() => void> => {
  let connected: readonly string[] | undefined
  const emitWorkers = (): void => run.emit({ type: 'fleet', at: run.clock(), fleet: workerStats.read(connected) })
  const countWorkers = async (): Promise<void> => {
    const [first = ''] = names
    connected = undefined
    if (redis.status === 'ready') {
      const workers = await queues.queue(first).getWorkers()
      connected = workers.map(({ rawname = '' }) => rawname.slice(rawname.indexOf(':w:') + 3))
      await queues.publishWorkerCount(workers.length)
    }
    emitWorkers()
  }
  // The list of workers is only displayed: after an error, the next interval reads it again.
  await countWorkers().catch(() => undefined)
  watching.add(interval(WORKER_COUNT_MS).subscribe(() => void countWorkers().catch(() => undefined)))
  return emitWorkers
}
