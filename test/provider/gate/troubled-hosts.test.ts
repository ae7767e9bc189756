import { catchError, defer, from, map, mergeMap, type Observable, of, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type CollectError, HttpError, TransportError } from '../../../src/model/errors.js'
import type { SettingsInput } from '../../../src/model/settings.js'
import { createGates } from '../../../src/provider/gate/gates.js'
import type { HttpReply, Transport } from '../../../src/provider/transport.js'
import { type Context, marbles } from '../../support/marbles.js'
import { askFreely, note, settingsOf } from '../support.js'

const LATENCY_MS = 50
const other = { ...note, name: 'other', path: '/others' }

interface Item {
  readonly name: string
  readonly endpoint?: typeof note
}

interface Market {
  readonly items: readonly Item[]
  readonly workers?: number
  readonly settings?: SettingsInput
  /** What a request is answered after the latency; an error is what befalls it. */
  readonly answer: (request: {
    readonly path: string
    readonly item: string
    readonly at: number
    readonly attempt: number
  }) => number | Error
  readonly retryAfter?: string
  readonly isList?: boolean
}

/** Asks for all items on virtual time, as the streams of a run do. */
const askFor = (m: Context, { items, workers = 20, settings, answer, retryAfter, isList = false }: Market) => {
  const parsed = settingsOf({ urls: { static: 'http://static.test' }, ...settings })
  const gates = createGates(parsed)
  const sent: { readonly item: string; readonly at: number; readonly path: string }[] = []
  const ends: Record<string, number> = {}
  let took = 0
  const transport: Transport = ({ url, body = '{}' }) =>
    defer(() => {
      const item = String((JSON.parse(body) as { data: { isin: string } }).data.isin)
      const path = new URL(url).pathname
      const request = { path, item, at: m.scheduler.now(), attempt: sent.filter((one) => one.item === item && one.path === path).length }
      sent.push(request)
      return timer(LATENCY_MS).pipe(
        map((): HttpReply => {
          const what = answer({ ...request, at: m.scheduler.now() })
          if (typeof what !== 'number') throw what
          return { status: what, body: Buffer.from('x'), ...(retryAfter === undefined || what === 200 ? {} : { retryAfter }) }
        }),
      )
    })
  const shared = { transport, settings: parsed, gates, timeoutMs: 10_000, random: () => 0.5, clock: () => m.scheduler.now(), isList }
  const one = ({ name, endpoint = note }: Item): Observable<string> =>
    askFreely({ ...shared, tell: () => undefined }, name)(endpoint, { data: { isin: name } }).pipe(
      map(() => 'served'),
      catchError((error: CollectError) => of(error.code)),
    )
  from(items)
    .pipe(mergeMap(one, workers))
    .subscribe({
      next: (end) => {
        ends[end] = (ends[end] ?? 0) + 1
        took = m.scheduler.now()
      },
    })
  m.flush()
  return { ends, sent, took, notices: gates.notices().map(({ text }) => text) }
}

const stocks = (count: number): readonly Item[] => Array.from({ length: count }, (_, n) => ({ name: `S${n}` }))
const reset = new TransportError('reset', 'other side closed')
const away = new TransportError('connect', 'connect ECONNREFUSED')
const noName = new TransportError('dns', 'getaddrinfo EAI_AGAIN')

describe('an outage', () => {
  const kinds = [
    ['500', 500],
    ['502', 502],
    ['503', 503],
    ['504', 504],
    ['408', 408],
    ['425', 425],
    ['resets', reset],
    ['refused connections', away],
    ['names that do not resolve', noName],
  ] as const
  for (const [what, answer] of kinds)
    for (const [from, ms] of [
      [0, 15_000],
      [400, 45_000],
      [400, 120_000],
    ] as const)
      it(
        `of ${what} for ${ms / 1_000} s, from ${from} ms on, costs no item, and few requests`,
        marbles((m) => {
          const { ends, sent, took } = askFor(m, {
            items: stocks(500),
            answer: ({ at }) => (at >= from && at < from + ms ? answer : 200),
          })

          expect(ends).toStrictEqual({ served: 500 })
          expect(sent.length - 500).toBeLessThan(60)
          expect(took).toBeLessThan(from + ms + 15_000 + 5_000)
        }),
      )

  it(
    'before the first answer of a run is waited for by a single request, as that for the master list',
    marbles((m) => {
      for (const answer of [502, 500, away, noName]) {
        const { ends, sent } = askFor(m, { items: stocks(1), answer: ({ at }) => (at < 3_500 ? answer : 200) })
        expect(ends).toStrictEqual({ served: 1 })
        expect(sent.length).toBeLessThan(9)
      }
    }),
  )

  it(
    'is waited for by a single list, though the host has served before',
    marbles((m) => {
      const list = { name: 'all', endpoint: other }
      for (const answer of [503, reset]) {
        const from = m.scheduler.now()
        const { ends } = askFor(m, {
          items: [{ name: 'first' }, list],
          workers: 1,
          isList: true,
          answer: ({ item, at }) => (item === 'all' && at < from + 20_000 ? answer : 200),
        })
        expect(ends).toStrictEqual({ served: 2 })
      }
    }),
  )

  it(
    'that lasts longer than the patience ends what waits, as host-down or as what it met itself',
    marbles((m) => {
      const { ends, took } = askFor(m, { items: stocks(200), settings: { downMs: 30_000 }, answer: () => 503 })
      expect((ends['host-down'] ?? 0) + (ends.http_503 ?? 0)).toBe(200)
      expect(ends['host-down']).toBeGreaterThan(150)
      expect(took).toBeLessThan(35_000)
    }),
  )

  it(
    'that names a pause (Retry-After) is not asked before it is over',
    marbles((m) => {
      const { ends, sent } = askFor(m, { items: stocks(100), answer: ({ at }) => (at < 30_000 ? 503 : 200), retryAfter: '30' })
      expect(ends).toStrictEqual({ served: 100 })
      expect(sent.filter(({ at }) => at > LATENCY_MS && at < 30_000)).toStrictEqual([])
    }),
  )
})

