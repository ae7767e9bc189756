import { describe, expect, test } from 'vitest'
import { overallLine } from '../../src/cli/terminal/progress.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress, type StreamForecast } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'
import { runReport } from './support.js'

const forecasts: readonly StreamForecast[] = [
  { name: 'master-data', isSequential: true, workers: 1, items: 1 },
  { name: 'fundamental-data', isSequential: true, workers: 20, items: 'stocks' },
  { name: 'market-news', isSequential: false, workers: 10, items: 'stocks' },
  { name: 'all-ohlcv', isSequential: false, workers: 5, items: 'stocks' },
  { name: 'indices-ohlcv', isSequential: false, workers: 5, items: undefined },
]

const follow = () => {
  const stats = createRunStats()
  const { announce, sample } = createRunProgress(stats, forecasts)
  const handle = (...events: readonly RunEvent[]): void => {
    for (const event of events) stats.record(event)
  }
  const receive = (bytes: number): void => {
    const stream = stats.stream('master-data')
    if (stream) stream.received += bytes
  }
  const settle = (stream: string, times: number): void =>
    handle(
      ...Array.from({ length: times }, (_, index) => ({
        type: 'item-finished' as const,
        stream,
        item: `S${index}`,
        status: 'success' as const,
      })),
    )
  handle({
    type: 'run-started',
    at: 0,
    run: 'r',
    asOf: 0,
    streams: forecasts.map(({ name }) => ({
      name,
      state: 'waiting',
      hosts: name === 'fundamental-data' ? ['fundamental'] : [],
    })),
  })
  return { stats, receive, handle, sample, settle, announce }
}

/** A run that has fetched the results of 200 of 400 stocks in ten seconds. */
const halfOfFirstPhase = () => {
  const run = follow()
  const { handle, settle, sample } = run
  handle({ type: 'stream-started', at: 0, stream: 'master-data' }, { type: 'master-read', stocks: 400 })
  settle('master-data', 1)
  handle({ type: 'stream-finished', at: 0, stream: 'master-data', outcome: 'success' })
  handle(
    { type: 'stream-started', at: 0, stream: 'fundamental-data' },
    { type: 'items-known', stream: 'fundamental-data', total: 400 },
  )
  for (let now = 0; now < 10_000; now += 500) {
    sample(now)
    settle('fundamental-data', 10)
  }
  return run
}

const start = (stream: string, total: number, at: number): readonly RunEvent[] => [
  { type: 'stream-started', at, stream },
  { type: 'items-known', stream, total },
]

