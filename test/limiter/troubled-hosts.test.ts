import { catchError, defer, from, map, mergeMap, type Observable, of, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { HttpReply, Transport } from '../../src/http/transport.js'
import { createLimiters } from '../../src/limiter/limiter-registry.js'
import { type CollectError, HttpError, TransportError } from '../../src/model/errors.js'
import { askFreely, note, settingsOf } from '../http/support.js'
import type { TestSettings } from '../support/limits.js'
import { type Context, itWithMarbles } from '../support/marbles.js'

const LATENCY_MS = 50
const other = { ...note, name: 'other', path: '/others' }

interface Item {
  readonly name: string
  readonly endpoint?: typeof note
}

interface Market {
  readonly items: readonly Item[]
  readonly workers?: number
  readonly settings?: TestSettings
  /** The status or error of a request, after the latency. */
  readonly answer: (request: {
    readonly path: string
    readonly item: string
    readonly at: number
    readonly attempt: number
  }) => number | Error
  readonly retryAfter?: string
  readonly isList?: boolean
}

/** Requests all items on virtual time, as the streams of a run do. */
const askFor = (
  m: Context,
  { items, workers = 20, settings, answer, retryAfter, isList = false }: Market,
) => {
  const parsed = settingsOf({ urls: { static: 'http://static.test' }, ...settings })
  const limiters = createLimiters(parsed)
  const sent: { readonly item: string; readonly at: number; readonly path: string }[] = []
  const ends: Record<string, number> = {}
  let took = 0
  const transport: Transport = ({ url, body = '{}' }) =>
    defer(() => {
      const item = String((JSON.parse(body) as { data: { isin: string } }).data.isin)
      const path = new URL(url).pathname
      const request = {
        path,
        item,
        at: m.scheduler.now(),
        attempt: sent.filter((one) => one.item === item && one.path === path).length,
      }
      sent.push(request)
      return timer(LATENCY_MS).pipe(
        map((): HttpReply => {
          const what = answer({ ...request, at: m.scheduler.now() })
          if (typeof what !== 'number') throw what
          return {
            status: what,
            body: Buffer.from('x'),
            ...(retryAfter === undefined || what === 200 ? {} : { retryAfter }),
          }
        }),
      )
    })
  const shared = {
    transport,
    settings: parsed,
    limiters,
    timeoutMs: 10_000,
    random: () => 0.5,
    clock: () => m.scheduler.now(),
    isList,
  }
  const one = ({ name, endpoint = note }: Item): Observable<string> =>
    askFreely({ ...shared, onRequestEvent: () => undefined }, name)(endpoint, { data: { isin: name } }).pipe(
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
  return { ends, sent, took, notices: limiters.warnings().map(({ text }) => text) }
}

const stocks = (count: number): readonly Item[] =>
  Array.from({ length: count }, (_, n) => ({ name: `S${n}` }))
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
      itWithMarbles(
        `of ${what} for ${ms / 1_000} s, from ${from} ms on, loses no item and costs few requests`,
        (m) => {
          const { ends, sent, took } = askFor(m, {
            items: stocks(500),
            answer: ({ at }) => (at >= from && at < from + ms ? answer : 200),
          })

          expect(ends).toStrictEqual({ served: 500 })
          expect(sent.length - 500).toBeLessThan(60)
          expect(took).toBeLessThan(from + ms + 15_000 + 5_000)
        },
      )

  itWithMarbles(
    'before the first answer of a run is survived by a single list, such as the master list',
    (m) => {
      for (const answer of [502, 500, away, noName]) {
        const { ends, sent } = askFor(m, {
          items: stocks(1),
          isList: true,
          answer: ({ at }) => (at < 3_500 ? answer : 200),
        })
        expect(ends).toStrictEqual({ served: 1 })
        expect(sent.length).toBeLessThan(9)
      }
    },
  )

  itWithMarbles('is survived by a single list after the host has answered before', (m) => {
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
  })

  itWithMarbles(
    'that lasts longer than the patience fails waiting requests with host-down or their own error',
    (m) => {
      const { ends, took } = askFor(m, {
        items: stocks(200),
        settings: { patience: '30s' },
        answer: () => 503,
      })
      expect((ends['host-down'] ?? 0) + (ends.http_503 ?? 0)).toBe(200)
      expect(ends['host-down']).toBeGreaterThan(150)
      expect(took).toBeLessThan(35_000)
    },
  )

  itWithMarbles('with a Retry-After gets no request before it is over', (m) => {
    const { ends, sent } = askFor(m, {
      items: stocks(100),
      answer: ({ at }) => (at < 30_000 ? 503 : 200),
      retryAfter: '30',
    })
    expect(ends).toStrictEqual({ served: 100 })
    expect(sent.filter(({ at }) => at > LATENCY_MS && at < 30_000)).toStrictEqual([])
  })
})

