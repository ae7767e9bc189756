import { defer, finalize, type Observable, type OperatorFunction, of, timer } from 'rxjs'
import { map } from 'rxjs/operators'
import { beforeEach, describe, expect, vi } from 'vitest'
import { itWithMarbles } from '../support/marbles.js'
import { row, status, tiny, tinyCollector } from '../support/tiny.js'

/** How often each operator was subscribed to in the run of a test. */
const subscriptions = vi.hoisted(() => new Map<string, number>())
/** By the concurrency of a `mergeMap`: the most inner observables it had at once. */
const mostAtOnce = vi.hoisted(() => new Map<number, number>())

const count = (name: string): void => void subscriptions.set(name, (subscriptions.get(name) ?? 0) + 1)

/** The same operators, whose subscriptions are counted under their names. */
const counting = vi.hoisted(
  () =>
    <M extends object>(module: M, ...names: readonly (keyof M & string)[]): M => {
      const spied = names.map((name) => {
        const create = module[name] as (...args: unknown[]) => OperatorFunction<unknown, unknown>
        const operator =
          (...args: unknown[]): OperatorFunction<unknown, unknown> =>
          (source$) =>
            defer(() => {
              count(name)
              return create(...args)(source$)
            })
        return [name, operator]
      })
      return { ...module, ...Object.fromEntries(spied) }
    },
)

vi.mock('rxjs', async (load) => {
  const rxjs = await load<typeof import('rxjs')>()
  const { mergeMap } = rxjs
  type Work = (value: unknown, index: number) => Observable<unknown>
  const watched = (work: Work, most = Number.POSITIVE_INFINITY) => {
    let atOnce = 0
    const each: Work = (value, index) =>
      defer(() => {
        atOnce += 1
        mostAtOnce.set(most, Math.max(atOnce, mostAtOnce.get(most) ?? 0))
        return work(value, index)
      }).pipe(finalize(() => (atOnce -= 1)))
    return mergeMap(each, most)
  }
  return { ...rxjs, mergeMap: watched }
})
vi.mock('../../src/operators/merge-map-with-pauses.js', async (load) =>
  counting(await load<typeof import('../../src/operators/merge-map-with-pauses.js')>(), 'mergeMapWithPauses'),
)
vi.mock('../../src/operators/when-room.js', async (load) =>
  counting(await load<typeof import('../../src/operators/when-room.js')>(), 'whenRoom'),
)
vi.mock('../../src/operators/deadline.js', async (load) =>
  counting(await load<typeof import('../../src/operators/deadline.js')>(), 'deadline'),
)
vi.mock('../../src/operators/catch-item-failure.js', async (load) =>
  counting(await load<typeof import('../../src/operators/catch-item-failure.js')>(), 'catchItemFailure'),
)
vi.mock('../../src/operators/retry-failures.js', async (load) =>
  counting(await load<typeof import('../../src/operators/retry-failures.js')>(), 'retryFailures'),
)
vi.mock('../../src/limiter/through.js', async (load) =>
  counting(await load<typeof import('../../src/limiter/through.js')>(), 'through'),
)
vi.mock('../../src/operators/barrier.js', async (load) => {
  const { barrier } = await load<typeof import('../../src/operators/barrier.js')>()
  return { barrier: (parts: readonly Observable<unknown>[]) => barrier(parts.map(counted('barrier'))) }
})
vi.mock('../../src/operators/retry-after-429.js', async (load) => {
  const original = await load<typeof import('../../src/operators/retry-after-429.js')>()
  const createThrottleDelay: typeof original.createThrottleDelay = (...args) => {
    const delay = original.createThrottleDelay(...args)
    return (error) => counted('createThrottleDelay')(delay(error))
  }
  return { ...original, createThrottleDelay }
})

const counted =
  (name: string) =>
  <T>(source$: Observable<T>): Observable<T> =>
    defer(() => {
      count(name)
      return source$
    })

beforeEach(() => {
  subscriptions.clear()
  mostAtOnce.clear()
})

const stocks = Array.from({ length: 12 }, (_, index) => `S${index}`)

describe('the drawing of a run', () => {
  itWithMarbles('is what each item and each request passes through, as exported', (m) => {
    const streams = [tiny('news', { workers: 3 }), tiny('filings', { workers: 5 })]
    const collector = tinyCollector(m, { streams, stocks, answers: () => timer(1).pipe(map(() => row)) })
    collector.run().subscribe()
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
    const streams = [tiny('news', { workers: 3 }), tiny('filings', { workers: 5 })]
    const collector = tinyCollector(m, { streams, stocks, answers: () => timer(1).pipe(map(() => row)) })
    collector.run().subscribe()
    m.flush()

    expect(mostAtOnce.get(3)).toBe(3)
    expect(mostAtOnce.get(5)).toBe(5)
  })

  itWithMarbles('delays a 429 by the delay of retryAfter429, one per refusal', (m) => {
    let refused = 0
    const answers = () => of(refused++ % 2 === 0 ? status(429) : row)
    const collector = tinyCollector(m, { streams: [tiny('news', { workers: 1 })], stocks, answers })
    collector.run().subscribe()
    m.flush()

    expect(subscriptions.get('createThrottleDelay')).toBe(refused / 2)
    expect(refused).toBe(2 * stocks.length)
    // Each refused request is one more attempt, on the same retry.
    expect(subscriptions.get('through')).toBe(1 + 2 * stocks.length)
    expect(subscriptions.get('retryFailures')).toBe(1 + stocks.length)
  })
})
