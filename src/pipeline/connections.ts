import type { Settings } from '../model/settings.js'
import type { Planned } from './plan.js'

/**
 * How many connections each origin is asked over at most: one for each worker of each stream and call. With no bound, a client opens as
 * many again for requests that follow at once, each with handshakes of its own.
 */
export const connectionsFor = (plan: readonly Planned[], { urls, workers }: Settings): ReadonlyMap<string, number> => {
  const needed = new Map<string, number>()
  for (const { stream, state } of plan) {
    if (state !== 'waiting') continue
    for (const { host } of stream.endpoints) {
      const url = urls[host]
      const origin = url === undefined ? '' : new URL(url).origin
      needed.set(origin, (needed.get(origin) ?? 0) + (workers[stream.name] ?? stream.workers))
    }
  }
  return needed
}
