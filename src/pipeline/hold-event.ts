import type { RunEvent } from '../model/event.js'
import type { Host } from '../model/settings.js'
import type { Pause } from '../provider/gate/host-gate.js'

/** What a run says when hosts, or one endpoint of them, are held, and when they serve again. */
export const holdEvent = (at: number, hosts: readonly Host[], pause: Pause | undefined, endpoint: string | undefined): RunEvent => {
  const where = { at, hosts, ...(endpoint === undefined ? {} : { endpoint }) }
  if (pause === undefined) return { type: 'host-open', ...where }
  const { why, ms, sinceMs, giveUpMs } = pause
  return {
    ...{ type: 'host-held', ...where, why, since: at - sinceMs, until: at + ms },
    ...(giveUpMs === undefined ? {} : { giveUpAt: at + giveUpMs }),
  }
}
