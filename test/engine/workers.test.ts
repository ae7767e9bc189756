import fc from 'fast-check'
import { defer, finalize, identity, map, of, range, switchMap, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { perStock } from '../../src/engine/define-stream.js'
import { type ItemWork, workOnItems } from '../../src/engine/in-process.js'
import type { Transport } from '../../src/http/transport.js'
import { createSuspectDetector } from '../../src/market/refusal-policy.js'
import { createResult, type Item, skippedResult } from '../../src/model/outcome.js'
import { type Context, itWithMarbles, marbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { createCall, masterList, page, row, status, tiny, tinyCollector } from '../support/tiny.js'

const five = ['A', 'B', 'C', 'D', 'E']

/** The most requests in flight at the same time, of all streams and of each. */
const mostInFlight = (
  m: Context,
  workers: Record<string, number>,
  delayOf: (call: string) => number,
  stocks: readonly string[],
) => {
  const now: Record<string, number> = {}
  const most: Record<string, number> = {}
  const streams = Object.keys(workers).map((name) => tiny(name, { workers: workers[name] ?? 0 }))
  const collector = tinyCollector(m, {
    stocks,
    streams,
    answers: (call) =>
      defer(() => {
        const name = call.split(' ')[0] ?? ''
        now[name] = (now[name] ?? 0) + 1
        most[name] = Math.max(most[name] ?? 0, now[name])
        return timer(delayOf(call)).pipe(
          map(() => row),
          finalize(() => {
            now[name] = (now[name] ?? 0) - 1
          }),
        )
      }),
  })
  recordEvents(m, collector.events())
  m.flush()
  return { most, requests: collector.requested }
}

describe('the workers of a stream', () => {
  itWithMarbles('request that many stocks at the same time, and the next one when one is done', (m) => {
    const answer = m.cold('   ---(r|)', { r: row })
    const collector = tinyCollector(m, {
      stocks: five,
      streams: [tiny('news', { workers: 2 })],
      answers: () => answer,
    })
    const outcome = collector.run().pipe(map((report) => report.outcome))

    m.expect(outcome).toBeObservable('---------(a|)', { a: 'complete' })
    m.expect(answer).toHaveSubscriptions([
      '^--!         ',
      '^--!         ',
      '---^--!      ',
      '---^--!      ',
      '------^--!   ',
    ])
  })

  itWithMarbles('are as many as the settings specify', (m) => {
    const answer = m.cold('---(r|)', { r: row })
    const collector = tinyCollector(m, {
      stocks: ['A', 'B', 'C'],
      streams: [tiny('news', { workers: 1 })],
      answers: () => answer,
      settings: { workers: { news: 3 } },
    })

    m.expect(collector.run().pipe(map(({ outcome }) => outcome))).toBeObservable('---(a|)', { a: 'complete' })
    m.expect(answer).toHaveSubscriptions(['^--!', '^--!', '^--!'])
  })

  itWithMarbles('belong to one stream: a stream does not use those of another', (m) => {
    const { most } = mostInFlight(m, { news: 2, filings: 3 }, () => 4, five)

    expect(most).toStrictEqual({ news: 2, filings: 3 })
  })

  it('are all busy and never exceeded, however long each answer takes; each stock is requested once', () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 }),
      (workers, delays) => {
        const stocks = delays.map((_, place) => `S${place}`)
        const delayOf = (call: string): number => delays[stocks.indexOf(call.split(' ')[1] ?? '')] ?? 0
        const check = marbles((m) => {
          const { most, requests } = mostInFlight(m, { news: workers }, delayOf, stocks)
          expect(most.news).toBe(Math.min(workers, stocks.length))
          expect(requests.map((line) => line.split(' ')[2])).toStrictEqual(['all', ...stocks])
        })
        check()
      },
    )
    fc.assert(property)
  })

  itWithMarbles('continue if answers come synchronously after busy workers', (m) => {
    const many = Array.from({ length: 6_000 }, (_, place) => `S${place}`)
    const collector = tinyCollector(m, {
      stocks: many,
      streams: [tiny('news')],
      answers: (call) =>
        call === 'news S0' || call === 'news S1' ? m.cold('100ms (r|)', { r: row }) : of(row),
    })
    const count = map(
      ({ scripts }: { scripts: Record<string, { items: { success: number } }> }) =>
        scripts.news?.items.success,
    )

    m.expect(collector.run().pipe(count)).toBeObservable('100ms (a|)', { a: 6_000 })
  })

  itWithMarbles(
    'keep their stocks during the back-off after a 429: no request until one has succeeded',
    (m) => {
      let requests = 0
      const isFirst = (): boolean => requests++ === 0
      const collector = tinyCollector(m, {
        stocks: ['A', 'B', 'C'],
        streams: [tiny('news', { workers: 2 })],
        answers: (call) =>
          call === 'news A' && isFirst() ? of(status(429)) : m.cold('100ms (r|)', { r: row }),
        settings: { retries: 0 },
      })
      recordEvents(m, collector.events())
      m.flush()

      expect(collector.requested).toStrictEqual([
        '0 master-data all',
        '0 news A',
        '2000 news A',
        '2100 news B',
        '2300 news C',
      ])
    },
  )
})

