import { asyncScheduler, defer, EMPTY, NEVER, type Observable, of, range, Subject, throwError } from 'rxjs'
import { mergeMap, tap } from 'rxjs/operators'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { BackoffStatus } from '../../src/limiter/state.js'
import {
  BadAnswerError,
  HostClosedError,
  HttpError,
  ThrottledError,
  TransportError,
} from '../../src/model/errors.js'
import { limitersOf } from '../http/support.js'
import type { TestSettings } from '../support/limits.js'
import { type Context, itWithMarbles, marbles } from '../support/marbles.js'
import { schedule } from './support.js'

/** The limiter of one endpoint; each request is for another item by default. */
const createTestLimiter = (
  settings: TestSettings = {},
  onBackoff?: (status: BackoffStatus | undefined) => void,
) => {
  const limiters = limitersOf(settings, (_, status) => onBackoff?.(status))
  let items = 0
  const forEndpoint = (endpoint: string) => {
    const limiter = limiters.forEndpoint({ host: 'static', name: endpoint })
    return {
      ...limiter,
      warnings: () => limiters.warnings().map(({ text }) => text),
      forEndpoint,
      schedule: <T>(attempt$: Observable<T>, options: Parameters<typeof schedule>[2] = {}) =>
        schedule(limiter, attempt$, { item: `item ${items++}`, ...options }),
    }
  }
  return forEndpoint('note')
}
type TestLimiter = ReturnType<typeof createTestLimiter>

/** Sends a request that ends at once, with an answer or an error. */
const send = (limiter: TestLimiter, error?: Error, times = 1): void => {
  for (let turn = 0; turn < times; turn += 1)
    limiter
      .schedule(error === undefined ? of('x') : throwError(() => error))
      .subscribe({ error: () => undefined })
}

const refusal = (retryAfterMs?: number) => new ThrottledError(retryAfterMs)
const lost = new TransportError('connect', 'connect ECONNREFUSED')

/** Queues a request, and logs when it was sent and its error. */
const waiting = (m: Context, limiter: TestLimiter, log: string[], name: string, end$ = m.cold('10ms (x|)')) =>
  limiter
    .schedule(defer(() => end$.pipe(tap({ subscribe: () => log.push(`${m.scheduler.now()} ${name}`) }))))
    .subscribe({ error: (error: Error) => log.push(`${m.scheduler.now()} ${name} ${error.message}`) })

describe('a host limiter while the circuit is closed', () => {
  it('sends in the same turn', () => {
    let sent = 0
    createTestLimiter()
      .schedule(defer(() => of(++sent)))
      .subscribe()
    expect(sent).toBe(1)
  })

  itWithMarbles('passes on an unexpected error without blaming the host', (m) => {
    const limiter = createTestLimiter()
    send(limiter, new TypeError('a bug'), 20)
    const attempt = m.cold('(a|)')

    m.expect(limiter.schedule(attempt)).toBeObservable('(a|)')
    expect(limiter.warnings()).toStrictEqual([])
  })
})

