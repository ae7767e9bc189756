import { Observable, type Subscriber } from 'rxjs'
import type { HostClosedError } from '../model/errors.js'
import { inconclusive } from './health-signal.js'
import type { Limiter, Permit } from './limiter.js'

/** The permits of one attempt. */
export type Permits = readonly [endpoint: Permit, host: Permit]

interface Acquiring {
  readonly endpoint: Limiter
  readonly host: Limiter
  readonly options: { readonly item: string; readonly failFast?: boolean }
}

/** Waits for a permit of the endpoint, then for one of the host, and works with both. Unsubscribing leaves the queues, or ends the work. */
export const acquireBoth = <T>(
  { endpoint, host, options: { item, failFast = false } }: Acquiring,
  work: (permits: Permits, subscriber: Subscriber<T>) => void,
): Observable<T> =>
  new Observable((subscriber) => {
    const acquireHost = (endpointPermit: Permit): void => {
      let isSent = false
      const releaseUnsent = (): void => {
        if (!isSent) endpoint.release(endpointPermit, { signal: inconclusive, item, isOneItemEnough: false })
        isSent = true
      }
      const start = (hostPermit: Permit): void => {
        isSent = true
        work([endpointPermit, hostPermit], subscriber)
      }
      const reject = (error: HostClosedError): void => {
        releaseUnsent()
        subscriber.error(error)
      }
      subscriber.add(host.acquire({ failFast, start, reject }))
      if (!isSent) subscriber.add(releaseUnsent)
    }
    subscriber.add(endpoint.acquire({ failFast, start: acquireHost, reject: (error) => subscriber.error(error) }))
  })
