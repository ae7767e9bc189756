import { asyncScheduler, defer, EMPTY, NEVER, type Observable, of, range, Subject, throwError } from 'rxjs'
import { mergeMap, tap } from 'rxjs/operators'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { BadAnswer, HostClosed, HttpError, Throttled, TransportError } from '../../../src/model/errors.js'
import { createGates } from '../../../src/provider/gate/gates.js'
import { type Asker, createHostGates, type Pause } from '../../../src/provider/gate/host-gate.js'
import { type Context, marbles } from '../../support/marbles.js'
import { settingsOf } from '../support.js'

/** The limiter of one endpoint; each request is for another item by default. */
const createTestLimiter = (settings: Parameters<typeof settingsOf>[0] = {}, onBackoff?: (status: Pause | undefined) => void) => {
  const limiters = createHostGates('static', settingsOf(settings), onBackoff === undefined ? {} : { onBackoff })
  let items = 0
  const of = (endpoint: string) => {
    const limiter = limiters.of(endpoint)
    return {
      ...limiter,
      notices: limiters.notices,
      of,
      through: <T>(attempt$: Observable<T>, asker: Partial<Asker> = {}) =>
        limiter.through(attempt$, { item: `item ${items++}`, idleMs: 10_000, ...asker }),
    }
  }
  return of('note')
}
type TestLimiter = ReturnType<typeof createTestLimiter>

/** Sends one request at once whose end the host is judged by. */
const send = (limiter: TestLimiter, error?: Error, times = 1): void => {
  for (let turn = 0; turn < times; turn += 1)
    limiter.through(error === undefined ? of('x') : throwError(() => error)).subscribe({ error: () => undefined })
}

const refusal = (retryAfterMs?: number) => new Throttled(retryAfterMs)
const lost = new TransportError('connect', 'connect ECONNREFUSED')

/** Lets a request wait, and notes when it was sent, or what it ended with. */
const waiting = (m: Context, limiter: TestLimiter, log: string[], name: string, end$ = m.cold('10ms (x|)')) =>
  limiter
    .through(defer(() => end$.pipe(tap({ subscribe: () => log.push(`${m.scheduler.now()} ${name}`) }))))
    .subscribe({ error: (error: Error) => log.push(`${m.scheduler.now()} ${name} ${error.message}`) })