describe('the progress of a whole run', () => {
  test('has no total and no end before the stocks are known', () => {
    expect(follow().sample(1_000)).toMatchObject({
      share: 0,
      total: undefined,
      leftMs: undefined,
      bytesPerSecond: undefined,
    })
  })

  test('counts the items of streams that have not started', () => {
    expect(halfOfFirstPhase().sample(10_000)).toMatchObject({ done: 201, total: 1_201, share: 201 / 1_201 })
  })

  test('has no remaining time until a phase has ten seconds behind it', () => {
    const { sample } = halfOfFirstPhase()
    expect(sample(9_999).leftMs).toBeUndefined()
    expect(sample(10_000).leftMs).toBeDefined()
  })

  test('has no remaining time until a phase has a tenth of its items behind it', () => {
    const { handle, sample, settle } = follow()
    handle(
      { type: 'master-read', stocks: 400 },
      ...start('market-news', 400, 0),
      ...start('all-ohlcv', 400, 0),
    )
    sample(0)
    settle('market-news', 79)
    expect(sample(60_000).leftMs).toBeUndefined()
    settle('all-ohlcv', 1)
    expect(sample(60_500).leftMs).toBeDefined()
  })

  test('does not count resumed items for what a phase has behind it', () => {
    const { handle, sample, stats } = follow()
    handle(
      { type: 'master-read', stocks: 400 },
      ...start('market-news', 400, 0),
      ...start('all-ohlcv', 400, 0),
    )
    const resumed = {
      type: 'item-finished',
      stream: 'market-news',
      item: 'A',
      status: 'success',
      isTakenOver: true,
    } as const
    for (let index = 0; index < 300; index += 1) stats.record(resumed)
    sample(0)
    expect(sample(30_000).leftMs).toBeUndefined()
  })

  test('adds the parallel streams to the sequential ones, at the pace of a worker so far', () => {
    // 20 items a second with 20 workers: 10 s for the other 200. Then 10 workers and 5 workers with 400 items
    // each: 80 s for the slower stream, 53.3 s for all items at the rate of both.
    const parallelMs = 80_000 ** (2 / 3) * (800_000 / 15) ** (1 / 3)
    expect(halfOfFirstPhase().sample(10_000).leftMs).toBeCloseTo(10_000 + parallelMs, 0)
  })

  test('has no remaining time once all items are fetched, but what is done', () => {
    const { handle, sample, settle } = halfOfFirstPhase()
    for (const { name } of forecasts.slice(1)) {
      handle(...start(name, 400, 10_000))
      settle(name, name === 'fundamental-data' ? 200 : 400)
    }
    expect(sample(10_000)).toMatchObject({ share: 1, leftMs: undefined, step: 'writing files' })
    for (const { name } of forecasts.slice(1)) {
      handle({ type: 'stream-finished', at: 10_000, stream: name, outcome: 'success' })
    }
    expect(sample(10_000).step).toBe('writing the report')
    handle({ type: 'step', at: 10_000, step: 'recording the day' })
    expect(sample(10_000).step).toBe('recording the day')
  })

  test('names what follows the run after its last event only', () => {
    const { announce, handle, sample } = halfOfFirstPhase()
    announce('writing market.duckdb')
    expect(sample(10_000).step).toBeUndefined()
    handle({ type: 'run-finished', report: runReport() })
    expect(sample(10_000).step).toBe('writing market.duckdb')
    announce()
    expect(sample(10_000).step).toBeUndefined()
  })

  test('is not at 100 % while a stream waits for its list', () => {
    const { handle, sample, settle } = follow()
    handle({ type: 'run-started', at: 0, run: 'r', asOf: 0, streams: [] })
    for (const { name } of forecasts.slice(0, 2)) {
      handle(...start(name, 1, 0))
      settle(name, 1)
    }
    for (const { name } of forecasts.slice(2, 4))
      handle({ type: 'stream-finished', at: 0, stream: name, outcome: 'skipped' })
    expect(sample(0)).toMatchObject({ done: 2, total: 2, share: 0.99, step: undefined })
  })

  test('keeps the remaining time during a short pause of a host, and hides it during a long one', () => {
    const { handle, sample } = halfOfFirstPhase()
    const shown = sample(10_000).leftMs ?? Number.NaN
    handle({
      type: 'host-paused',
      at: 10_000,
      hosts: ['fundamental'],
      why: 'down',
      since: 10_000,
      until: 90_000,
    })
    for (let now = 10_500; now <= 15_000; now += 500) expect(sample(now).leftMs).toBeDefined()
    for (let now = 15_500; now <= 90_000; now += 500) expect(sample(now).leftMs).toBeUndefined()
    handle({ type: 'host-resumed', at: 90_000, hosts: ['fundamental'] })
    const after = sample(90_500).leftMs ?? Number.NaN
    expect(after).toBeGreaterThan(0.9 * shown)
    expect(after).toBeLessThan((4 / 3) * shown)
  })

  test('survives that the process was stopped for ten minutes', () => {
    const { sample } = halfOfFirstPhase()
    const shown = sample(10_000).leftMs ?? Number.NaN
    const after = sample(610_000).leftMs ?? Number.NaN
    expect(after).toBeGreaterThan(0.9 * shown)
    expect(after).toBeLessThanOrEqual((4 / 3) * shown)
  })

  test('becomes unknown when nothing is fetched for longer than everything should take', () => {
    const { handle, sample, settle } = follow()
    handle({ type: 'master-read', stocks: 100 }, ...start('market-news', 100, 0))
    for (const { name } of forecasts) {
      if (name !== 'market-news') handle({ type: 'stream-finished', at: 0, stream: name, outcome: 'skipped' })
    }
    for (let now = 0; now < 10_000; now += 500) {
      sample(now)
      settle('market-news', now < 9_500 ? 5 : 4)
    }
    expect(sample(10_000).leftMs).toBe(1_000)
    for (let now = 10_500; now <= 20_000; now += 500) expect(sample(now).leftMs).toBe(1_000)
    expect(sample(20_500).leftMs).toBeUndefined()
    expect(sample(25_000).leftMs).toBeUndefined()
  })

  test('never goes back when a list turns out longer', () => {
    const { handle, sample } = halfOfFirstPhase()
    const { share } = sample(10_000)
    handle(...start('indices-ohlcv', 194, 10_000))
    expect(sample(10_100)).toMatchObject({ total: 1_395, share })
  })

  test('measures the bytes of the last five seconds', () => {
    const { receive, sample } = follow()
    sample(0)
    receive(1_000_000)
    expect(sample(1_000).bytesPerSecond).toBe(1_000_000)
    for (let at = 1_500; at <= 5_000; at += 500) sample(at)
    expect(sample(5_000).bytesPerSecond).toBe(200_000)
    for (let at = 5_500; at <= 9_000; at += 500) sample(at)
    expect(sample(9_000).bytesPerSecond).toBeUndefined()
  })

  test.each([
    [40, '  16 % · 201/1,201 items · 1m20s left'],
    [60, '  16 % · 201/1,201 items · 1m20s left · 1.0 MB/s'],
    [80, '  16 % · 201/1,201 items · 1m20s left · 1.0 MB/s · 1 of 5 streams · 10s'],
    [100, '  16 % · 201/1,201 items · 1m20s left · 1.0 MB/s · 1 of 5 streams · 10s · 0 requests'],
  ])('leaves the least important parts out at %i columns', (columns, line) => {
    const { receive, sample, stats } = halfOfFirstPhase()
    receive(5_000_000)
    const spans = overallLine(stats.streams(), sample(10_000), { elapsedMs: 10_000, columns, gap: ' · ' })
    expect(spans.map(([text]) => text).join('')).toBe(line)
  })
})
