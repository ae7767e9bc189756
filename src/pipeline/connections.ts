import { findAddress, type Settings } from '../model/settings.js'
import type { PlannedStream } from './plan.js'

/**
 * The maximum number of connections per origin: one for each worker of each stream and endpoint. Without a limit, undici opens as many
 * again for requests that follow immediately, each with its own handshake.
 */
export const countConnections = (plan: readonly PlannedStream[], settings: Settings): ReadonlyMap<string, number> => {
  const needed = new Map<string, number>()
  for (const { stream, state } of plan) {
    if (state !== 'waiting') continue
    for (const { host } of stream.endpoints) {
      const url = findAddress(settings, host)
      const origin = url === undefined ? '' : new URL(url).origin
      needed.set(origin, (needed.get(origin) ?? 0) + (settings.workers[stream.name] ?? stream.workers))
    }
  }
  return needed
}