describe('a host limiter during a back-off', () => {
  itWithMarbles('sends one probe after the back-off, and the others in order once it is answered', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, undefined, 400)
    send(limiter, refusal(2_000), 4)
    for (const name of ['A', 'B', 'C']) waiting(m, limiter, log, name)
    m.flush()

    expect(log).toStrictEqual(['2000 A', '2010 B', '2020 C'])
  })

  itWithMarbles('delays an isolated refusal by its own Retry-After, and no other request', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, undefined, 10)
    waiting(m, limiter, log, 'A', m.cold('#', undefined, refusal(7_000)))
    waiting(m, limiter, log, 'B')
    m.flush()

    expect(log).toStrictEqual(['0 A', '0 B', `7000 A ${refusal().message}`])
    expect(limiter.warnings()).toStrictEqual([])
  })

  itWithMarbles(
    'frees the worker of a request that waits by itself, and forgets its pause when it is cancelled',
    (m) => {
      const limiter = createTestLimiter()
      const freed: number[] = []
      send(limiter, undefined, 10)
      const failures: unknown[] = []
      const refused$ = limiter.schedule(
        throwError(() => refusal(7_000)),
        { onOwnPause: () => freed.push(m.scheduler.now()) },
      )
      const one = refused$.subscribe({ error: (error: unknown) => failures.push(error) })
      m.cold('1s x').subscribe(() => one.unsubscribe())
      m.flush()

      expect(freed).toStrictEqual([0])
      expect(failures).toStrictEqual([])
      expect(m.scheduler.now()).toBeLessThan(7_000)
    },
  )

  itWithMarbles('names an endpoint that is called like its host once', (m) => {
    const limiter = createTestLimiter().forEndpoint('static')
    send(limiter, refusal())
    m.flush()

    expect(limiter.warnings()).toStrictEqual([expect.stringMatching(/^static refused requests/)])
  })

  itWithMarbles(
    'counts late refusals of earlier requests as one refusal, and keeps the longer back-off',
    (m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      const first = ['-#', '--#', '---#'].map((marble, place) =>
        m.cold(marble, undefined, refusal([undefined, 9_000, 4_000][place])),
      )
      for (const attempt of first) limiter.schedule(attempt).subscribe({ error: () => undefined })
      m.cold('500ms x').subscribe(() => waiting(m, limiter, log, 'A'))
      m.flush()

      expect(log).toStrictEqual(['9002 A'])
      expect(limiter.warnings()).toStrictEqual([
        'static note refused requests (429, pages, or failures beside answers); backed off once; the lowest rate was 5 requests/s',
      ])
    },
  )

  itWithMarbles('sends the next request when the probe is cancelled', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, refusal())
    const probe = waiting(m, limiter, log, 'A', m.cold('-'))
    waiting(m, limiter, log, 'B')
    m.cold('2500ms x').subscribe(() => probe.unsubscribe())
    m.flush()

    expect(log).toStrictEqual(['2000 A', '2500 B'])
  })

  itWithMarbles('removes a request from the queue when it is unsubscribed', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, refusal())
    waiting(m, limiter, log, 'A').unsubscribe()
    const [inTime, never] = [waiting(m, limiter, log, 'B'), waiting(m, limiter, log, 'C')]
    m.cold('2s x').subscribe(() => never.unsubscribe())
    m.flush()

    expect(inTime.closed).toBe(true)
    expect(log).toStrictEqual(['2000 B'])
  })

  itWithMarbles('starts no successors while all requests are cancelled one by one', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, refusal())
    const all = ['A', 'B', 'C'].map((name) => waiting(m, limiter, log, name, m.cold('-')))
    m.cold('3s x').subscribe(() => {
      for (const one of all) one.unsubscribe()
    })
    m.flush()

    expect(log).toStrictEqual(['2000 A'])
  })

  itWithMarbles(
    'loses none of 20,000 queued requests that end synchronously, without growing the stack',
    (m) => {
      const limiter = createTestLimiter({ throttleMs: 0 })
      const served: number[] = []
      const blocker = new Subject<never>()
      limiter.schedule(blocker).subscribe({ error: () => undefined })
      blocker.error(refusal(1_000))
      range(0, 20_000)
        .pipe(mergeMap((n) => limiter.schedule(of(n))))
        .subscribe((n) => served.push(n))
      m.flush()

      expect(served).toStrictEqual(Array.from({ length: 20_000 }, (_, n) => n))
    },
  )

  itWithMarbles(
    'fails 20,000 requests, each sent by the failure of the last, without growing the stack',
    (m) => {
      const limiter = createTestLimiter({ throttleGiveUpMs: 0 })
      const reasons: unknown[] = []
      send(limiter, refusal())
      const again = (left: number): void =>
        void limiter.schedule(throwError(() => refusal())).subscribe({
          error: (error: unknown) => {
            if (error instanceof HostClosedError) reasons.push(error.status)
            if (left > 0) again(left - 1)
          },
        })
      again(20_000)
      m.flush()

      expect(reasons).toHaveLength(20_000)
      expect(new Set(reasons)).toStrictEqual(new Set(['rate_limit']))
    },
  )

  itWithMarbles(
    'counts three consecutive pages or empty bodies as a refusal, but not two and an answer',
    (m) => {
      const [page, empty] = [new BadAnswerError('html', 'a page'), new BadAnswerError('empty', 'nothing')]
      const [own, all] = [createTestLimiter(), createTestLimiter()]
      for (let turn = 0; turn < 50; turn += 1) {
        send(own, page, 2)
        send(own)
      }
      send(all, page, 2)
      send(all, empty)
      const log: string[] = []
      waiting(m, own, log, 'A')
      waiting(m, all, log, 'B')
      m.flush()

      expect(log).toStrictEqual(['0 A', '2000 B'])
    },
  )

  itWithMarbles(
    'gives up a host that has refused every request for too long, and probes it once after each back-off',
    (m) => {
      const limiter = createTestLimiter({ throttleGiveUpMs: 5_000 })
      const log: string[] = []
      send(limiter, refusal())
      for (const name of ['A', 'B']) waiting(m, limiter, log, name, m.cold('#', undefined, refusal()))
      for (const at of [4_000, 7_000, 7_001, 14_000, 14_020])
        m.cold(`${at}ms x`).subscribe(() => waiting(m, limiter, log, `at ${at}`))
      m.flush()

      const closed = 'every request was refused for 6 s'
      expect(log).toStrictEqual([
        '2000 A',
        '2000 A the provider answered 429: rate limited',
        '6000 B',
        '6000 B the provider answered 429: rate limited',
        `6000 at 4000 ${closed}`,
        `7000 at 7000 ${closed}`,
        `7001 at 7001 ${closed}`,
        '14000 at 14000',
        '14020 at 14020',
      ])
    },
  )

  for (const { probe, answer, end } of [
    { probe: 'answered', answer: '500ms (x|)', end: ['14000 probe', '14500 later'] },
    {
      probe: 'refused',
      answer: '500ms #',
      end: ['14000 probe', '14500 probe the provider answered 429: rate limited', '14500 later every'],
    },
  ])
    itWithMarbles(
      `keeps what comes while a host that was given up is probed, until the probe is ${probe}`,
      (m) => {
        const limiter = createTestLimiter({ throttleGiveUpMs: 5_000 })
        const log: string[] = []
        send(limiter, refusal())
        for (const name of ['A', 'B']) waiting(m, limiter, log, name, m.cold('#', undefined, refusal()))
        m.cold('14000ms x').subscribe(() =>
          waiting(m, limiter, log, 'probe', m.cold(answer, undefined, refusal())),
        )
        m.cold('14020ms x').subscribe(() => waiting(m, limiter, log, 'later'))
        m.flush()

        expect(log.slice(4).map((line) => line.replace(/ request was .*/, ''))).toStrictEqual(end)
      },
    )
})

