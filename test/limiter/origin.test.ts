import { catchError, defer, from, map, mergeMap, of, throwError, timer } from 'rxjs'
import { expect } from 'vitest'
import { createLimiters } from '../../src/limiter/limiter-registry.js'
import { ThrottledError } from '../../src/model/errors.js'
import { retryFailures } from '../../src/operators/retry-failures.js'
import { settingsOf } from '../http/support.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { schedule } from './support.js'

const HOSTS = ['static', 'news', 'ticks'] as const

/** 200 requests to each of three services with a common limit of 40 requests/s; a bucket of five. */
const load = (m: Context, addressOf: (host: string) => string) => {
  const limiters = createLimiters(
    settingsOf({ urls: Object.fromEntries(HOSTS.map((host) => [host, addressOf(host)])) }),
  )
  const seen = { granted: 0, refused: 0, took: 0 }
  let bucket = { tokens: 5, at: 0 }
  const arrive = (): boolean => {
    const now = m.scheduler.now()
    const tokens = Math.min(5, bucket.tokens + ((now - bucket.at) * 40) / 1_000)
    bucket = { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now }
    return tokens >= 1
  }
  for (const host of HOSTS)
    from(Array(200).keys())
      .pipe(
        mergeMap((n) => {
          const attempt$ = defer(() => timer(20).pipe(map(arrive))).pipe(
            mergeMap((isGranted) => {
              seen[isGranted ? 'granted' : 'refused'] += 1
              return isGranted ? timer(20) : throwError(() => new ThrottledError(undefined))
            }),
          )
          const limiter = limiters.forEndpoint({ host, name: host })
          return schedule(limiter, attempt$, { item: String(n) }).pipe(
            retryFailures({ hasLimiter: true }),
            catchError(() => of('lost')),
          )
        }, 20),
      )
      .subscribe(() => {
        seen.took = m.scheduler.now()
      })
  m.flush()
  return seen
}

itWithMarbles('services of one origin find their common limit together', (m) => {
  const { granted, refused, took } = load(m, (host) => `http://one.test/${host}`)

  expect(granted).toBe(600)
  // 15 s at the limit.
  expect(took).toBeLessThan(1.6 * 15_000)
  expect(refused).toBeLessThan(0.2 * 600)
})

itWithMarbles('a service waits as long as it asks for, when another one of its origin refuses, too', (m) => {
  const urls = { static: 'http://one.test/a', news: 'http://one.test/b' }
  const limiters = createLimiters(settingsOf({ urls }))
  const sent: number[] = []
  const request = (host: 'static' | 'news', n: number, answer: () => ThrottledError | undefined) =>
    schedule(
      limiters.forEndpoint({ host, name: host }),
      defer(() => {
        const refusal = answer()
        return timer(40).pipe(mergeMap(() => (refusal ? throwError(() => refusal) : of(n))))
      }),
      { item: String(n) },
    ).pipe(retryFailures({ hasLimiter: true }))
  const [refusesFrom, until] = [500, 30_500]
  const asks = (): ThrottledError | undefined => {
    const now = m.scheduler.now()
    sent.push(now)
    return now >= refusesFrom && now < until ? new ThrottledError(until - now) : undefined
  }
  let isFirst = true
  const refusesOnce = (): ThrottledError | undefined => {
    if (m.scheduler.now() < 1_000 || !isFirst) return undefined
    isFirst = false
    return new ThrottledError(undefined)
  }
  for (const [host, answer] of [
    ['static', asks],
    ['news', refusesOnce],
  ] as const)
    from(Array(200).keys())
      .pipe(mergeMap((n) => request(host, n, answer), 4))
      .subscribe()
  m.flush()
  expect(sent.filter((at) => at > refusesFrom + 100 && at < until - 100)).toEqual([])
})
