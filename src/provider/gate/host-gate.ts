import { asyncScheduler, Observable, type Subscriber, type Subscription, timer } from 'rxjs'
import type { HostClosed } from '../../model/errors.js'
import type { HoldReason } from '../../model/event.js'
import type { Rules } from './hold.js'
import { admission, ended, type Host, newHost, sent } from './host.js'
import { createNotes } from './notes.js'
import { answered, nothing, type Signal, signalOf } from './signal.js'

/** Stands between all streams of a run and one host. */
export interface HostGate {
  /**
   * Makes one attempt as soon as the host allows it, first come, first served, and learns from how it ends. Errors with `HostClosed`
   * if the host is not worth waiting for. Unsubscribing leaves the queue, or ends the attempt.
   */
  readonly through: <T>(attempt$: Observable<T>) => Observable<T>
  /** Whether the host is given a pause, is waited for, or did not answer the last time. */
  readonly isInTrouble: () => boolean
  /** What there is to say of the host, a line each. */
  readonly notices: () => readonly string[]
}

/** Why a host is not asked, and for how long from now on. */
export interface Pause {
  readonly why: HoldReason
  readonly ms: number
}

interface Waiting {
  readonly go: () => void
  readonly end: (error: HostClosed) => void
}

/** `tell` hears of every pause as it begins or grows, and of its end. */
export const createHostGate = (name: string, rules: Rules, tell: (pause?: Pause) => void = () => undefined): HostGate => {
  const now = stopwatch()
  const notes = createNotes(name)
  const queue = new Set<Waiting>()
  let host = newHost
  let alarm: Subscription | undefined
  let isAdmitting = false
  let isCalled = false

  const become = (next: Host): void => {
    notes.take(host, next, now())
    host = next
  }
  const call = (ms: number): void => {
    alarm?.unsubscribe()
    alarm = timer(Math.ceil(ms)).subscribe(admit)
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
      if (typeof pause === 'number') next.go()
      else next.end(pause)
    }
    isAdmitting = false
  }
  const attempt = <T>(attempt$: Observable<T>, subscriber: Subscriber<T>): void => {
    const { era } = host
    let isOpen = true
    const over = (signal: Signal): void => {
      if (!isOpen) return
      isOpen = false
      const before = host.hold
      become(ended(host, { era, signal, now: now() }, rules))
      if (host.hold !== before) tell(host.hold && { why: signal.kind === 'blank' ? 'pages' : host.hold.why, ms: host.hold.until - now() })
    }
    become(sent(host, now()))
    const subscription = attempt$.subscribe({
      next: (value) => {
        over(answered)
        subscriber.next(value)
      },
      error: (error: unknown) => {
        over(signalOf(error))
        subscriber.error(error)
      },
      complete: () => subscriber.complete(),
    })
    subscriber.add(() => {
      subscription.unsubscribe()
      over(nothing)
      // Not at once: whoever ends a whole run lets go of one request after the other, and none may take another's place.
      if (queue.size > 0 && !isCalled) {
        isCalled = true
        call(0)
      }
    })
  }
  /** Without a place in the queue, which most requests need not. */
  const attemptAtOnce = <T>(attempt$: Observable<T>, subscriber: Subscriber<T>): void => {
    isAdmitting = true
    attempt(attempt$, subscriber)
    isAdmitting = false
    if (queue.size > 0) admit()
  }
  return {
    through: (attempt$) =>
      new Observable((subscriber) => {
        if (!isAdmitting && queue.size === 0 && admission(host, now()) === 0) return attemptAtOnce(attempt$, subscriber)
        const waiting: Waiting = { go: () => attempt(attempt$, subscriber), end: (error) => subscriber.error(error) }
        queue.add(waiting)
        subscriber.add(() => {
          queue.delete(waiting)
          if (queue.size === 0) alarm?.unsubscribe()
        })
        admit()
      }),
    isInTrouble: () => host.hold !== undefined || host.failures > 0 || host.blanks > 0,
    notices: () => notes.read(host, now()),
  }
}

/** Milliseconds since now. They never run backwards, whatever is done to the machine's clock. */
const stopwatch = (): (() => number) => {
  let last = asyncScheduler.now()
  let passed = 0
  return () => {
    const at = asyncScheduler.now()
    passed += Math.max(0, at - last)
    last = at
    return passed
  }
}
