import { catchError, defer, from, map, merge, mergeMap, type Observable, of, tap, timer } from 'rxjs'
import { createActivity, type ItemWork, workOnItems } from '../../src/engine/in-process.js'
import { createAsk } from '../../src/http/ask.js'
import type { HttpReply, Transport } from '../../src/http/transport.js'
import type { HostLimiter } from '../../src/limiter/limiter.js'
import { type LimiterRegistry, SharedLimiters } from '../../src/limiter/limiter-registry.js'
import { through } from '../../src/limiter/through.js'
import { type CollectError, TransportError } from '../../src/model/errors.js'
import { createResult, type Item } from '../../src/model/outcome.js'
import type { SettingsInput } from '../../src/model/settings.js'
import { note, settingsOf } from '../http/support.js'
import type { Context } from '../support/marbles.js'

interface ScheduleOptions {
  readonly item?: string
  readonly failFast?: boolean
  readonly onOwnPause?: () => void
}

/** An attempt that the test controls, sent as soon as the limiter allows it. */
export const schedule = <T>(
  limiter: HostLimiter,
  attempt$: Observable<T>,
  { item = 'A', failFast, onOwnPause }: ScheduleOptions = {},
): Observable<T> => {
  const pause = <W>(wait$: Observable<W>): Observable<W> => {
    onOwnPause?.()
    return wait$
  }
  return attempt$.pipe(through(limiter, { item, failFast, idleMs: 10_000, pause }))
}

/** The limits of a simulated host. */
export interface HostLimits {
  /** Requests a second, sustained. */
  readonly perSecond?: number
  /** Size of the token bucket. */
  readonly burst?: number
  readonly inFlight?: number
  /** The host refuses every request until this frame. */
  readonly from?: number
  /** The host grants every request from this frame on. */
  readonly freeFrom?: number
  /** The host also refuses this share of the items, each once, whatever the rate. */
  readonly refusesOnce?: number
  readonly retryAfter?: string
  /** How it refuses: a status, or by closing the connection. Default: 429. */
  readonly refusesWith?: number | 'reset'
  /** How long it holds a request that it refuses. */
  readonly holdsMs?: number
  readonly latencyMs?: number
  /** Of the choice of `refusesOnce`. */
  readonly seed?: number
}

