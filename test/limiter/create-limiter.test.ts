import { AsyncLocalStorage } from 'node:async_hooks'
import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  finalize,
  from,
  lastValueFrom,
  mergeMap,
  type Observable,
  of,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimiterOptions } from '../../src/limiter/create-limiter.js'
import {
  HostClosedError,
  HttpError,
  ThrottledError,
  TransportError,
  UsageError,
} from '../../src/model/errors.js'
import { catchItemFailure } from '../../src/operators/catch-item-failure.js'
import { retryFailures } from '../../src/operators/retry-failures.js'
import { type Context, itWithMarbles } from '../support/marbles.js'

interface Provider {
  /** Requests a second that are granted, in windows of one second. */
  readonly perSecond?: number
  readonly latencyMs?: number
  /** The failure of a request at an instant. */
  readonly failure?: (url: string, at: number) => unknown
}

/** A provider on virtual time, and what it saw. */
const createProvider = (
  m: Context,
  { perSecond = Number.POSITIVE_INFINITY, latencyMs = 50, failure }: Provider,
) => {
  const seen = { sent: [] as [url: string, at: number][], refused: 0, inFlight: 0, most: 0 }
  const windows = new Map<number, number>()
  const request = (url: string) =>
    defer(() => {
      const at = m.scheduler.now()
      seen.sent.push([url, at])
      seen.most = Math.max(seen.most, ++seen.inFlight)
      const window = Math.floor(at / 1_000)
      const granted = windows.get(window) ?? 0
      const isRefused = granted >= perSecond
      if (isRefused) seen.refused += 1
      else windows.set(window, granted + 1)
      const error = isRefused ? new ThrottledError(undefined) : failure?.(url, at)
      return timer(latencyMs).pipe(
        mergeMap(() => {
          seen.inFlight -= 1
          return error === undefined ? of(url) : throwError(() => error)
        }),
      )
    })
  return { request, seen }
}

const urls = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `u${index}`)