describe('an outage at the end of a phase', () => {
  itWithMarbles('costs no item, if at least two are left', (m) => {
    for (const answer of [503, reset, new TransportError('deadline', 'no answer')])
      for (const left of [2, 3, 4]) {
        const from = m.scheduler.now()
        const { ends } = askFor(m, {
          items: stocks(20 + left),
          workers: 20,
          answer: ({ item, at }) => (Number(item.slice(1)) >= 20 && at < from + 15_000 ? answer : 200),
        })
        expect(ends).toStrictEqual({ served: 20 + left })
      }
  })

  itWithMarbles('does not make a run wait for one stock that fails for ever while others are served', (m) => {
    const { ends, took } = askFor(m, {
      items: stocks(60),
      workers: 5,
      answer: ({ item }) => (item === 'S30' ? 503 : 200),
    })
    expect(ends).toStrictEqual({ served: 59, http_503: 1 })
    expect(took).toBeLessThan(5_000)
  })
})

itWithMarbles('a list that failed by itself before still waits for a host that cannot be reached', (m) => {
  const list = { name: 'all', endpoint: other }
  const { ends } = askFor(m, {
    items: [list, ...stocks(30)],
    workers: 2,
    isList: true,
    answer: ({ item, at, attempt }) => (item !== 'all' ? 200 : attempt < 2 ? 500 : at < 30_000 ? away : 200),
  })
  expect(ends).toStrictEqual({ served: 31 })
})

itWithMarbles('a second outage of one list is waited for like the first', (m) => {
  const pages = Array.from({ length: 60 }, () => ({ name: 'all' }))
  const isDown = (at: number): boolean => (at >= 200 && at < 1_500) || (at >= 3_000 && at < 8_000)
  const { ends } = askFor(m, {
    items: pages,
    workers: 1,
    isList: true,
    answer: ({ at }) => (isDown(at) ? 503 : 200),
  })
  expect(ends).toStrictEqual({ served: 60 })
})

itWithMarbles('an outage at the start is waited for, even if lists have one attempt only', (m) => {
  for (const retries of [0, 1]) {
    const from = m.scheduler.now()
    const answer = ({ at }: { at: number }) => (at < from + 10_000 ? 502 : 200)
    expect(askFor(m, { items: stocks(1), isList: true, settings: { retries }, answer }).ends).toStrictEqual({
      served: 1,
    })
  }
})

itWithMarbles('bodies that are cut off for a while are waited for', (m) => {
  const cut = new TransportError('truncated', 'aborted', { hasBegun: true })
  const { ends, sent } = askFor(m, {
    items: stocks(300),
    answer: ({ at }) => (at >= 200 && at < 45_000 ? cut : 200),
  })
  expect(ends).toStrictEqual({ served: 300 })
  expect(sent.length).toBeLessThan(360)
})

describe('failures that are not an outage', () => {
  itWithMarbles(
    'one stock that answers 503 fails after its retries, if it is the last or the only one',
    (m) => {
      const cut = new TransportError('deadline', 'no whole answer', { hasBegun: true })
      for (const answer of [503, 500, reset, cut])
        for (const served of answer === cut ? [20] : [0, 20]) {
          const startedAt = m.scheduler.now()
          const bad = `S${served}`
          const { ends, sent, took } = askFor(m, {
            items: stocks(served + 1),
            answer: ({ item }) => (item === bad ? answer : 200),
          })
          expect(ends).toStrictEqual({
            ...(served > 0 ? { served } : {}),
            [typeof answer === 'number' ? `http_${answer}` : answer.code]: 1,
          })
          expect(sent.filter(({ item }) => item === bad)).toHaveLength(3)
          expect(took - startedAt).toBeLessThan(3_000)
        }
    },
  )

  itWithMarbles('one stock that always answers 500 fails alone, at any position in the list', (m) => {
    for (const bad of ['S0', 'S50', 'S99']) {
      const startedAt = m.scheduler.now()
      const { ends, took, notices } = askFor(m, {
        items: stocks(100),
        answer: ({ item }) => (item === bad ? 500 : 200),
      })
      expect(ends).toStrictEqual({ served: 99, http_500: 1 })
      expect(took - startedAt).toBeLessThan(3_000)
      expect(notices).toStrictEqual([])
    }
  })

  itWithMarbles('ten stocks in a hundred that always answer 503 get three attempts each', (m) => {
    const { ends, sent, notices } = askFor(m, {
      items: stocks(1_000),
      answer: ({ item }) => (item.endsWith('7') ? 503 : 200),
    })
    expect(ends).toStrictEqual({ served: 900, http_503: 100 })
    expect(sent.length).toBeLessThanOrEqual(900 + 300)
    expect(notices).toStrictEqual([])
  })

  itWithMarbles('half of all first connections are reset', (m) => {
    const { ends, took, notices } = askFor(m, {
      items: stocks(400),
      workers: 50,
      answer: ({ item, attempt }) => (attempt === 0 && Number(item.slice(1)) % 2 === 0 ? reset : 200),
    })
    expect(ends).toStrictEqual({ served: 400 })
    expect(notices).toStrictEqual([])
    // For the time of a test the rate is halved: it may be a limit.
    expect(took).toBeLessThan(12_000)
  })
})

