import { asyncScheduler, Observable, type Subscriber } from 'rxjs'
import { HostAwayError, messageOf } from '../../model/errors.js'
import type { HoldReason } from '../../model/event.js'
import type { Rules } from './hold.js'
import type { Host } from './host.js'
import { createLimiter, type Limiter, type Permit } from './limiter.js'
import { type Line, newLine, noteAnswer, slowIfSaturated } from './line.js'
import { createNotes } from './notes.js'
import { answered, nothing, type Signal, signalOf } from './signal.js'
import { stopwatch } from './stopwatch.js'

/** A request as its host's gate sees it. */
export interface Asker {
  /** Whose request it is: a stock, an index, a list. */
  readonly item: string
  /** It is one of a few lists, so that there are no other items to tell from whether the host has trouble. */
  readonly isList?: boolean
  /** The longest time without a byte that the request is granted. */
  readonly idleMs: number
  /** It has another source to turn to: it ends at once while the host is away. */
  readonly failFast?: boolean
}

/** Stands between all streams of a run and one endpoint of a host: what the host allows, and what it allows of this endpoint. */
export interface HostGate {
  /**
   * Makes one attempt as soon as host and endpoint allow it, first come, first served, and learns from how it ends. Errors with
   * `HostClosed` if the host is not worth waiting for, and with `HostAwayError` if the attempt met a host that is away: it should be made
   * again, however often. Unsubscribing leaves the queue, or ends the attempt.
   */
  readonly through: <T>(attempt$: Observable<T>, asker: Asker) => Observable<T>
  /** Whether the host is given a pause, is waited for, or did not answer the last time. */
  readonly isInTrouble: () => boolean
}

/** Why a host, or one endpoint of it, is not asked, and for how long from now on. */
export interface Pause {
  readonly why: HoldReason
  readonly ms: number
  /** How long this has lasted. */
  readonly sinceMs: number
  /** When it is given up, from now on; absent where nobody can tell yet. */
  readonly giveUpMs?: number
}

export interface HostGates {
  readonly of: (endpoint: string) => HostGate
  /** What there is to say of the host, a line each. */
  readonly notices: () => readonly string[]
}

interface EndpointLimiter extends Limiter {
  readonly name: string
}

