import { catchError, defer, from, mergeMap, type Observable, tap, throwError, timer } from 'rxjs'
import { HostClosed, Throttled } from '../model/errors.js'
import { addressOf, type Gates } from '../provider/gate/gates.js'
import type { Asker } from '../provider/gate/host-gate.js'
import type { Held, Holds } from './hold.js'
import type { Pulse } from './pulse.js'
import type { WorkerSite } from './site.js'

export interface FleetGatesOptions {
  readonly site: Pick<WorkerSite, 'gates' | 'settings'>
  readonly holds: Holds
  readonly pulse: Pick<Pulse, 'check'>
  /** Keeps the items that would ask a host from being handed out. */
  readonly pause: (held: Held) => Promise<void>
  /** The item goes back into its queue, until its host serves again. */
  readonly giveBack: () => void
}

/**
 * The gates of one item on a worker: this process's own, and before them what the whole fleet knows of a host. Where a host is held, or
 * refuses, the item is given back and loses nothing; what others wait for with it is asked when the pause is over.
 */
export const fleetGates = ({ site, holds, pulse, pause, giveBack }: FleetGatesOptions): Gates => ({
  notices: site.gates.notices,
  line: site.gates.line,
  of: (endpoint) => {
    const gate = site.gates.of(endpoint)
    const address = addressOf(site.settings, endpoint.host)
    const later = <T>({ ms, isFinal }: Held, attempt$: Observable<T>, asker: Asker): Observable<T> => {
      if (isFinal) return throwError(() => new HostClosed('rate_limit', '429: the provider has refused the whole fleet for too long'))
      giveBack()
      return timer(Math.ceil(ms)).pipe(mergeMap(() => through(attempt$, asker)))
    }
    const through = <T>(attempt$: Observable<T>, asker: Asker): Observable<T> =>
      defer(() => {
        pulse.check()
        const held = holds.of(address)
        if (held.ms > 0) return later(held, attempt$, asker)
        return gate.through(attempt$, asker).pipe(
          tap(() => holds.serve(address, held.era)),
          catchError((error: unknown) => {
            if (!(error instanceof Throttled)) return throwError(() => error)
            return from(holds.refuse(address, held.era, error.retryAfterMs, site.settings)).pipe(
              mergeMap((now) => {
                if (now.ms <= 0) return throwError(() => error)
                // Items that nothing waits for any more are handed out, to end at once.
                return now.isFinal ? later(now, attempt$, asker) : from(pause(now)).pipe(mergeMap(() => later(now, attempt$, asker)))
              }),
            )
          }),
        )
      })
    return { ...gate, through }
  },
})