describe('what is no outage', () => {
  it(
    'one stock that answers 500 for ever costs itself alone, wherever it stands in the list',
    marbles((m) => {
      for (const bad of ['S0', 'S50', 'S99']) {
        const startedAt = m.scheduler.now()
        const { ends, took, notices } = askFor(m, { items: stocks(100), answer: ({ item }) => (item === bad ? 500 : 200) })
        expect(ends).toStrictEqual({ served: 99, http_500: 1 })
        expect(took - startedAt).toBeLessThan(3_000)
        expect(notices).toStrictEqual([])
      }
    }),
  )

  it(
    'ten stocks in a hundred that answer 503 for ever are asked three times each',
    marbles((m) => {
      const { ends, sent, notices } = askFor(m, { items: stocks(1_000), answer: ({ item }) => (item.endsWith('7') ? 503 : 200) })
      expect(ends).toStrictEqual({ served: 900, http_503: 100 })
      expect(sent.length).toBeLessThanOrEqual(900 + 300)
      expect(notices).toStrictEqual([])
    }),
  )

  it(
    'half of all first connections reset',
    marbles((m) => {
      const { ends, took, notices } = askFor(m, {
        items: stocks(400),
        workers: 50,
        answer: ({ item, attempt }) => (attempt === 0 && Number(item.slice(1)) % 2 === 0 ? reset : 200),
      })
      expect(ends).toStrictEqual({ served: 400 })
      expect(notices).toStrictEqual([])
      expect(took).toBeLessThan(5_000)
    }),
  )
})

describe('one endpoint', () => {
  const both = stocks(200).flatMap(({ name }) => [{ name }, { name, endpoint: other }])

  it(
    'that answers 429 for ever holds no other one of its host',
    marbles((m) => {
      let lastOther = 0
      const { ends, sent } = askFor(m, {
        items: both,
        workers: 400,
        answer: ({ path, at }) => {
          if (path === '/notes/all') return 429
          lastOther = at
          return 200
        },
      })
      expect(ends).toStrictEqual({ served: 200, rate_limit: 200 })
      expect(lastOther).toBeLessThan(1_000)
      expect(sent.filter(({ path }) => path === '/notes/all').length).toBeLessThan(220)
    }),
  )

  it(
    'that answers 503 for a while is waited for, and the others go on',
    marbles((m) => {
      let lastOther = 0
      const { ends } = askFor(m, {
        items: both,
        workers: 400,
        answer: ({ path, at }) => {
          if (path !== '/notes/all') lastOther = at
          return path === '/notes/all' && at < 45_000 ? 503 : 200
        },
      })
      expect(ends).toStrictEqual({ served: 400 })
      expect(lastOther).toBeLessThan(5_000)
    }),
  )

  it(
    'after the other makes the host the one that refuses: nothing is asked until the pause is over',
    marbles((m) => {
      const { ends, sent } = askFor(m, { items: both, workers: 20, answer: ({ at }) => (at < 200 ? 429 : 200), retryAfter: '9' })
      expect(ends).toStrictEqual({ served: 400 })
      expect(sent.filter(({ at }) => at > 200 && at < 9_000)).toStrictEqual([])
    }),
  )
})

describe('a line that is full', () => {
  it(
    'has fewer requests in flight, and loses none',
    marbles((m) => {
      // 20 answers a second, one after the other: 100 workers would wait 5 s each, and 250 longer than their time.
      let free = 0
      let bytes: (at: number) => void = () => undefined
      const parsed = settingsOf({ urls: { static: 'http://static.test' } })
      const gates = createGates(parsed)
      const transport: Transport = ({ transfer }) =>
        defer(() => {
          free = Math.max(free, m.scheduler.now()) + 50
          bytes = (at) => {
            if (transfer) transfer.bytesAt = at
          }
          const arrived = bytes
          return timer(free - m.scheduler.now()).pipe(
            map((): HttpReply => {
              arrived(m.scheduler.now())
              return { status: 200, body: Buffer.from('x') }
            }),
          )
        })
      const shared = { transport, settings: parsed, gates, timeoutMs: 10_000, random: () => 0.5, clock: () => m.scheduler.now() }
      const ends: string[] = []
      from(Array(1_000).keys())
        .pipe(
          mergeMap(
            (n) =>
              askFreely({ ...shared, tell: () => undefined }, `S${n}`)(note, { data: { isin: `S${n}` } }).pipe(
                catchError((error: CollectError) => of(error.code)),
              ),
            250,
          ),
        )
        .subscribe((end) => ends.push(end))
      m.flush()

      expect(ends.filter((end) => end !== 'x')).toStrictEqual([])
      expect(gates.notices()).toStrictEqual([])
    }),
  )

  it(
    'is told from a single answer that never comes: that one is tried as often as usual',
    marbles((m) => {
      const hung = new TransportError('deadline', 'no byte for 10000 ms')
      const { ends, sent } = askFor(m, { items: stocks(300), answer: ({ item }) => (item === 'S9' ? hung : 200) })
      expect(ends).toStrictEqual({ served: 299, deadline: 1 })
      expect(sent.filter(({ item }) => item === 'S9')).toHaveLength(3)
    }),
  )
})

it('an error of a status knows its number and its code', () => {
  expect(new HttpError(503, 30_000)).toMatchObject({ statusCode: 503, code: 'http_503', retryAfterMs: 30_000, isTemporary: true })
})