/** The gates of all endpoints of a host. `tell` hears of every pause as it begins or grows, and of its end. */
export const createHostGates = (
  name: string,
  rules: Rules,
  { line = newLine(), tell = () => undefined }: { line?: Line; tell?: (pause: Pause | undefined, endpoint?: string) => void } = {},
): HostGates => {
  const now = stopwatch()
  const readers: (() => readonly string[])[] = []
  const endpoints = new Map<string, EndpointLimiter>()
  /** How many requests the host had served when one of an item last met trouble; -1 of items known to have trouble of their own. */
  const servedAtFailure = new Map<string, number>()
  let served = 0

  const limiterOf = (endpoint?: string): Limiter => {
    const notes = createNotes(endpoint === undefined ? name : `${name} ${endpoint}`)
    const limiter = createLimiter({
      rules,
      now,
      changed: (before, after, at) => {
        notes.take(before, after, at)
        tell(pauseOf(after, at), endpoint)
      },
    })
    readers.push(() => notes.read(limiter.state(), now()))
    return limiter
  }
  const host = limiterOf()
  const endpointOf = (endpoint: string): EndpointLimiter => {
    const known = endpoints.get(endpoint) ?? { ...limiterOf(endpoint), name: endpoint }
    endpoints.set(endpoint, known)
    return known
  }
  const isDown = (limiter: Limiter): boolean => limiter.state().hold?.why === 'down'
  const isHeldElsewhere = (own: EndpointLimiter): boolean =>
    [...endpoints.values()].some((other) => other !== own && other.state().hold?.why === 'refuses')

  /** One item that meets trouble while others are served has trouble of its own. */
  const isOwnTrouble = (key: string): boolean => {
    const before = servedAtFailure.get(key) ?? served
    servedAtFailure.set(key, before < served ? -1 : served)
    return before < served && host.state().hold === undefined
  }
  const judged = (signal: Signal, endpoint: EndpointLimiter, { item }: Asker): Signal =>
    signal.kind === 'trouble' && isOwnTrouble(`${endpoint.name} ${item}`) ? nothing : signal

  const settle = (signal: Signal, { own, permits }: Pick<Sent<unknown>, 'own' | 'permits'>, { item, isList = false }: Asker): void => {
    if (signal.kind === 'answered') served += 1
    const isRefusal = signal.kind === 'refused' || signal.kind === 'blank'
    const isHosts = signal.kind === 'trouble' && signal.sign !== 'item'
    const isAlone = line.served === 0 || (isHosts && (served === 0 || isList))
    // One endpoint that refuses is held alone; several make it the host.
    host.leave(permits[1], { signal: isRefusal && !isHeldElsewhere(own) ? nothing : signal, item, isAlone })
    const isOfHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(host))
    own.leave(permits[0], { signal: isOfHost ? nothing : signal, item, isAlone: isHosts && isList })
  }
  const attempt = <T>(attempt$: Observable<T>, asker: Asker, { subscriber, own, permits }: Sent<T>): void => {
    const startedAt = asyncScheduler.now()
    let isOpen = true
    const over = (signal: Signal): void => {
      if (!isOpen) return
      isOpen = false
      settle(signal, { own, permits }, asker)
    }
    const subscription = attempt$.subscribe({
      next: (value) => {
        noteAnswer(line, asyncScheduler.now() - startedAt)
        over(answered)
        subscriber.next(value)
      },
      error: (error: unknown) => {
        const seen = slowIfSaturated(error, line, asker.idleMs)
        const signal = signalOf(seen)
        over(judged(signal, own, asker))
        const isAway = signal.kind === 'trouble' && !asker.failFast && (isDown(host) || isDown(own))
        subscriber.error(isAway ? new HostAwayError(messageOf(error), { cause: error }) : seen)
      },
      complete: () => subscriber.complete(),
    })
    subscriber.add(() => {
      subscription.unsubscribe()
      over(nothing)
    })
  }
  const gateOf = (own: EndpointLimiter): HostGate => ({
    through: (attempt$, asker) =>
      new Observable((subscriber) => {
        const { failFast = false } = asker
        const go = (first: Permit): void => {
          let isSent = false
          const giveBack = (): void => {
            if (!isSent) own.leave(first, { signal: nothing, item: asker.item, isAlone: false })
            isSent = true
          }
          subscriber.add(
            host.enter({
              failFast,
              go: (second) => {
                isSent = true
                attempt(attempt$, asker, { subscriber, own, permits: [first, second] })
              },
              end: (error) => {
                giveBack()
                subscriber.error(error)
              },
            }),
          )
          if (!isSent) subscriber.add(giveBack)
        }
        subscriber.add(own.enter({ failFast, go, end: (error) => subscriber.error(error) }))
      }),
    isInTrouble: () => isTroubled(host.state()) || isTroubled(own.state()),
  })
  const gates = new Map<string, HostGate>()
  return {
    of: (endpoint) => {
      const gate = gates.get(endpoint) ?? gateOf(endpointOf(endpoint))
      gates.set(endpoint, gate)
      return gate
    },
    notices: () => readers.flatMap((read) => read()),
  }
}

interface Sent<T> {
  readonly subscriber: Subscriber<T>
  readonly own: EndpointLimiter
  readonly permits: readonly [own: Permit, host: Permit]
}

const isTroubled = ({ hold, failures, blanks }: Host): boolean => hold !== undefined || failures > 0 || blanks > 0

const pauseOf = ({ hold }: Host, now: number): Pause | undefined =>
  hold && {
    why: hold.isByPages ? 'pages' : hold.why,
    ms: hold.until - now,
    sinceMs: now - hold.since,
    ...(hold.finalAt === Number.POSITIVE_INFINITY ? {} : { giveUpMs: Math.max(0, hold.finalAt - now) }),
  }
