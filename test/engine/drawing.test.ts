import { defer, finalize, map, type Observable, type OperatorFunction, of, timer } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, vi } from 'vitest'
import { itWithMarbles } from '../support/marbles.js'
import type * as Tiny from '../support/tiny.js'

/** How often each operator was subscribed to in the run of a test. */
const subscriptions = new Map<string, number>()
/** By the concurrency of a `mergeMap`: the most inner observables it had at once. */
const mostAtOnce = new Map<number, number>()

const counted =
  (name: string) =>
  <T>(source$: Observable<T>): Observable<T> =>
    defer(() => {
      subscriptions.set(name, (subscriptions.get(name) ?? 0) + 1)
      return source$
    })

type Create = (...args: readonly unknown[]) => OperatorFunction<unknown, unknown>

/** The same operator, whose subscriptions are counted. */
const countOperator =
  (name: string, create: Create): Create =>
  (...args) =>
  (source$) =>
    counted(name)(defer(() => create(...args)(source$)))

const countBarrier =
  (name: string, barrier: (parts: readonly Observable<unknown>[]) => unknown) =>
  (parts: readonly Observable<unknown>[]) =>
    barrier(parts.map(counted(name)))

const countDelay =
  (name: string, create: (...args: readonly unknown[]) => (error: unknown) => Observable<unknown>) =>
  (...args: readonly unknown[]) => {
    const delay = create(...args)
    return (error: unknown) => counted(name)(delay(error))
  }

type Work = (value: unknown, index: number) => Observable<unknown>

const watchMergeMap =
  (_: string, mergeMap: (work: Work, most?: number) => OperatorFunction<unknown, unknown>) =>
  (work: Work, most = Number.POSITIVE_INFINITY) => {
    let atOnce = 0
    const each: Work = (value, index) =>
      defer(() => {
        atOnce += 1
        mostAtOnce.set(most, Math.max(atOnce, mostAtOnce.get(most) ?? 0))
        return work(value, index)
      }).pipe(finalize(() => (atOnce -= 1)))
    return mergeMap(each, most)
  }

/** What is watched: a function of a module, and what takes its place. */
const watched = [
  ['rxjs', 'mergeMap', watchMergeMap],
  ['../../src/operators/merge-map-with-pauses.js', 'mergeMapWithPauses', countOperator],
  ['../../src/operators/when-room.js', 'whenRoom', countOperator],
  ['../../src/operators/deadline.js', 'deadline', countOperator],
  ['../../src/operators/catch-item-failure.js', 'catchItemFailure', countOperator],
  ['../../src/operators/retry-failures.js', 'retryFailures', countOperator],
  ['../../src/limiter/through.js', 'through', countOperator],
  ['../../src/operators/barrier.js', 'barrier', countBarrier],
  ['../../src/operators/retry-after-429.js', 'createThrottleDelay', countDelay],
] as const

let kit: typeof Tiny

beforeAll(async () => {
  vi.resetModules()
  for (const [path, name, watch] of watched)
    vi.doMock(path, async (load) => {
      const original = await load<Record<string, never>>()
      return { ...original, [name]: watch(name, original[name] as never) }
    })
  kit = await import('../support/tiny.js')
})

// Other tests in this process must not get the watched modules.
afterAll(() => {
  for (const [path] of watched) vi.doUnmock(path)
  vi.resetModules()
})

beforeEach(() => {
  subscriptions.clear()
  mostAtOnce.clear()
})

const stocks = Array.from({ length: 12 }, (_, index) => `S${index}`)
const createStreams = () => [kit.tiny('news', { workers: 3 }), kit.tiny('filings', { workers: 5 })]

describe('the drawing of a run', () => {
  itWithMarbles('is what each item and each request passes through, as exported', (m) => {
    const streams = createStreams()
    const answers = () => timer(1).pipe(map(() => kit.row))
    kit.tinyCollector(m, { streams, stocks, answers }).run().subscribe()
    m.flush()

    const [lists, items] = [1, stocks.length * streams.length]
    const { catchItemFailure, ...others } = Object.fromEntries(subscriptions)
    // Each item, each stream, and what is done before and after them.
    expect(catchItemFailure).toBeGreaterThanOrEqual(lists + items + lists + streams.length)
    expect(others).toStrictEqual({
      mergeMapWithPauses: lists + streams.length,
      whenRoom: lists + items,
      retryFailures: lists + items,
      through: lists + items,
      deadline: lists + items,
      // Enrichment and candles, and the streams of the first.
      barrier: 2 + streams.length,
    })
  })

  itWithMarbles('works on as many stocks at once as a stream has workers, by mergeMap', (m) => {
    const answers = () => timer(1).pipe(map(() => kit.row))
    kit.tinyCollector(m, { streams: createStreams(), stocks, answers }).run().subscribe()
    m.flush()

    expect(mostAtOnce.get(3)).toBe(3)
    expect(mostAtOnce.get(5)).toBe(5)
  })

  itWithMarbles('delays a 429 by the delay of retryAfter429, one per refusal', (m) => {
    let asked = 0
    const answers = () => of(asked++ % 2 === 0 ? kit.status(429) : kit.row)
    const streams = [kit.tiny('news', { workers: 1 })]
    kit.tinyCollector(m, { streams, stocks, answers }).run().subscribe()
    m.flush()

    expect(asked).toBe(2 * stocks.length)
    expect(subscriptions.get('createThrottleDelay')).toBe(stocks.length)
    // Each refused request is one more attempt, on the same retry.
    expect(subscriptions.get('through')).toBe(1 + asked)
    expect(subscriptions.get('retryFailures')).toBe(1 + stocks.length)
  })
})