describe('a worker', () => {
  itWithMarbles(
    'requests the next stock when its answer is decoded, and keeps its stock for a retry',
    (m) => {
      const requests: string[] = []
      const transport: Transport = ({ url, body }) =>
        defer(() => {
          if (url.endsWith('master-data')) return of(masterList(...five))
          const { of: stock } = JSON.parse(body ?? '') as { readonly of: string }
          const isFirst = !requests.some((line) => line.endsWith(stock))
          requests.push(`${m.scheduler.now()} ${stock}`)
          return timer(10).pipe(map(() => (isFirst && stock === 'A' ? page : row)))
        })
      const collector = tinyCollector(m, {
        stocks: five,
        streams: [tiny('news', { workers: 2 })],
        transport,
        settings: { backoffMs: 0 },
      })
      const outcome = collector
        .run()
        .pipe(map((report) => [report.outcome, report.scripts.news?.items.success]))

      m.expect(outcome).toBeObservable('30ms (a|)', { a: ['complete', 5] })
      m.flush()
      expect(requests).toStrictEqual(['0 A', '0 B', '10 C', '10 A', '20 D', '20 E'])
    },
  )

  itWithMarbles('takes the next stock while its own is told to wait, which goes on after it', (m) => {
    let isRefused = false
    const answers = (call: string) => {
      if (call !== 'news B' || isRefused) return m.cold('100ms (r|)', { r: row })
      isRefused = true
      return m.cold('100ms (r|)', { r: { ...status(429), retryAfter: '3' } })
    }
    const many = [...five, ...Array.from({ length: 60 }, (_, place) => `S${place}`)]
    const collector = tinyCollector(m, { stocks: many, streams: [tiny('news', { workers: 1 })], answers })
    recordEvents(m, collector.events())
    m.flush()

    const times = collector.requested.filter((line) => /news [BC]$|news S(26|27|59)$/.test(line))
    expect(times).toStrictEqual([
      '100 news B',
      '200 news C',
      '3100 news S26',
      '3200 news B',
      '3300 news S27',
      '6500 news S59',
    ])
  })

  itWithMarbles('does not hold up the others, however many of them are told to wait', (m) => {
    const many = Array.from({ length: 600 }, (_, place) => `S${place}`)
    const refused = new Set<string>()
    const answers = (call: string) => {
      const isRefused = Number(call.slice('news S'.length)) % 15 === 7 && !refused.has(call)
      refused.add(call)
      return m.cold('50ms (r|)', { r: isRefused ? { ...status(429), retryAfter: '30' } : row })
    }
    const collector = tinyCollector(m, {
      stocks: many,
      streams: [tiny('news', { workers: 2 })],
      answers,
      settings: { throttleMs: 1 },
    })
    const served: unknown[] = []
    collector.run().subscribe((report) => served.push(report.scripts.news?.items.success))
    m.flush()

    expect(served).toStrictEqual([600])
    expect(collector.requested.length).toBe(1 + 600 + 40)
  })

  itWithMarbles('is no hostage of a request that all stocks share, if that is told to wait', (m) => {
    let isRefused = false
    const news = tiny('news', {
      workers: 2,
      work: perStock((stock, { ask, shared }) =>
        ask(createCall('news'), { of: stock.Symbol }).pipe(
          switchMap(() => shared('token', () => ask(createCall('news'), { of: 'token' }))),
          map((rows) => createResult(rows)),
        ),
      ),
    })
    const answers = (call: string) => {
      if (call !== 'news token' || isRefused) return m.cold('50ms (r|)', { r: row })
      isRefused = true
      return m.cold('50ms (r|)', { r: status(429) })
    }
    const collector = tinyCollector(m, { stocks: five, streams: [news], answers })

    m.expect(collector.run().pipe(map(({ scripts }) => scripts.news?.items.success))).toBeObservable(
      '2200ms (a|)',
      { a: 5 },
    )
  })

  itWithMarbles('takes the next stock while its own waits for what many series show', (m) => {
    for (const workers of [1, 2, 4, 15]) {
      const watch = createSuspectDetector()
      const seen: boolean[] = []
      const each: ItemWork = (_, pause = identity) =>
        watch.track(
          timer(5).pipe(
            switchMap(() => {
              watch.countSuspect()
              return watch.whenDecided(pause)
            }),
            map((areMany) => {
              seen.push(areMany)
              return skippedResult
            }),
          ),
        )
      range(0, 40)
        .pipe(
          map((n): Item => ({ key: `${n}`, rank: n, fileName: `${n}`, value: n })),
          workOnItems(each, { workers }),
        )
        .subscribe()
      m.flush()
      expect(seen, `${workers} workers`).toStrictEqual(Array(40).fill(true))
    }
  })
})
