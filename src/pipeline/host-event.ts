import type { BackoffStatus } from '../limiter/host-limiter.js'
import type { RunEvent } from '../model/event.js'
import type { Host } from '../model/settings.js'

/** The event for hosts, or one endpoint of them, that stop serving requests (back-off or open circuit), or serve them again. */
export const toHostEvent = (
  at: number,
  hosts: readonly Host[],
  pause: BackoffStatus | undefined,
  endpoint: string | undefined,
): RunEvent => {
  const where = { at, hosts, ...(endpoint === undefined ? {} : { endpoint }) }
  if (pause === undefined) return { type: 'host-open', ...where }
  const { why, ms, sinceMs, giveUpMs } = pause
  return {
    ...{ type: 'host-held', ...where, why, since: at - sinceMs, until: at + ms },
    ...(giveUpMs === undefined ? {} : { giveUpAt: at + giveUpMs }),
  }
}
