import { toHostAddress } from '../limiter/limiter-registry.js'
import type { Settings } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { Queues } from './queues.js'
import type { HostBackoff, SharedBackoffs } from './shared-backoffs.js'
import type { WorkerRun } from './worker-run.js'

/** The addresses to which streams send their requests. */
const listAddresses = (streams: readonly StreamDefinition[], settings: Settings): ReadonlySet<string> =>
  new Set(streams.flatMap(({ endpoints }) => endpoints.map(({ host }) => toHostAddress(settings, host))))

/** Reads the back-offs of all hosts of the streams once for each run. */
export const createBackoffLoader = (
  streams: readonly StreamDefinition[],
  backoffs: Pick<SharedBackoffs, 'load'>,
): ((workerRun: WorkerRun) => Promise<unknown>) => {
  let loaded: readonly [WorkerRun, Promise<unknown>] | undefined
  return (workerRun) => {
    if (loaded?.[0] === workerRun) return loaded[1]
    const loading = Promise.all([...listAddresses(streams, workerRun.settings)].map(backoffs.load))
    loaded = [workerRun, loading]
    // After an error, the next item reads the back-offs again.
    loading.catch(() => {
      if (loaded?.[1] === loading) loaded = undefined
    })
    return loading
  }
}

/** Pauses the queues of the streams that send requests to a host, as long as it backs off. */
export const pauseQueues = async (
  { address, ms }: HostBackoff,
  { streams, queues, settings }: { readonly streams: readonly StreamDefinition[]; readonly queues: Queues; readonly settings: Settings },
): Promise<void> => {
  const affected = streams.filter((stream) => listAddresses([stream], settings).has(address))
  await Promise.all(affected.map((stream) => queues.queue(stream.name).rateLimit(Math.ceil(ms))))
}