describe('a host’s limiter, while nothing is held', () => {
  for (const [what, marble, subs] of [
    ['values', '-a-(b|)', '^--!'],
    ['an end without a value', '--|', '^-!'],
    ['an error', '--#', '^-!'],
    ['silence', '-', '^'],
  ] as const)
    it(
      `hands on ${what} at once`,
      marbles((m) => {
        const attempt = m.cold(marble, undefined, new HttpError(503))

        m.expect(createTestLimiter().through(attempt)).toBeObservable(marble, undefined, new HttpError(503))
        m.expect(attempt).toHaveSubscriptions(subs)
      }),
    )

  it('sends in the same turn', () => {
    let sent = 0
    createTestLimiter()
      .through(defer(() => of(++sent)))
      .subscribe()
    expect(sent).toBe(1)
  })

  it(
    'unsubscribes from the attempt that is unsubscribed from',
    marbles((m) => {
      const attempt = m.cold('----a|')

      m.expect(createTestLimiter().through(attempt), '--!').toBeObservable('-')
      m.expect(attempt).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'hands on a bug, which says nothing of the host',
    marbles((m) => {
      const limiter = createTestLimiter()
      send(limiter, new TypeError('a bug'), 20)
      const attempt = m.cold('(a|)')

      m.expect(limiter.through(attempt)).toBeObservable('(a|)')
      expect(limiter.notices()).toStrictEqual([])
    }),
  )
})

describe('a host’s limiter, while the host is held', () => {
  it(
    'lets one request go after the pause, and the others once it is answered, in the order in which they came',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, undefined, 400)
      send(limiter, refusal())
      for (const name of ['A', 'B', 'C']) waiting(m, limiter, log, name)
      m.flush()

      expect(log).toStrictEqual(['2000 A', '2010 B', '2020 C'])
    }),
  )

  it(
    'takes for the same refusal what comes back refused of the requests that were sent before, and keeps the longer pause',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      const first = ['-#', '--#', '---#'].map((marble, place) => m.cold(marble, undefined, refusal([undefined, 9_000, 4_000][place])))
      for (const attempt of first) limiter.through(attempt).subscribe({ error: () => undefined })
      m.cold('500ms x').subscribe(() => waiting(m, limiter, log, 'A'))
      m.flush()

      expect(log).toStrictEqual(['9002 A'])
      expect(limiter.notices()).toStrictEqual([
        'static note refused requests (429, or pages instead of data); backed off once; the lowest rate was 5 requests/s',
      ])
    }),
  )

  it(
    'lets the next one go when the one that was to show whether the host serves again is cancelled',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, refusal())
      const probe = waiting(m, limiter, log, 'A', m.cold('-'))
      waiting(m, limiter, log, 'B')
      m.cold('2500ms x').subscribe(() => probe.unsubscribe())
      m.flush()

      expect(log).toStrictEqual(['2000 A', '2500 B'])
    }),
  )

  it(
    'forgets a request that is unsubscribed from in the queue',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, refusal())
      waiting(m, limiter, log, 'A').unsubscribe()
      const [inTime, never] = [waiting(m, limiter, log, 'B'), waiting(m, limiter, log, 'C')]
      m.cold('2s x').subscribe(() => never.unsubscribe())
      m.flush()

      expect(inTime.closed).toBe(true)
      expect(log).toStrictEqual(['2000 B'])
    }),
  )

  it(
    'sends nothing in the place of what is cancelled when all are cancelled one after the other',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, refusal())
      const all = ['A', 'B', 'C'].map((name) => waiting(m, limiter, log, name, m.cold('-')))
      m.cold('3s x').subscribe(() => {
        for (const one of all) one.unsubscribe()
      })
      m.flush()

      expect(log).toStrictEqual(['2000 A'])
    }),
  )

  it(
    'loses none of thousands that wait, and their end at once does not grow the stack',
    marbles((m) => {
      const limiter = createTestLimiter({ throttleMs: 0 })
      const served: number[] = []
      const blocker = new Subject<never>()
      limiter.through(blocker).subscribe({ error: () => undefined })
      blocker.error(refusal(1_000))
      range(0, 20_000)
        .pipe(mergeMap((n) => limiter.through(of(n))))
        .subscribe((n) => served.push(n))
      m.flush()

      expect(served).toStrictEqual(Array.from({ length: 20_000 }, (_, n) => n))
    }),
  )

  it(
    'ends thousands that come one from the other, when the host is given up, without growing the stack',
    marbles((m) => {
      const limiter = createTestLimiter({ throttleGiveUpMs: 0 })
      const reasons: unknown[] = []
      send(limiter, refusal())
      const again = (left: number): void =>
        void limiter.through(throwError(() => refusal())).subscribe({
          error: (error: unknown) => {
            if (error instanceof HostClosed) reasons.push(error.status)
            if (left > 0) again(left - 1)
          },
        })
      again(20_000)
      m.flush()

      expect(reasons).toHaveLength(20_000)
      expect(new Set(reasons)).toStrictEqual(new Set(['rate_limit']))
    }),
  )

  it(
    'takes three pages or empty bodies in a row for a refusal, two and an answer for none',
    marbles((m) => {
      const [page, empty] = [new BadAnswer('html', 'a page'), new BadAnswer('empty', 'nothing')]
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
    }),
  )

  it(
    'gives up a host that has refused everything for too long, and asks it once after each pause',
    marbles((m) => {
      const limiter = createTestLimiter({ throttleGiveUpMs: 5_000 })
      const log: string[] = []
      send(limiter, refusal())
      for (const name of ['A', 'B']) waiting(m, limiter, log, name, m.cold('#', undefined, refusal()))
      for (const at of [4_000, 7_000, 7_001, 14_000, 14_020]) m.cold(`${at}ms x`).subscribe(() => waiting(m, limiter, log, `at ${at}`))
      m.flush()

      const closed = '429: the host has refused every request for 6 s'
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
    }),
  )
})