describe('createLimiter', () => {
  itWithMarbles('learns the rate of a host: every request is answered, and few are refused', (m) => {
    const { request, seen } = createProvider(m, { perSecond: 20 })
    const host = createLimiter()
    const got: string[] = []
    from(urls(600))
      .pipe(mergeMap((url) => request(url).pipe(host.through()), 15))
      .subscribe((url) => got.push(url))
    m.flush()
    expect([...got].sort()).toEqual([...urls(600)].sort())
    // Without a limiter, each of 15 workers is refused as often as it is granted.
    expect(seen.refused).toBeLessThan(60)
    expect(m.scheduler.now()).toBeLessThan(60_000)
  })

  itWithMarbles('holds all requests after refusals, for as long as the host asks', (m) => {
    let isOpen = false
    const { request, seen } = createProvider(m, {
      failure: (_, at) => (isOpen || at >= 20_000 ? undefined : new ThrottledError(20_000)),
    })
    const host = createLimiter()
    from(urls(30))
      .pipe(mergeMap((url) => request(url).pipe(host.through()), 3))
      .subscribe()
    asyncScheduler.schedule(() => {
      expect(host.status()).toMatchObject({ isHeld: true, inFlight: 0, waiting: 3 })
      isOpen = true
    }, 10_000)
    m.flush()
    expect(seen.sent.filter(([, at]) => at > 0 && at < 20_000)).toEqual([])
    expect(seen.sent).toHaveLength(33)
    expect(host.status()).toMatchObject({ isHeld: false, inFlight: 0, waiting: 0 })
  })

  itWithMarbles('keeps maxInFlight and maxRate, for several pipelines together', (m) => {
    const { request, seen } = createProvider(m, { latencyMs: 500 })
    const host = createLimiter({ maxInFlight: 4, maxRate: 5 })
    for (const one of ['a', 'b'])
      from(urls(25))
        .pipe(mergeMap((url) => request(one + url).pipe(host.through()), 15))
        .subscribe()
    m.flush()
    expect(seen.sent).toHaveLength(50)
    expect(seen.most).toBeLessThanOrEqual(4)
    expect(seen.sent.at(-1)?.[1]).toBeGreaterThan(9_000)
  })

  itWithMarbles('waits for a host that is down, and passes what is no fault of the host', (m) => {
    const { request, seen } = createProvider(m, {
      failure: (url, at) =>
        url === 'u3'
          ? new HttpError(404)
          : at < 30_000
            ? new TransportError('connect', 'refused')
            : undefined,
    })
    const host = createLimiter()
    const ends: string[] = []
    from(urls(20))
      .pipe(
        mergeMap(
          (url) =>
            request(url).pipe(
              host.through(),
              retryFailures(),
              catchItemFailure((reason) => [`${url} ${reason}`]),
            ),
          5,
        ),
      )
      .subscribe((end) => ends.push(end))
    m.flush()
    expect([...ends].sort()).toEqual(
      [...urls(20).filter((url) => url !== 'u3'), 'u3 the provider answered 404'].sort(),
    )
    expect(seen.sent.filter(([, at]) => at > 5_000 && at < 30_000).length).toBeLessThan(10)
  })

  itWithMarbles('fails what waits once the host has been down for downMs; later work waits anew', (m) => {
    const { request, seen } = createProvider(m, { failure: () => new TransportError('connect', 'refused') })
    const host = createLimiter({ downMs: 10_000 })
    const ends: [string, number][] = []
    const send = (): void =>
      void from(urls(3))
        .pipe(mergeMap((url) => request(url).pipe(host.through())))
        .subscribe({ error: ({ code }: { readonly code: string }) => ends.push([code, m.scheduler.now()]) })
    send()
    asyncScheduler.schedule(send, 60_000)
    m.flush()
    expect(ends.map(([code]) => code)).toEqual(['host-down', 'host-down'])
    expect(ends[0]?.[1]).toBeGreaterThanOrEqual(10_000)
    expect(ends[1]?.[1]).toBeGreaterThanOrEqual(70_000)
    expect(seen.inFlight).toBe(0)
  })

  itWithMarbles('counts refusals together, and takes errors as classify says', (m) => {
    const errors = [new ThrottledError(1_000), new TransportError('connect', 'refused')]
    let sent = 0
    defer(() => throwError(() => errors[sent++ % 2]))
      .pipe(createLimiter({ throttleRetries: 4, downMs: 0 }).through())
      .subscribe({ error: () => undefined })
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const own = new TypeError('fetch failed', { cause })
    const ends: unknown[] = []
    let asked = 0
    defer(() => {
      asked += 1
      return throwError(() => own)
    })
      .pipe(createLimiter({ classify: (error) => error }).through())
      .subscribe({ error: (error: unknown) => ends.push(error) })
    m.flush()
    expect({ sent, asked, ends }).toEqual({ sent: 5, asked: 1, ends: [own] })
  })

  itWithMarbles(
    'fails a request after its last refusal, so that retryFailures behind it does not repeat all of them',
    (m) => {
      const { request, seen } = createProvider(m, { failure: () => new ThrottledError(1_000) })
      const host = createLimiter({ throttleRetries: 2 })
      const ends: unknown[] = []
      request('u')
        .pipe(host.through(), retryFailures())
        .subscribe({ error: (error: unknown) => ends.push(error) })
      m.flush()
      expect(seen.sent).toHaveLength(3)
      expect(ends).toEqual([expect.any(HostClosedError)])
      expect(ends[0]).toMatchObject({ status: 'rate_limit', cause: expect.any(ThrottledError) })
    },
  )

  itWithMarbles('tells requests apart that share one operator, so that an outage opens the circuit', (m) => {
    const { request } = createProvider(m, {
      failure: (_, at) => (at >= 1_000 && at < 20_000 ? new HttpError(503) : undefined),
    })
    const limited = createLimiter().through<string>()
    const ends: string[] = []
    from(urls(200))
      .pipe(
        mergeMap(
          (url) =>
            request(url).pipe(
              limited,
              retryFailures({ retries: 2 }),
              catchItemFailure((reason) => [reason]),
            ),
          5,
        ),
      )
      .subscribe((end) => ends.push(end))
    m.flush()
    expect([...ends].sort()).toEqual([...urls(200)].sort())
  })

  itWithMarbles('a classify that throws fails its request and returns its permit', (m) => {
    const bug = new TypeError('no response')
    const host = createLimiter({
      classify: () => {
        throw bug
      },
    })
    m.expect(throwError(() => 'x').pipe(host.through())).toBeObservable('#', undefined, bug)
    m.flush()
    expect(host.status()).toMatchObject({ inFlight: 0, waiting: 0 })
  })

  itWithMarbles('returns the permits of requests that are cancelled, waiting or in flight', (m) => {
    const { request } = createProvider(m, { latencyMs: 100 })
    const host = createLimiter({ maxInFlight: 1 })
    const running = from(urls(3))
      .pipe(mergeMap((url) => request(url).pipe(host.through())))
      .subscribe()
    expect(host.status()).toMatchObject({ inFlight: 1, waiting: 2 })
    running.unsubscribe()
    expect(host.status()).toMatchObject({ inFlight: 0, waiting: 0 })
    m.expect(request('again').pipe(host.through())).toBeObservable('100ms (a|)', { a: 'again' })
  })

  it.each([
    [{ maxRat: 1 }, 'createLimiter: unknown option "maxRat" (did you mean maxRate?)'],
    [{ maxInFlight: 0 }, 'createLimiter: maxInFlight is 0; use a number above 0'],
    [{ maxRate: Number.NaN }, 'createLimiter: maxRate is NaN; use a number from 0 on'],
  ])('refuses wrong options: %o', (options, why) => {
    expect(() => createLimiter(options as object)).toThrow(new UsageError(why))
  })

  const user = new AsyncLocalStorage<string>()
  const USERS = ['ann', 'bob', 'cem']
  /** Three users at once, each with three requests in turn; `work` ends each. Gives the calls by user. */
  const askAtOnce = async (
    options: Partial<LimiterOptions>,
    work: (attempt: number) => Observable<unknown>,
  ) => {
    const host = createLimiter({ maxInFlight: 1, ...options })
    const seen = new Set<string>()
    const ask = async (name: string): Promise<void> => {
      const note = (call: string) => () => void seen.add(`${call} of ${name} as ${user.getStore()}`)
      let attempts = 0
      const request$ = defer(() => {
        note('request')()
        attempts += 1
        const end$ = work(attempts)
        return timer(1).pipe(
          mergeMap(() => end$),
          finalize(note('end')),
        )
      }).pipe(host.through(), tap({ next: note('next'), error: note('error') }))
      await lastValueFrom(concat(request$, request$, request$).pipe(catchError(() => of('failed'))))
    }
    await Promise.all(USERS.map((name) => user.run(name, () => ask(name))))
    return seen
  }
  const ofUsers = (calls: readonly string[]): ReadonlySet<string> =>
    new Set(USERS.flatMap((name) => calls.map((call) => `${call} of ${name} as ${name}`)))

  it('sends each request, and passes on its end, in the context of its own subscriber', async () => {
    const seen = await askAtOnce({}, (attempt) =>
      attempt === 3 ? throwError(() => new HttpError(404)) : of('answer'),
    )
    expect(seen).toEqual(ofUsers(['request', 'end', 'next', 'error']))
  })

  it('gives requests up, those that wait too, in the context of their own subscribers', async () => {
    const seen = await askAtOnce({ downMs: 1 }, () => throwError(() => new TransportError('connect', 'none')))
    expect([...ofUsers(['error'])].filter((call) => !seen.has(call))).toEqual([])
    expect([...seen].filter((call) => !/ (\w+) as \1$/.test(call))).toEqual([])
  })
})