describe('a host limiter while the circuit is open', () => {
  itWithMarbles(
    'probes after 1 s, 2 s, 4 s, and sends all waiting requests when a probe gets any status',
    (m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, lost, 3)
      for (const name of ['A', 'B']) waiting(m, limiter, log, name, m.cold('#', undefined, lost))
      waiting(m, limiter, log, 'C', m.cold('#', undefined, new HttpError(404)))
      for (const name of ['D', 'E']) waiting(m, limiter, log, name)
      m.flush()

      expect(log.filter((line) => !line.includes(': ') && !line.includes('404'))).toStrictEqual([
        '1000 A',
        '3000 B',
        '7000 C',
        '7000 D',
        '7000 E',
      ])
      expect(limiter.warnings()).toStrictEqual(['static was down once, 7 s in total'])
    },
  )

  itWithMarbles('probes every 15 s in a long outage, and starts slowly when it is over', (m) => {
    const limiter = createTestLimiter()
    const [log, inFlight]: [string[], number[]] = [[], []]
    let busy = 0
    send(limiter, lost, 3)
    for (let turn = 0; turn < 7; turn += 1) waiting(m, limiter, log, 'probe', m.cold('#', undefined, lost))
    waiting(m, limiter, log, 'served', m.cold('(x|)'))
    const answer$ = m
      .cold('500ms (x|)')
      .pipe(tap({ subscribe: () => inFlight.push(++busy), finalize: () => (busy -= 1) }))
    for (let turn = 0; turn < 100; turn += 1) limiter.schedule(answer$).subscribe()
    m.flush()

    const tries = log.filter((line) => !line.includes(': '))
    expect(tries.map((line) => Number.parseInt(line, 10))).toStrictEqual([
      1_000, 3_000, 7_000, 15_000, 30_000, 45_000, 60_000, 75_000,
    ])
    expect(inFlight.slice(0, 8)).toStrictEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(inFlight).toHaveLength(100)
  })

  itWithMarbles('turns failures during an outage into HostDownError, which uses up no retries', (m) => {
    const limiter = createTestLimiter()
    const errors: unknown[] = []
    for (let turn = 0; turn < 4; turn += 1)
      limiter.schedule(throwError(() => lost)).subscribe({ error: (error: unknown) => errors.push(error) })
    m.flush()

    expect(errors.map((error) => (error as Error).constructor.name)).toStrictEqual([
      'TransportError',
      'TransportError',
      'HostDownError',
      'HostDownError',
    ])
    expect(errors[2]).toMatchObject({ verdict: 'await-host', message: 'connect: connect ECONNREFUSED' })
  })

  itWithMarbles('does not open after two consecutive failures, or many with answers in between', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, lost, 2)
    for (const answer of [undefined, new HttpError(404)]) {
      send(limiter, answer)
      send(limiter, lost)
    }
    send(limiter, new BadAnswerError('schema', 'another shape'))
    send(limiter, new TransportError('tls', 'no trust'), 9)
    send(limiter, new TransportError('too_large', 'too long'), 9)
    waiting(m, limiter, log, 'A')
    m.flush()

    expect(log).toStrictEqual(['0 A'])
  })

  const away =
    'host-down: the host did not recover within 10 s (patience); last error: connect: connect ECONNREFUSED'

  itWithMarbles(
    'fails waiting requests after the patience and later ones at once, until a probe is answered',
    (m) => {
      const limiter = createTestLimiter({ downMs: 10_000 })
      const log: string[] = []
      send(limiter, lost, 3)
      waiting(m, limiter, log, 'A', m.cold('30s (x|)'))
      waiting(m, limiter, log, 'B')
      for (const at of [20_000, 40_000])
        m.cold(`${at}ms x`).subscribe(() => waiting(m, limiter, log, `at ${at}`))
      m.flush()

      expect(log).toStrictEqual(['1000 A', `10000 B ${away}`, `20000 at 20000 ${away}`, '40000 at 40000'])
    },
  )

  itWithMarbles('shares the patience among all outages of a run', (m) => {
    const limiter = createTestLimiter({ downMs: 10_000 })
    const log: string[] = []
    send(limiter, lost, 3)
    waiting(m, limiter, log, 'A', m.cold('#', undefined, lost))
    waiting(m, limiter, log, 'B')
    m.cold('20s x').subscribe(() => {
      send(limiter, lost, 3)
      waiting(m, limiter, log, 'C', m.cold('-'))
      waiting(m, limiter, log, 'D')
    })
    m.flush()

    // The first outage took 3.01 s: 6.99 s are left for the second.
    expect(log.filter((line) => !/ A \w+:/.test(line))).toStrictEqual([
      '1000 A',
      '3000 B',
      '21000 C',
      `26990 D ${away}`,
    ])
  })

  itWithMarbles('fails fast for a request with another source', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    send(limiter, lost, 3)
    const note = (error: Error): void => void log.push(`${m.scheduler.now()} ${error.message}`)
    m.cold('500ms x').subscribe(() =>
      limiter.schedule(m.cold('x|'), { failFast: true }).subscribe({ error: note }),
    )
    m.flush()

    expect(log).toStrictEqual(['500 host-down: the host has been unreachable for 1 s'])
  })

  itWithMarbles(
    'fails fast, too, while a host that was given up is probed; a request without another source waits for the probe',
    (m) => {
      const limiter = createTestLimiter({ downMs: 5_000 })
      const log: string[] = []
      send(limiter, lost, 3)
      for (const name of ['A', 'B']) waiting(m, limiter, log, name, m.cold('#', undefined, lost))
      m.cold('8000ms x').subscribe(() => waiting(m, limiter, log, 'probe', m.cold('500ms (x|)')))
      m.cold('8100ms x').subscribe(() => {
        waiting(m, limiter, log, 'later')
        const note = (): void => void log.push(`${m.scheduler.now()} failed fast`)
        limiter.schedule(m.cold('x|'), { failFast: true }).subscribe({ error: note })
      })
      m.flush()

      expect(log.filter((line) => !/ [AB] \w+:/.test(line))).toStrictEqual([
        '1000 A',
        '3000 B',
        '8000 probe',
        '8100 failed fast',
        '8500 later',
      ])
    },
  )

  itWithMarbles('holds a request that waits for the host when its endpoint is refused meanwhile', (m) => {
    const refused = createTestLimiter()
    const other = { ...refused, ...refused.forEndpoint('other') }
    const log: string[] = []
    waiting(m, refused, log, 'A', m.cold('500ms #', undefined, refusal(20_000)))
    send(other, lost, 3)
    waiting(m, refused, log, 'B')
    waiting(m, other, log, 'C')
    const { message } = refusal()
    m.flush()

    // The host is down until 1 s: C is its probe, although B has waited longer.
    expect(log).toStrictEqual(['0 A', `500 A ${message}`, '1000 C', '20500 B'])
  })

  itWithMarbles('counts late failures of earlier requests as the same outage', (m) => {
    const limiter = createTestLimiter()
    const log: string[] = []
    for (const marble of ['#', '#', '#', '100ms #', '200ms #', '300ms #'])
      limiter.schedule(m.cold(marble, undefined, lost)).subscribe({ error: () => undefined })
    m.cold('1ms x').subscribe(() => waiting(m, limiter, log, 'A'))
    m.flush()

    expect(log).toStrictEqual(['1000 A'])
  })
})