describe('one endpoint', () => {
  const both = stocks(200).flatMap(({ name }) => [{ name }, { name, endpoint: other }])

  itWithMarbles('that always answers 429 does not delay other endpoints of its host', (m) => {
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
  })

  itWithMarbles('that answers 503 for a while backs off alone', (m) => {
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
  })

  itWithMarbles('after another makes the whole host back off until Retry-After is over', (m) => {
    const { ends, sent } = askFor(m, {
      items: both,
      workers: 20,
      answer: ({ at }) => (at < 200 ? 429 : 200),
      retryAfter: '9',
    })
    expect(ends).toStrictEqual({ served: 400 })
    expect(sent.filter(({ at }) => at > 200 && at < 9_000)).toStrictEqual([])
  })
})

itWithMarbles(
  'an endpoint whose replies never end in time is waited for as long as a host that is down',
  (m) => {
    const late = new TransportError('deadline', 'no whole answer within 60 s', { hasBegun: true })
    const answer = ({ item }: { item: string }) => (item === 'S0' ? 200 : late)
    const { ends, sent, took } = askFor(m, { items: stocks(13), settings: { patience: '30s' }, answer })
    expect(ends.served).toBe(1)
    expect((ends['host-down'] ?? 0) + (ends.deadline ?? 0)).toBe(12)
    expect(took).toBeLessThan(35_000)
    expect(sent.length).toBeLessThan(25)
  },
)

describe('a saturated network link', () => {
  itWithMarbles('lowers the concurrency and loses no request', (m) => {
    // 20 replies a second: 100 workers would wait 5 s each, and 250 longer than their timeout.
    let free = 0
    let bytes: (at: number) => void = () => undefined
    const parsed = settingsOf({ urls: { static: 'http://static.test' } })
    const limiters = createLimiters(parsed)
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
    const shared = {
      transport,
      settings: parsed,
      limiters,
      timeoutMs: 10_000,
      random: () => 0.5,
      clock: () => m.scheduler.now(),
    }
    const ends: string[] = []
    from(Array(1_000).keys())
      .pipe(
        mergeMap(
          (n) =>
            askFreely({ ...shared, onRequestEvent: () => undefined }, `S${n}`)(note, {
              data: { isin: `S${n}` },
            }).pipe(catchError((error: CollectError) => of(error.code))),
          250,
        ),
      )
      .subscribe((end) => ends.push(end))
    m.flush()

    expect(ends.filter((end) => end !== 'x')).toStrictEqual([])
    expect(limiters.warnings()).toStrictEqual([])
  })

  itWithMarbles('is not assumed for a single reply that never arrives: it gets the usual attempts', (m) => {
    const hung = new TransportError('deadline', 'no byte for 10000 ms')
    const { ends, sent } = askFor(m, {
      items: stocks(300),
      answer: ({ item }) => (item === 'S9' ? hung : 200),
    })
    expect(ends).toStrictEqual({ served: 299, deadline: 1 })
    expect(sent.filter(({ item }) => item === 'S9')).toHaveLength(3)
  })
})

it('HttpError carries status, code and Retry-After', () => {
  expect(new HttpError(503, 30_000)).toMatchObject({
    statusCode: 503,
    code: 'http_503',
    retryAfterMs: 30_000,
    isTemporary: true,
  })
})
