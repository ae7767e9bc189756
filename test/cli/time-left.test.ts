import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatCountdown } from '../../src/cli/terminal/text.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress, type StreamForecast } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'

/** A stream of a recorded run; times are milliseconds since its start. */
interface RecordedStream extends StreamForecast {
  readonly startedAt: number
  readonly endedAt: number
  readonly total: number
  readonly totalAt: number
  /** The items that were fetched in each half second after its start. */
  readonly counts: readonly number[]
  /** When a host of the stream was paused. */
  readonly pauses: readonly { readonly from: number; readonly to: number }[]
}

/** A real run, recorded in half seconds. */
interface Series {
  readonly endsAt: number
  readonly stocks: number
  readonly stocksAt: number
  readonly streams: readonly RecordedStream[]
}

/** 500 simulated stocks on two processors with a load of 12: all streams share the processor. */
const LOADED_MACHINE = 'loaded-machine'
/** 60 stocks, whose news take 2.5 s or 6 s each with 4 workers, when all other streams have ended. */
const SLOW_STREAM = 'slow-stream'
/** 60 stocks from hosts that allow a few requests in a second, with refusals and failures. */
const RATE_LIMITS = 'rate-limits'

const STEP_MS = 500

const readSeries = (name: string): Series =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'series', `${name}.json`), 'utf8'))

const listEvents = (stream: RecordedStream, at: number): readonly RunEvent[] => {
  const { name, startedAt, endedAt, total, totalAt, counts, pauses } = stream
  const count = counts[(at - startedAt) / STEP_MS] ?? 0
  const until = pauses.find(({ from }) => from === at)?.to
  return [
    ...(at === startedAt ? [{ type: 'stream-started' as const, at, stream: name }] : []),
    ...(at === totalAt ? [{ type: 'items-known' as const, stream: name, total }] : []),
    ...(pauses.some(({ to }) => to === at) ? [{ type: 'host-resumed' as const, at, hosts: [name] }] : []),
    ...(until === undefined
      ? []
      : [{ type: 'host-paused' as const, at, hosts: [name], why: 'refuses' as const, since: at, until }]),
    ...Array.from({ length: count }, (_, index) => ({
      type: 'item-finished' as const,
      stream: name,
      item: `${index}`,
      status: 'success' as const,
    })),
    ...(at === endedAt
      ? [{ type: 'stream-finished' as const, at, stream: name, outcome: 'success' as const }]
      : []),
  ]
}

/** Plays a recorded run on virtual time; what is shown at each half second, until the last item. */
const play = ({ streams, stocks, stocksAt, endsAt }: Series) => {
  const stats = createRunStats()
  const progress = createRunProgress(stats, streams)
  const lastItemAt = Math.max(
    ...streams.map(({ startedAt, counts }) => startedAt + (counts.length - 1) * STEP_MS),
  )
  const started = streams.map(({ name }) => ({ name, state: 'waiting' as const, hosts: [name] }))
  stats.record({ type: 'run-started', at: 0, run: 'r', asOf: 0, streams: started })
  const shown: { readonly now: number; readonly leftMs: number | undefined; readonly rightMs: number }[] = []
  for (let now = 0; now <= endsAt; now += STEP_MS) {
    if (now === stocksAt) stats.record({ type: 'master-read', stocks })
    for (const event of streams.flatMap((stream) => listEvents(stream, now))) stats.record(event)
    const { leftMs } = progress.sample(now)
    shown.push({ now, leftMs, rightMs: lastItemAt - now })
  }
  return { shown, lastItemAt }
}

/** When a phase has had ten seconds and a tenth of its items for the first time. */
const findFirstKnown = ({ streams }: Series, isSequential: boolean): number => {
  const phase = streams.filter((stream) => stream.isSequential === isSequential)
  const startedAt = Math.min(...phase.map((stream) => stream.startedAt))
  const endedAt = Math.max(...phase.map((stream) => stream.endedAt))
  const total = phase.reduce((sum, stream) => sum + stream.total, 0)
  const countUntil = (at: number): number =>
    phase
      .flatMap((stream) => stream.counts.slice(0, Math.max(0, (at - stream.startedAt) / STEP_MS + 1)))
      .reduce((sum, count) => sum + count, 0)
  for (let at = startedAt + 10_000; at < endedAt; at += STEP_MS) if (countUntil(at) >= total / 10) return at
  return Number.POSITIVE_INFINITY
}

describe.each([LOADED_MACHINE, SLOW_STREAM, RATE_LIMITS])('the time left of a recorded run (%s)', (name) => {
  const series = readSeries(name)
  const { shown, lastItemAt } = play(series)

  test('is hidden until a phase has ten seconds and a tenth of its items behind it, and after the last item', () => {
    const known = Math.min(findFirstKnown(series, true), findFirstKnown(series, false))
    const visible = shown.filter(({ leftMs }) => leftMs !== undefined).map(({ now }) => now)
    expect(visible[0]).toBe(known)
    expect(visible.at(-1)).toBe(lastItemAt - STEP_MS)
  })

  test('never rises by more than a third within five seconds', () => {
    let rises = 0
    for (const [index, { leftMs = 0 }] of shown.entries()) {
      for (const before of shown.slice(Math.max(0, index - 9), index)) {
        if (before.leftMs === undefined) continue
        if (leftMs > before.leftMs) rises += 1
        expect(leftMs).toBeLessThanOrEqual((before.leftMs * 4) / 3)
      }
    }
    // 18 comparisons find one rise; without a rise, the series would prove nothing.
    expect(rises > 0).toBe(name !== LOADED_MACHINE)
  })

  test('counts down between its corrections, or stands still', () => {
    const steps = shown.map(({ leftMs = 0 }, index) => leftMs - (shown[index - 1]?.leftMs ?? leftMs))
    const corrections = steps.filter((step) => step !== 0 && step !== -STEP_MS)
    expect(corrections.length).toBeLessThanOrEqual(lastItemAt / 5_000)
  })

  test('is right within a factor of two at half of the run, and of 1.5 at most times from there on', () => {
    const factors = shown
      .filter(({ now, rightMs }) => now >= lastItemAt / 2 && rightMs >= 3_000)
      .map(({ leftMs = Number.NaN, rightMs }) => Math.max(leftMs / rightMs, rightMs / leftMs))
    expect(factors[0]).toBeLessThan(2)
    expect(Math.max(...factors)).toBeLessThan(2.2)
    const near = factors.filter((factor) => factor <= 1.5)
    expect(near.length / factors.length).toBeGreaterThan(0.5)
  })
})

test('the time left of the run with the slow stream is as recorded', () => {
  const { shown } = play(readSeries(SLOW_STREAM))
  const texts = shown
    .filter(({ now }) => now % 6_000 === 0)
    .map(({ leftMs, rightMs }) => [
      formatCountdown(rightMs),
      leftMs === undefined ? '' : formatCountdown(leftMs),
    ])
  expect(texts).toEqual([
    ['1m15s', ''],
    ['1m09s', ''],
    ['1m03s', '1m00s'],
    ['57s', '58s'],
    ['51s', '48s'],
    ['45s', '45s'],
    ['39s', '51s'],
    ['33s', '39s'],
    ['27s', '35s'],
    ['21s', '17s'],
    ['15s', '13s'],
    ['9s', '11s'],
    ['3s', '2s'],
  ])
})
