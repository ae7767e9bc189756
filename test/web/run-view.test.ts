import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/model/event.js'
import { MAX_MARBLES } from '../../src/model/run-stats.js'
import { runReport, tinyRegistry } from '../cli/support.js'
import { followLive, started } from './support.js'

const NEWS = 'market-news'
const NAMES = ['master-data', NEWS, 'surveillance-lists']

const follow = (events: readonly RunEvent[], streams = NAMES) => {
  const live = followLive(tinyRegistry, { [NEWS]: 7 })
  for (const event of [started(streams), ...events]) live.event(event)
  const news = (now = 2_000) => live.state(now)?.streams.find(({ name }) => name === NEWS)
  return { live, news }
}

const finished = (item: string, changes: object = {}): RunEvent => ({
  type: 'item-finished',
  stream: NEWS,
  item,
  status: 'success',
  ...changes,
})
const running: RunEvent = { type: 'stream-started', at: 1_000, stream: NEWS }

describe('the live state of a run', () => {
  it('has an outcome however the run ends', () => {
    const end = (events: readonly RunEvent[], error?: Error) => {
      const { live } = follow(events)
      live.over(error)
      return live.state(2_000)?.outcome
    }
    expect([end([]), end([], new Error('no'))]).toEqual(['interrupted', 'failed'])
    expect(end([{ type: 'run-finished', report: runReport({ outcome: 'partial' }) }])).toBe('partial')
  })

  it('is nothing before the run has started', () => {
    const live = followLive(tinyRegistry)
    live.event({ type: 'master-read', stocks: 5 })
    expect(live.state(1_000)).toBeUndefined()
  })

  it('has the phases of the graph and every stream', () => {
    const state = follow([{ type: 'master-read', stocks: 60 }]).live.state(2_000)
    expect(state).toMatchObject({ run: 'r1', startedAt: 1_000, at: 2_000, stocks: 60 })
    expect(
      state?.phases.map(({ phase, isSequential, streams }) => [
        phase,
        isSequential,
        streams.map(({ name }) => name),
      ]),
    ).toEqual([
      ['core', true, ['master-data']],
      ['enrichment', false, [NEWS, 'surveillance-lists']],
    ])
    expect(state?.phases[1]?.streams[0]).toMatchObject({ of: 'master-data' })
    expect(state?.streams.map(({ name, state: own }) => [name, own])).toEqual(
      NAMES.map((name) => [name, 'waiting']),
    )
  })

  it('counts requests, answers, bytes and statuses of a stream', () => {
    const { live, news } = follow([
      running,
      { type: 'items-known', stream: NEWS, total: 4 },
      ...Array.from({ length: 5 }, (): RunEvent => ({ type: 'requested', stream: NEWS })),
      { type: 'retried', stream: NEWS, item: 'TCS' },
      { type: 'rate-limited', stream: NEWS },
      finished('TCS'),
      finished('INFY', { status: 'empty' }),
      finished('GONE', { status: 'http_404', reason: 'the provider answered 404' }),
    ])
    const stream = live.stats.stream(NEWS)
    if (stream) Object.assign(stream, { answered: 2, received: 120 })
    expect(news()).toMatchObject({
      state: 'running',
      done: 3,
      total: 4,
      workers: 7,
      requests: 5,
      inFlight: 3,
      retries: 1,
      rateLimited: 1,
      received: 120,
      lost: 1,
      statuses: { success: 1, empty: 1, http_404: 1 },
      failures: [{ item: 'GONE', reason: 'the provider answered 404' }],
    })
  })

  it('shows the newest items as marbles, by how they ended', () => {
    const { news } = follow([
      { type: 'retried', stream: NEWS, item: 'B' },
      finished('A'),
      finished('B'),
      finished('C', { status: 'empty' }),
      finished('D', { status: 'skipped' }),
      finished('E', { degraded: 'a page failed' }),
      finished('F', { status: 'error', reason: 'no answer' }),
      finished('G', { isTakenOver: true }),
    ])
    expect(news()?.marbles).toEqual([
      ['A', 'success'],
      ['B', 'retried'],
      ['C', 'empty'],
      ['D', 'skipped'],
      ['E', 'partial'],
      ['F', 'failed'],
      ['G', 'resumed'],
    ])
  })

  it('keeps a fixed number of marbles, however many items there are', () => {
    const items = Array.from({ length: 1_000 }, (_, index) => `S${index}`)
    const marbles = follow(items.map((item) => finished(item))).news()?.marbles ?? []
    expect(marbles.map(([item]) => item)).toEqual(items.slice(-MAX_MARBLES))
  })

  it('says why and until when a running stream waits', () => {
    const pause: RunEvent = {
      type: 'host-paused',
      at: 1_500,
      hosts: [NEWS],
      endpoint: 'latest',
      why: 'refuses',
      since: 1_500,
      until: 4_500,
    }
    const other: RunEvent = { ...pause, hosts: ['master-data'], why: 'down' }
    const { live, news } = follow([running, pause, other])
    expect(news()?.pauses).toEqual([{ what: 'latest', why: 'refuses', since: 1_500, until: 4_500 }])
    live.event({ type: 'host-resumed', at: 4_500, hosts: [NEWS], endpoint: 'latest' })
    expect(news()?.pauses).toEqual([])
  })

  it('shows the limits that hosts have, and none without a number', () => {
    const unlimited = {
      inFlight: 4,
      waiting: 0,
      maxInFlight: Number.POSITIVE_INFINITY,
      maxPerSecond: Number.POSITIVE_INFINITY,
      isHeld: false,
    }
    const all = [
      { ...unlimited, hosts: [NEWS], circuit: 'closed' as const },
      {
        ...unlimited,
        hosts: [NEWS],
        endpoint: 'latest',
        maxPerSecond: 0.7,
        waiting: 9,
        isHeld: true,
        circuit: 'open' as const,
      },
    ]
    const live = followLive([], {}, () => all)
    live.event(started([NEWS]))
    expect(live.state(2_000)?.hosts).toEqual([
      { what: 'latest', inFlight: 4, waiting: 9, isHeld: true, maxPerSecond: 0.7 },
    ])
    live.over()
    expect(live.state(2_000)).not.toHaveProperty('hosts')
  })

  it('measures the rate and the time left from its samples', () => {
    const { live, news } = follow([running, { type: 'items-known', stream: NEWS, total: 100 }])
    for (let second = 0; second < 10; second += 1) {
      live.sample(1_000 + second * 1_000)
      for (let index = 0; index < 5; index += 1) live.event(finished(`${second}-${index}`))
    }
    live.sample(11_000)
    expect(news(11_000)).toMatchObject({ done: 50, perSecond: 5, leftMs: 10_000 })
    expect(live.state(11_000)).toMatchObject({ done: 50 })
  })

  it('says what is done after the last item', () => {
    const { live } = follow([running, { type: 'step', at: 1_500, step: 'recording the day' }])
    live.sample(2_000)
    expect(live.state(2_000)).toMatchObject({ step: 'recording the day' })
  })

  it('shows no more open requests than workers: the other answers wait to be decoded', () => {
    const requested = (): RunEvent => ({ type: 'requested', stream: NEWS })
    const { news } = follow([running, ...Array.from({ length: 9 }, requested)])
    expect(news()).toMatchObject({ workers: 7, requests: 9, inFlight: 7 })
  })

  it('shows the workers of a fleet, which send the requests', () => {
    const fleet = { workers: [{ name: 'w1', items: 3, perSecond: 1, isThere: true }], stalled: 1 }
    const { live, news } = follow([
      running,
      { type: 'requested', stream: NEWS },
      { type: 'fleet', at: 1_500, fleet },
    ])
    expect(live.state(2_000)?.fleet).toEqual(fleet)
    expect(news()).not.toHaveProperty('inFlight')
    expect(news()).not.toHaveProperty('received')
  })

  it('has an outcome once the run has ended', () => {
    const { live } = follow([
      { type: 'run-finished', report: runReport({ outcome: 'partial', error: 'the disk is full' }) },
    ])
    expect(live.state(2_000)).toMatchObject({ outcome: 'partial', error: 'the disk is full' })
  })
})
