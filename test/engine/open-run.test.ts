import {
  asyncScheduler,
  concat,
  defer,
  EMPTY,
  finalize,
  firstValueFrom,
  map,
  NEVER,
  type Observable,
  of,
  Subject,
  take,
  throwError,
  timer,
  toArray,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../src/http/transport.js'
import { HttpError } from '../../src/model/errors.js'
import { itWithMarbles } from '../support/marbles.js'
import { masterList, row, status, tiny, tinyCollector } from '../support/tiny.js'

const replyAfter = (ms: number, reply: HttpReply = row): Observable<HttpReply> =>
  timer(ms).pipe(map(() => reply))
const STOCKS = Array.from({ length: 30 }, (_, index) => `S${index}`)

describe('the runs of one collector', () => {
  itWithMarbles('together have at most the workers of a stream in flight, and take turns', (m) => {
    let [inFlight, most] = [0, 0]
    const collector = tinyCollector(m, {
      streams: [tiny('news', { workers: 3 })],
      stocks: STOCKS,
      answers: () =>
        defer(() => {
          most = Math.max(most, ++inFlight)
          return replyAfter(10).pipe(finalize(() => (inFlight -= 1)))
        }),
    })
    const ends: number[] = []
    for (let run = 0; run < 2; run++)
      collector.stream('news').subscribe({ complete: () => ends.push(m.scheduler.now()) })
    m.flush()
    expect(most).toBe(3)
    // 60 requests of 10 ms, three at a time: neither run waits for the end of the other.
    expect(ends.map((at) => at >= 190 && at <= 210)).toEqual([true, true])
  })

  itWithMarbles('give their workers back when they are left', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news', { workers: 2 })],
      answers: () => replyAfter(10),
    })
    const left = collector.stream('news').subscribe()
    asyncScheduler.schedule(() => left.unsubscribe(), 5)
    m.expect(collector.stream('news').pipe(map(({ item }) => item.key))).toBeObservable(
      '15ms (ab) 6ms (c|)',
      { a: 'A', b: 'B', c: 'C' },
    )
    m.flush()
    expect(collector.dropped).toHaveLength(2)
  })

  itWithMarbles('share a back-off: a later run waits for a host that refuses', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      settings: { throttleMs: 5_000 },
      answers: () => defer(() => (m.scheduler.now() < 5_000 ? of(status(429, '5')) : of(row))),
    })
    collector.stream('news').subscribe()
    const paused: unknown[] = []
    asyncScheduler.schedule(
      () =>
        collector
          .events({ only: ['news'] })
          .subscribe((event) => event.type === 'host-paused' && paused.push(event)),
      1_000,
    )
    m.flush()
    expect(
      collector.requested.filter(
        (one) => one.includes('news') && Number(one.split(' ')[0]) > 0 && Number(one.split(' ')[0]) < 5_000,
      ),
    ).toEqual([])
    expect(paused).toHaveLength(1)
  })

  itWithMarbles('share the list of stocks until it is too old', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      stocks: [],
      answers: (call) => (call === 'master-data all' ? replyAfter(100, masterList('A')) : replyAfter(10)),
      listMaxAgeMs: 60_000,
    })
    const seen: string[] = []
    const open = () => collector.stream('news').subscribe(({ item }) => seen.push(item.key))
    for (let subscription = 0; subscription < 20; subscription++) open()
    for (const at of [30_000, 61_000]) asyncScheduler.schedule(open, at)
    m.flush()
    expect(collector.requested.filter((one) => one.includes('master-data'))).toEqual([
      '0 master-data all',
      '61000 master-data all',
    ])
    expect(seen).toHaveLength(22)
  })

  itWithMarbles('request the list again if the one that requested it is left, or fails', (m) => {
    let lists = 0
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      stocks: [],
      answers: (call) =>
        call === 'master-data all' ? replyAfter(100, ++lists === 2 ? status(404) : masterList('A')) : of(row),
    })
    const ends: string[] = []
    const open = () =>
      collector
        .stream('news')
        .subscribe({ next: ({ item }) => ends.push(item.key), error: ({ name }: Error) => ends.push(name) })
    const first = open()
    open()
    asyncScheduler.schedule(() => first.unsubscribe(), 50)
    asyncScheduler.schedule(open, 1_000)
    m.flush()
    expect(collector.dropped).toEqual(['50 master-data all'])
    expect(ends).toEqual(['NothingAnsweredError', 'A'])
  })

  itWithMarbles('are counted by health()', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => replyAfter(10) })
    expect(collector.health()).toEqual({ isHealthy: true, activeRuns: 0, limiters: [] })
    collector.run().subscribe()
    asyncScheduler.schedule(() => expect(collector.health().activeRuns).toBe(1), 5)
    m.flush()
    const { isHealthy, activeRuns, last, limiters } = collector.health()
    expect({ isHealthy, activeRuns, status: last?.status }).toEqual({
      isHealthy: true,
      activeRuns: 0,
      status: 'ended',
    })
    expect(limiters.map(({ endpoint }) => endpoint)).toEqual([undefined, 'master-data', 'news'])
  })
})

