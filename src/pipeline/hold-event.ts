import type { RunEvent } from '../model/event.js'
import type { Host } from '../model/settings.js'
import type { Pause } from '../provider/gate/host-gate.js'

/** The event for hosts, or one endpoint of them, that stop serving requests (back-off or open circuit), or serve them again. */
export const holdEvent = (at: number, hosts: readonly Host[], pause: Pause | undefined, endpoint: string | undefined): RunEvent => {
  const where = { at, hosts, ...(endpoint === undefined ? {} : { endpoint }) }
  if (pause === undefined) return { type: 'host-open', ...where }
  const { why, ms, sinceMs, giveUpMs } = pause
  return {
    ...{ type: 'host-held', ...where, why, since: at - sinceMs, until: at + ms },
    ...(giveUpMs === undefined ? {} : { giveUpAt: at + giveUpMs }),
  }
}