itWithMarbles('waits at most twice as long when the system clock is set back by a year', (m) => {
  const now = asyncScheduler.now.bind(asyncScheduler)
  let shift = 0
  const clock = vi.spyOn(asyncScheduler, 'now').mockImplementation(() => now() + shift)
  onTestFinished(() => clock.mockRestore())
  const limiter = createTestLimiter()
  const log: string[] = []
  send(limiter, refusal())
  waiting(m, limiter, log, 'A')
  m.cold('1s x').subscribe(() => {
    shift = -365 * 86_400_000
  })
  m.flush()

  expect(log).toStrictEqual(['4000 A'])
})

it('leaves no timer when no request waits', () => {
  const limiter = createTestLimiter()
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  send(limiter, refusal())
  const one = limiter.schedule(NEVER).subscribe()
  expect(timers()).toBe(before + 1)
  one.unsubscribe()
  expect(timers()).toBe(before)
  limiter.schedule(EMPTY).subscribe().unsubscribe()
  expect(timers()).toBe(before)
})

describe('the back-off events of a host limiter', () => {
  const page = new BadAnswerError('html', 'a page')

  it.each([
    { what: 'a 429', errors: [refusal(4_000)], pauses: [{ why: 'refuses', ms: 4_000, sinceMs: 0 }] },
    { what: 'pages in a row', errors: [page, page, page], pauses: [{ why: 'pages', ms: 2_000, sinceMs: 0 }] },
    {
      what: 'an outage',
      errors: [lost, lost, lost],
      pauses: [{ why: 'down', ms: 1_000, sinceMs: 0, giveUpMs: 300_000 }],
    },
    { what: 'one page', errors: [page], pauses: [] },
  ])('report reason and duration for $what, and the end, once each', ({ errors, pauses }) =>
    marbles((m) => {
      const events: unknown[] = []
      const limiter = createTestLimiter({}, (pause) => events.push(pause))
      for (const error of errors) send(limiter, error)
      expect(events).toStrictEqual(pauses)
      m.cold('10s x').subscribe(() => {
        send(limiter)
        send(limiter)
      })
      m.flush()
      expect(events).toStrictEqual(pauses.length === 0 ? [] : [...pauses, undefined])
    })(),
  )

  it('name all services that share an address', () => {
    const events: unknown[] = []
    const urls = { static: 'http://one.test/a/', news: 'http://one.test/a', ticks: 'http://other.test' }
    const limiters = limitersOf({ urls }, (hosts, pause) => events.push([hosts, pause?.why]))
    schedule(
      limiters.forEndpoint({ host: 'news', name: 'note' }),
      throwError(() => refusal()),
    ).subscribe({ error: () => undefined })
    expect(events).toStrictEqual([[['static', 'news'], 'refuses']])
  })
})