describe('a run', () => {
  itWithMarbles('is one, whatever is subscribed to: events, items with rows, report and state', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => replyAfter(10) })
    const run = collector.open({ only: ['news'] })
    const seen: string[] = []
    expect(run.state()).toEqual({ status: 'waiting' })
    run.item$.subscribe(({ stream, item, rows }) => seen.push(`${stream} ${item.key} ${rows.length}`))
    run.event$.subscribe(
      (event) => event.type === 'stream-finished' && seen.push(`${event.stream} ${event.outcome}`),
    )
    run.report$.subscribe(({ outcome }) => seen.push(outcome))
    asyncScheduler.schedule(() => {
      const state = run.state()
      expect(state.status === 'running' && state.streams.news).toEqual({
        state: 'running',
        finished: 2,
        lost: 0,
        requests: 3,
        retries: 0,
        rateLimited: 0,
        total: 3,
      })
    }, 15)
    m.flush()
    expect(seen).toEqual([
      'master-data success',
      'news A 1',
      'news B 1',
      'news C 1',
      'news success',
      'complete',
    ])
    expect(collector.requested).toHaveLength(4)
    expect(run.state()).toMatchObject({ status: 'ended', report: { outcome: 'complete' } })
    run.report$.subscribe(({ outcome }) => seen.push(`again ${outcome}`))
    expect(seen.at(-1)).toBe('again complete')
  })

  itWithMarbles(
    'that is stopped ends as interrupted; one that is left is aborted, and does not begin again',
    (m) => {
      const open = () =>
        tinyCollector(m, { streams: [tiny('news')], stocks: STOCKS, answers: () => replyAfter(10) }).open()
      const [stopped, left] = [open(), open()]
      asyncScheduler.schedule(() => stopped.stop(), 15)
      m.expect(stopped.report$.pipe(map(({ outcome }) => outcome))).toBeObservable('20ms (i|)', {
        i: 'interrupted',
      })
      const leaving = left.event$.subscribe()
      asyncScheduler.schedule(() => leaving.unsubscribe(), 5)
      m.flush()
      expect(left.state()).toEqual({ status: 'aborted' })
      const again: string[] = []
      left.event$.subscribe({ error: ({ message }: Error) => again.push(message) })
      m.flush()
      expect(again).toEqual(['this run has begun before and was left; open another one'])
    },
  )

  itWithMarbles('ends with the reason of its signal, and aborts its requests', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => NEVER })
    const abort = new AbortController()
    asyncScheduler.schedule(() => abort.abort(new Error('enough')), 5)
    m.expect(collector.open({ signal: abort.signal }).event$.pipe(toArray())).toBeObservable(
      '5ms #',
      undefined,
      new Error('enough'),
    )
    m.expect(collector.stream('news', { signal: abort.signal })).toBeObservable(
      '5ms #',
      undefined,
      new Error('enough'),
    )
    m.flush()
    expect(collector.dropped.length).toBeGreaterThanOrEqual(2)
    let reason = ''
    collector
      .stream('news', { signal: abort.signal })
      .subscribe({ error: ({ message }: Error) => (reason = message) })
    expect(reason).toBe('enough')
  })

  itWithMarbles('waits for its consumers, `concurrency` at a time', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], stocks: STOCKS.slice(0, 6) })
    let [active, most] = [0, 0]
    const each = () =>
      defer(() => {
        most = Math.max(most, ++active)
        return concat(timer(10), EMPTY).pipe(finalize(() => (active -= 1)))
      })
    collector.open({ only: ['news'], consume: { each, concurrency: 2 } }).report$.subscribe()
    m.flush()
    expect(most).toBe(2)
    expect(m.scheduler.now()).toBeGreaterThanOrEqual(30)
  })

  itWithMarbles(
    'ends with what its consumer throws, also an error that would cost a request only its item',
    (m) => {
      const failed = new HttpError(503)
      const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => replyAfter(10) })
      const consume = ({ item }: { readonly item: { readonly key: string } }) =>
        item.key === 'B' ? throwError(() => failed) : EMPTY
      m.expect(collector.stream('news', { consume }).pipe(map(({ item }) => item.key))).toBeObservable(
        '10ms (ab#)',
        { a: 'A', b: 'B' },
        failed,
      )
      m.flush()
    },
  )

  itWithMarbles('has ended for whoever takes its first report and leaves', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => replyAfter(10) })
    const run = collector.open()
    run.report$.pipe(take(1)).subscribe()
    m.flush()
    expect(run.state()).toMatchObject({ status: 'ended' })
    expect(collector.health().last).toMatchObject({ status: 'ended' })
  })

  it('goes on for its other subscribers once a loop over it has been left', async () => {
    const context = { scheduler: asyncScheduler } as unknown as Parameters<typeof tinyCollector>[0]
    const run = tinyCollector(context, { streams: [tiny('news')], stocks: STOCKS }).open({ only: ['news'] })
    const report = firstValueFrom(run.report$)
    for await (const _ of run) break
    expect((await report).outcome).toBe('complete')
  })

  it('can be iterated: a slow loop slows the requests, and leaving it aborts them', async () => {
    const gate$ = new Subject<HttpReply>()
    const context = { scheduler: asyncScheduler } as unknown as Parameters<typeof tinyCollector>[0]
    const collector = tinyCollector(context, {
      streams: [tiny('news')],
      stocks: STOCKS,
      answers: (call) => (call === 'news S25' ? gate$ : of(row)),
    })
    const keys: string[] = []
    const run = collector.open({ only: ['news'] })
    for await (const { stream, item } of run) {
      keys.push(`${stream} ${item.key}`)
      expect(collector.requested.length).toBeLessThan(keys.length + 25)
      if (keys.length === 3) break
    }
    expect(keys).toEqual(['news S0', 'news S1', 'news S2'])
    expect(run.state()).toEqual({ status: 'aborted' })
    const all: string[] = []
    for await (const { item } of collector.open({ only: ['news'], symbols: ['S1', 'S2'] })) all.push(item.key)
    expect(all).toEqual(['S1', 'S2'])
    const failing = collector.open({ only: ['new'] })
    await expect(failing[Symbol.asyncIterator]().next()).rejects.toThrow(
      'unknown stream: "new" (did you mean news?)',
    )
  })
})