/** The minimal standard generator of Park and Miller: numbers in (0, 1). */
const createRandom = (seed: number): (() => number) => {
  let state = seed * 7_919
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

interface LimitedHost {
  readonly transport: Transport
  /** When each request was sent, and its status. */
  readonly log: readonly { readonly at: number; readonly status: number | 'reset' }[]
}

/** A host on virtual time with a token bucket, a concurrency limit, or both. Its latency varies by ±25 %. */
export const createLimitedHost = (m: Context, limits: HostLimits): LimitedHost => {
  const {
    perSecond = Number.POSITIVE_INFINITY,
    burst = 1,
    inFlight = Number.POSITIVE_INFINITY,
    latencyMs = 50,
    retryAfter,
    refusesWith = 429,
  } = limits
  const { from: servesFrom = 0, freeFrom = Number.POSITIVE_INFINITY, refusesOnce = 0 } = limits
  const log: { at: number; status: number | 'reset' }[] = []
  const now = (): number => m.scheduler.now()
  let bucket = { tokens: burst, at: 0 }
  let busy = 0
  let turn = 0
  const random = createRandom(limits.seed ?? 1)
  const refusedItems = new Set<string>()
  const isAccident = (item: string): boolean => {
    if (refusedItems.has(item)) return false
    refusedItems.add(item)
    return random() < refusesOnce
  }
  const arrive = (item: string): number | 'reset' => {
    if (isAccident(item)) return refusesWith
    const isBucket = perSecond < Number.POSITIVE_INFINITY
    const tokens = isBucket
      ? Math.min(burst, bucket.tokens + ((now() - bucket.at) * perSecond) / 1_000)
      : burst
    const isGranted = now() >= servesFrom && (now() >= freeFrom || (tokens >= 1 && busy < inFlight))
    bucket = { tokens: isGranted ? tokens - 1 : tokens, at: now() }
    return isGranted ? 200 : refusesWith
  }
  const transport: Transport = ({ body = '' }) =>
    defer(() => {
      const half = Math.round((latencyMs / 2) * (0.75 + ((turn++ * 7) % 11) / 20))
      const sentAt = now()
      return timer(half).pipe(
        map(() => arrive(body)),
        mergeMap((status) => {
          if (status === 200) busy += 1
          return timer(status === 200 ? half : half + (limits.holdsMs ?? 0)).pipe(
            map((): HttpReply => {
              if (status === 200) busy -= 1
              log.push({ at: sentAt, status })
              if (status === 'reset') throw new TransportError('reset', 'other side closed')
              return { status, body: Buffer.from('x'), ...(retryAfter === undefined ? {} : { retryAfter }) }
            }),
          )
        }),
      )
    })
  return { transport, log }
}

export interface LoadResult {
  /** Milliseconds until the last item had ended. */
  readonly took: number
  readonly sent: number
  readonly refused: number
  /** Items by outcome. */
  readonly ends: Readonly<Record<string, number>>
  /** Successful items per second. */
  readonly bySecond: readonly number[]
  readonly notices: readonly string[]
}

export interface LoadOptions {
  readonly items: number
  /** Workers of each stream; the items are divided among the streams. */
  readonly workers: readonly number[]
  readonly settings?: SettingsInput
  readonly timeoutMs?: number
}

/** Requests items as the streams of a run do, through the limiters of one run, on virtual time. */
export const runLoad = (
  m: Context,
  transport: Transport,
  { items, workers, settings, timeoutMs = 30_000 }: LoadOptions,
): LoadResult => {
  const parsed = settingsOf({ urls: { static: 'http://static.test' }, ...settings })
  const sharing = workers.map((count, stream) => ({ name: `${stream}`, workers: count, endpoints: [note] }))
  const limiters: LimiterRegistry = new SharedLimiters(parsed, sharing).open(() => undefined)
  const counts = { requested: 0, retried: 0, 'rate-limited': 0 }
  const ends: Record<string, number> = {}
  const bySecond: number[] = []
  const shared = {
    transport,
    settings: parsed,
    limiters,
    timeoutMs,
    random: () => 0.5,
    clock: () => m.scheduler.now(),
  }
  const countEvent = (type: keyof typeof counts): void => {
    counts[type] += 1
  }
  const ask = createAsk({ ...shared, onRequestEvent: countEvent })
  const work: ItemWork = ({ key }, pause) =>
    ask('', pause)(note, { data: { isin: key } }).pipe(
      map(() => 'served'),
      catchError((error: CollectError) => of(error.status)),
      map((end) => createResult([end])),
    )
  const streams = workers.map((count, stream) => {
    const activeItems = createActivity().createCounter()
    return from(Array(Math.ceil(items / workers.length)).keys()).pipe(
      map((n): Item => ({ key: `${stream}.${n}`, rank: n, fileName: '', value: n })),
      workOnItems(work, { workers: count, activeItems }),
      tap(activeItems.end),
      map(({ rows }) => [...rows][0] as string),
    )
  })
  let took = Number.NaN
  merge(...streams).subscribe({
    next: (end) => {
      ends[end] = (ends[end] ?? 0) + 1
      const second = Math.floor(m.scheduler.now() / 1_000)
      if (end === 'served') bySecond[second] = (bySecond[second] ?? 0) + 1
    },
    complete: () => {
      took = m.scheduler.now()
    },
  })
  m.flush()
  const notices = limiters.warnings().map(({ text }) => text)
  return {
    took,
    sent: counts.requested,
    refused: counts['rate-limited'],
    ends,
    bySecond: Array.from(bySecond, (n) => n ?? 0),
    notices,
  }
}
