import { type Subscription, timer } from 'rxjs'
import type { HostClosed } from '../../model/errors.js'
import { notWaitedFor, type Rules } from './hold.js'
import { admission, type End, ended, type Host, newHost, sent } from './host.js'

/** A request that waits for its turn. */
export interface Waiting {
  /** The request may be sent now. */
  readonly go: (permit: Permit) => void
  /** The host is not worth waiting for. */
  readonly end: (error: HostClosed) => void
  /** It has another source to turn to: it does not wait for a host that is away. */
  readonly failFast: boolean
}

/** A request that was sent; it must be given back. */
export type Permit = Pick<End, 'era' | 'sentAt'>

/** Says when requests to a host, or to one endpoint of it, may be sent, first come, first served. */
export interface Limiter {
  /** Calls `go` or `end` once, at once or later; the returned function leaves the queue. */
  readonly enter: (waiting: Waiting) => () => void
  /** How a request ended. Requests that wait are sent in a later turn: who ends many at once must not have them replaced one by one. */
  readonly leave: (permit: Permit, end: Omit<End, 'now' | keyof Permit>) => void
  readonly state: () => Host
}

export interface LimiterOptions {
  readonly rules: Rules
  /** Milliseconds that never run backwards. */
  readonly now: () => number
  readonly changed: (before: Host, after: Host, now: number) => void
}

export const createLimiter = ({ rules, now, changed }: LimiterOptions): Limiter => {
  const queue = new Set<Waiting>()
  let host = newHost
  let alarm: Subscription | undefined
  let isAdmitting = false
  let isCalled = false

  const call = (ms: number): void => {
    alarm?.unsubscribe()
    alarm = timer(Math.ceil(ms)).subscribe(admit)
  }
  const send = (waiting: Waiting): void => {
    const sentAt = now()
    host = sent(host, sentAt)
    waiting.go({ era: host.era, sentAt })
  }
  /** One loop for all: what ends at once, and makes others come, must not grow the stack. */
  const admit = (): void => {
    if (isAdmitting) return
    isAdmitting = true
    isCalled = false
    alarm?.unsubscribe()
    for (const next of queue) {
      const pause = admission(host, now())
      if (typeof pause === 'number' && pause > 0) {
        if (pause < Number.POSITIVE_INFINITY) call(pause)
        break
      }
      queue.delete(next)
      if (typeof pause === 'number') send(next)
      else next.end(pause)
    }
    isAdmitting = false
  }
  /** Without a place in the queue, which most requests need not. */
  const sendAtOnce = (waiting: Waiting): void => {
    isAdmitting = true
    send(waiting)
    isAdmitting = false
    if (queue.size > 0) admit()
  }
  return {
    enter: (waiting) => {
      if (waiting.failFast && host.hold?.why === 'down' && now() < host.hold.until) {
        waiting.end(notWaitedFor(host.hold, now()))
        return nothingToLeave
      }
      if (!isAdmitting && queue.size === 0 && admission(host, now()) === 0) {
        sendAtOnce(waiting)
        return nothingToLeave
      }
      queue.add(waiting)
      admit()
      return () => {
        queue.delete(waiting)
        if (queue.size === 0) alarm?.unsubscribe()
      }
    },
    leave: (permit, end) => {
      const [before, at] = [host, now()]
      host = ended(before, { ...permit, ...end, now: at }, rules)
      if (host.hold !== before.hold) changed(before, host, at)
      if (queue.size > 0 && !isCalled) {
        isCalled = true
        call(0)
      }
    },
    state: () => host,
  }
}

const nothingToLeave = (): void => undefined