describe('a host’s limiter, while the host is down', () => {
  it(
    'sends one request after 1 s, 2 s, 4 s; the others wait and all go when one is answered, by whatever status',
    marbles((m) => {
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
      expect(limiter.notices()).toStrictEqual(['static was down once, 7 s in total'])
    }),
  )

  it(
    'tries every 15 s in a long outage, and lets few requests go at first when it is over',
    marbles((m) => {
      const limiter = createTestLimiter()
      const [log, inFlight]: [string[], number[]] = [[], []]
      let busy = 0
      send(limiter, lost, 3)
      for (let turn = 0; turn < 7; turn += 1) waiting(m, limiter, log, 'probe', m.cold('#', undefined, lost))
      waiting(m, limiter, log, 'served', m.cold('(x|)'))
      const answer$ = m.cold('500ms (x|)').pipe(tap({ subscribe: () => inFlight.push(++busy), finalize: () => (busy -= 1) }))
      for (let turn = 0; turn < 100; turn += 1) limiter.through(answer$).subscribe()
      m.flush()

      const tries = log.filter((line) => !line.includes(': '))
      expect(tries.map((line) => Number.parseInt(line, 10))).toStrictEqual([1_000, 3_000, 7_000, 15_000, 30_000, 45_000, 60_000, 75_000])
      expect(inFlight.slice(0, 8)).toStrictEqual([1, 2, 3, 4, 5, 6, 7, 8])
      expect(inFlight).toHaveLength(100)
    }),
  )

  it(
    'turns what meets the outage into an error that is tried again and uses up no retries',
    marbles((m) => {
      const limiter = createTestLimiter()
      const errors: unknown[] = []
      for (let turn = 0; turn < 4; turn += 1)
        limiter.through(throwError(() => lost)).subscribe({ error: (error: unknown) => errors.push(error) })
      m.flush()

      expect(errors.map((error) => (error as Error).constructor.name)).toStrictEqual([
        'TransportError',
        'TransportError',
        'HostAwayError',
        'HostAwayError',
      ])
      expect(errors[2]).toMatchObject({ verdict: 'await-host', message: 'connect: connect ECONNREFUSED' })
    }),
  )

  it(
    'is not closed by two failures in a row, nor by many with an answer of any status between',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      for (const answer of [undefined, new HttpError(404), new BadAnswer('schema', 'another shape')]) {
        send(limiter, lost, 2)
        send(limiter, answer)
      }
      send(limiter, new TransportError('tls', 'no trust'), 9)
      send(limiter, new TransportError('too_large', 'too long'), 9)
      waiting(m, limiter, log, 'A')
      m.flush()

      expect(log).toStrictEqual(['0 A'])
    }),
  )

  const away = 'host-down: the host did not recover within 10 s (downMs); last error: connect: connect ECONNREFUSED'

  it(
    'ends what waits after downMs, though a request is still on its way, and what comes later at once; an answer opens it again',
    marbles((m) => {
      const limiter = createTestLimiter({ downMs: 10_000 })
      const log: string[] = []
      send(limiter, lost, 3)
      waiting(m, limiter, log, 'A', m.cold('30s x'))
      waiting(m, limiter, log, 'B')
      for (const at of [20_000, 40_000]) m.cold(`${at}ms x`).subscribe(() => waiting(m, limiter, log, `at ${at}`))
      m.flush()

      expect(log).toStrictEqual(['1000 A', `10000 B ${away}`, `20000 at 20000 ${away}`, '40000 at 40000'])
    }),
  )

  it(
    'has one patience for all outages of a run',
    marbles((m) => {
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

      // 3.01 s were waited in the first outage: 6.99 s are left for the second.
      expect(log.filter((line) => !/ A \w+:/.test(line))).toStrictEqual(['1000 A', '3000 B', '21000 C', `26990 D ${away}`])
    }),
  )

  it(
    'ends at once what has another source to turn to',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      send(limiter, lost, 3)
      const note = (error: Error): void => void log.push(`${m.scheduler.now()} ${error.message}`)
      m.cold('500ms x').subscribe(() => limiter.through(m.cold('x|'), { failFast: true }).subscribe({ error: note }))
      m.flush()

      expect(log).toStrictEqual(['500 host-down: the host has been unreachable for 1 s'])
    }),
  )

  it(
    'does not take the failures of requests that were sent before for more outages',
    marbles((m) => {
      const limiter = createTestLimiter()
      const log: string[] = []
      for (const marble of ['#', '#', '#', '100ms #', '200ms #', '300ms #'])
        limiter.through(m.cold(marble, undefined, lost)).subscribe({ error: () => undefined })
      m.cold('1ms x').subscribe(() => waiting(m, limiter, log, 'A'))
      m.flush()

      expect(log).toStrictEqual(['1000 A'])
    }),
  )
})

it(
  'waits at most twice as long when the clock of the machine is put back by a year',
  marbles((m) => {
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
  }),
)

it('leaves no timer when nothing waits', () => {
  const limiter = createTestLimiter()
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  send(limiter, refusal())
  const one = limiter.through(NEVER).subscribe()
  expect(timers()).toBe(before + 1)
  one.unsubscribe()
  expect(timers()).toBe(before)
  limiter.through(EMPTY).subscribe().unsubscribe()
  expect(timers()).toBe(before)
})

describe('what a limiter tells of its pauses', () => {
  const page = new BadAnswer('html', 'a page')

  it.each([
    { what: 'a 429', errors: [refusal(4_000)], pauses: [{ why: 'refuses', ms: 4_000, sinceMs: 0 }] },
    { what: 'pages in a row', errors: [page, page, page], pauses: [{ why: 'pages', ms: 2_000, sinceMs: 0 }] },
    { what: 'an outage', errors: [lost, lost, lost], pauses: [{ why: 'down', ms: 1_000, sinceMs: 0, giveUpMs: 300_000 }] },
    { what: 'one page', errors: [page], pauses: [] },
  ])('is why and how long, for $what, and that it is over, once each', ({ errors, pauses }) =>
    marbles((m) => {
      const told: unknown[] = []
      const limiter = createTestLimiter({}, (pause) => told.push(pause))
      for (const error of errors) send(limiter, error)
      expect(told).toStrictEqual(pauses)
      m.cold('10s x').subscribe(() => {
        send(limiter)
        send(limiter)
      })
      m.flush()
      expect(told).toStrictEqual(pauses.length === 0 ? [] : [...pauses, undefined])
    })(),
  )

  it('names all services that share an address', () => {
    const told: unknown[] = []
    const urls = { static: 'http://one.test/a/', news: 'http://one.test/a', ticks: 'http://other.test' }
    const limiters = createGates(settingsOf({ urls }), (hosts, pause) => told.push([hosts, pause?.why]))
    limiters
      .of({ host: 'news', name: 'note' })
      .through(
        throwError(() => refusal()),
        { item: 'A', idleMs: 1 },
      )
      .subscribe({ error: () => undefined })
    expect(told).toStrictEqual([[['static', 'news'], 'refuses']])
  })
})
