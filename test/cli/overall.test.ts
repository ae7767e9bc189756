import { describe, expect, test } from 'vitest'
import { overallLine } from '../../src/cli/terminal/progress.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress, type StreamForecast } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'

const forecasts: readonly StreamForecast[] = [
  { name: 'master-data', isSequential: true, workers: 1, items: 1 },
  { name: 'fundamental-data', isSequential: true, workers: 20, items: 'stocks' },
  { name: 'market-news', isSequential: false, workers: 10, items: 'stocks' },
  { name: 'all-ohlcv', isSequential: false, workers: 5, items: 'stocks' },
  { name: 'indices-ohlcv', isSequential: false, workers: 5, items: undefined },
]

const follow = () => {
  const stats = createRunStats()
  const { sample } = createRunProgress(stats, forecasts)
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
    streams: forecasts.map(({ name }) => ({ name, state: 'waiting', hosts: name === 'fundamental-data' ? ['fundamental'] : [] })),
  })
  return { stats, receive, handle, sample, settle }
}

/** A run that has fetched the results of 200 of 400 stocks in two seconds. */
const halfOfFirstPhase = () => {
  const run = follow()
  const { handle, settle, sample } = run
  handle({ type: 'stream-started', at: 0, stream: 'master-data' }, { type: 'master-read', stocks: 400 })
  settle('master-data', 1)
  handle({ type: 'stream-finished', at: 0, stream: 'master-data', outcome: 'success' })
  handle({ type: 'stream-started', at: 0, stream: 'fundamental-data' }, { type: 'items-known', stream: 'fundamental-data', total: 400 })
  sample(0)
  settle('fundamental-data', 100)
  sample(1_000)
  settle('fundamental-data', 100)
  return run
}

describe('the progress of a whole run', () => {
  test('has no total and no end before the stocks are known', () => {
    expect(follow().sample(1_000)).toMatchObject({ share: 0, total: undefined, leftMs: undefined, bytesPerSecond: undefined })
  })

  test('counts the items of streams that have not started', () => {
    expect(halfOfFirstPhase().sample(2_000)).toMatchObject({ done: 201, total: 1_201, share: 201 / 1_201 })
  })

  test('adds the slowest of the parallel streams to the sequential ones', () => {
    // 100 items a second with 20 workers is 200 ms an item: 2 s for the other 200, then 400 x 200 ms with 5 workers.
    expect(halfOfFirstPhase().sample(2_000).leftMs).toBe(2_000 + 16_000)
  })

  test('has no remaining time once all items are fetched: how long the last files take is unknown', () => {
    const { handle, sample, settle } = halfOfFirstPhase()
    for (const { name } of forecasts) {
      handle({ type: 'stream-started', at: 2_000, stream: name }, { type: 'items-known', stream: name, total: 400 })
      settle(name, 400)
    }
    expect(sample(2_000)).toMatchObject({ share: 1, leftMs: undefined })
  })

  test('hides the remaining time while a host of a running stream is paused', () => {
    const { handle, sample } = halfOfFirstPhase()
    const paused = { type: 'host-paused', at: 2_000, hosts: ['fundamental'], why: 'down', since: 2_000, until: 9_000 } as const
    handle(paused)
    expect(sample(2_000).leftMs).toBeUndefined()
    handle({ type: 'host-resumed', at: 3_000, hosts: ['fundamental'] })
    expect(sample(3_000).leftMs).toBeDefined()
  })

  test('never goes back when a list turns out longer', () => {
    const { handle, sample } = halfOfFirstPhase()
    const { share } = sample(2_000)
    handle({ type: 'stream-started', at: 2_000, stream: 'indices-ohlcv' }, { type: 'items-known', stream: 'indices-ohlcv', total: 194 })
    expect(sample(2_100)).toMatchObject({ total: 1_395, share })
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
    [40, '  16 % · 201/1,201 items · 18s left'],
    [60, '  16 % · 201/1,201 items · 18s left · 1.0 MB/s'],
    [80, '  16 % · 201/1,201 items · 18s left · 1.0 MB/s · 1 of 5 streams · 2.0s'],
    [100, '  16 % · 201/1,201 items · 18s left · 1.0 MB/s · 1 of 5 streams · 2.0s · 0 requests'],
  ])('leaves the least important parts out at %i columns', (columns, line) => {
    const { receive, sample, stats } = halfOfFirstPhase()
    receive(2_000_000)
    const spans = overallLine(stats.streams(), sample(2_000), { elapsedMs: 2_000, columns, gap: ' · ' })
    expect(spans.map(([text]) => text).join('')).toBe(line)
  })
})
