import { defer, NEVER, type Observable, of, throwError } from 'rxjs'
import { expect, it } from 'vitest'
import type { HostLimiter } from '../../src/limiter/limiter.js'
import { createLimiters, type LimiterStatus, SharedLimiters } from '../../src/limiter/limiter-registry.js'
import { ThrottledError, TransportError } from '../../src/model/errors.js'
import { retryFailures } from '../../src/operators/retry-failures.js'
import { limitersOf, settingsOf } from '../http/support.js'
import { itWithMarbles, marbles } from '../support/marbles.js'
import { schedule } from './support.js'

const send = (limiter: HostLimiter, attempt$: Observable<unknown>, item = 'A') =>
  schedule(limiter, attempt$, { item }).subscribe({ error: () => undefined })

const refused = throwError(() => new ThrottledError(undefined))
const lost = throwError(() => new TransportError('connect', 'refused'))

/** `static note in 1 wait 2 held closed` */
const describeStatus = ({
  hosts,
  endpoint = '*',
  inFlight,
  waiting,
  isHeld,
  circuit,
}: LimiterStatus): string =>
  [hosts.join('+'), endpoint, `in ${inFlight} wait ${waiting}`, ...(isHeld ? ['held'] : []), circuit].join(
    ' ',
  )

it(
  'the status of the limiters has each host, with the services that share it, and each endpoint',
  marbles(() => {
    const shared = 'http://one.test'
    const limiters = createLimiters(
      settingsOf({ urls: { static: shared, news: `${shared}/`, web: 'http://web.test' } }),
    )
    expect(limiters.status()).toEqual([])
    send(limiters.forEndpoint({ host: 'static', name: 'note' }), NEVER)
    send(limiters.forEndpoint({ host: 'news', name: 'news' }), of('x'))
    send(limiters.forEndpoint({ host: 'web', name: 'page' }), NEVER)
    expect(limiters.status().map(describeStatus)).toEqual([
      'static+news * in 1 wait 0 closed',
      'static+news note in 1 wait 0 closed',
      'static+news news in 0 wait 0 closed',
      'web * in 1 wait 0 closed',
      'web page in 1 wait 0 closed',
    ])
    const [host] = limiters.status()
    expect([host?.maxInFlight, host?.maxPerSecond]).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
  }),
)

itWithMarbles(
  'an endpoint that answers 429 is held for its back-off, its requests wait, and then it has a limit',
  (m) => {
    const limiters = limitersOf({ urls: { static: 'http://one.test' } })
    const limiter = limiters.forEndpoint({ host: 'static', name: 'note' })
    send(limiter, refused)
    send(limiter, of('probe'))
    send(limiter, of('next'))
    const seen: unknown[] = []
    m.scheduler.schedule(() => void seen.push(limiters.status().map(describeStatus)), 1_999)
    m.scheduler.schedule(() => void seen.push(limiters.status()[1]), 2_100)
    m.flush()
    expect(seen[0]).toEqual(['static * in 0 wait 0 closed', 'static note in 0 wait 2 held closed'])
    expect(seen[1]).toMatchObject({ waiting: 0, isHeld: false, maxPerSecond: expect.closeTo(5, 0) })
  },
)

itWithMarbles('a host with a maximum rate never gets more, and no other host is slowed down', (m) => {
  const urls = { static: 'http://one.test', web: 'http://web.test' }
  const limiters = createLimiters(settingsOf({ urls, hosts: { static: { maxRate: 20 } } }))
  const sentAt: Record<string, number[]> = { note: [], page: [] }
  for (const [host, name] of [
    ['static', 'note'],
    ['web', 'page'],
  ] as const) {
    const limiter = limiters.forEndpoint({ host, name })
    for (let turn = 0; turn < 41; turn += 1)
      send(
        limiter,
        defer(() => of(sentAt[name]?.push(m.scheduler.now()))),
        `${turn}`,
      )
  }
  expect(limiters.status().map(({ maxPerSecond }) => maxPerSecond)).toEqual([
    20,
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
  ])
  m.flush()
  expect(sentAt.page?.at(-1)).toBe(0)
  expect(sentAt.note).toHaveLength(41)
  expect(sentAt.note?.at(-1)).toBeGreaterThanOrEqual(1_950)
})

itWithMarbles(
  'the circuit of a host that is down is open, half-open during a probe, and closed after an answer',
  (m) => {
    const limiters = limitersOf({ urls: { static: 'http://one.test' } })
    const limiter = limiters.forEndpoint({ host: 'static', name: 'note' })
    for (const item of ['A', 'B', 'C']) send(limiter, lost, item)
    const seen: string[] = []
    const look = (): void => void seen.push(...limiters.status().slice(0, 1).map(describeStatus))
    look()
    send(limiter, m.cold('100ms (x|)'), 'D')
    m.scheduler.schedule(look, 1_050)
    m.scheduler.schedule(look, 1_150)
    m.flush()
    expect(seen).toEqual([
      'static * in 0 wait 0 held open',
      'static * in 1 wait 0 held half-open',
      'static * in 0 wait 0 closed',
    ])
  },
)

const urls = { static: 'http://one.test', web: 'http://web.test' }
const note = { host: 'static', name: 'note' } as const

itWithMarbles('each run has its own patience for outages, also beside another that never ends', (m) => {
  const all = new SharedLimiters(settingsOf({ urls, patience: '20s' }))
  all.open(() => undefined)
  const ends: [end: unknown, at: number][] = []
  let isDown = true
  const begin = (): void => {
    const limiter = all.open(() => undefined).forEndpoint(note)
    for (const item of ['A', 'B', 'C'])
      schedule(
        limiter,
        defer(() => (isDown ? lost : of('answer'))),
        { item },
      )
        .pipe(retryFailures({ hasLimiter: true }))
        .subscribe({
          next: (got) => ends.push([got, m.scheduler.now()]),
          error: ({ code }) => ends.push([code, m.scheduler.now()]),
        })
  }
  begin()
  m.scheduler.schedule(begin, 24_000)
  m.scheduler.schedule(begin, 60_000)
  m.scheduler.schedule(() => (isDown = false), 70_000)
  m.flush()
  expect(ends.slice(0, 6).map(([, at]) => at)).toEqual([20_000, 20_000, 20_000, 44_000, 44_000, 44_000])
  expect(ends.slice(6).map(([end]) => end)).toEqual(['answer', 'answer', 'answer'])
})

itWithMarbles('a run reports the back-offs of the hosts of its plan, while they last', (m) => {
  const all = new SharedLimiters(settingsOf({ urls }))
  const open = (name: string, host: 'static' | 'web' = 'static') => {
    const told: unknown[] = []
    const run = all.open(
      (_, status, endpoint) => told.push([endpoint, status?.why, status?.ms]),
      [{ host, name }],
    )
    return { told, limiter: run.forEndpoint({ host, name }) }
  }
  const [first, other] = [open('note'), open('page', 'web')]
  send(first.limiter, refused)
  const held = open('note')
  let late: ReturnType<typeof open> | undefined
  m.scheduler.schedule(() => {
    late = open('note')
    send(late.limiter, of('probe'))
  }, 3_000)
  m.flush()
  expect(late?.told).toEqual([])
  expect([first.told, held.told, other.told]).toEqual([
    [
      ['note', 'refuses', 2_000],
      ['note', undefined, undefined],
    ],
    [
      ['note', 'refuses', 2_000],
      ['note', undefined, undefined],
    ],
    [],
  ])
})
