import { describe, expect, it } from 'vitest'
import type { LiveStream } from '../../../src/web/api/live.js'
import { applyChange } from '../../../src/web/api/live.js'
import { keepStreams, layOutGraph } from '../../../src/web/page/run/layout.js'
import { describePause, describeStream } from '../../../src/web/page/run/words.js'
import { describePhases } from '../../../src/web/server/run-view.js'
import { streams } from '../../../streams/registry.js'
import { followLive, started } from '../support.js'

const phases = describePhases(streams)
const NOW = 10_000

const live = followLive(streams)
live.event(started(streams.map(({ name }) => name)))
const state = live.state(NOW)
const [first] = state?.streams ?? []

const stream = (changes: Partial<LiveStream>): LiveStream => ({ ...(first as LiveStream), ...changes })

describe('the graph of the page', () => {
  it.each([1_344, 900, 358])('places every stream once, inside the drawing, at %d pixels', (width) => {
    for (const hasMarbles of [false, true]) {
      const layout = layOutGraph(phases, { width, hasMarbles })
      const placed = layout.phases.flatMap((phase) => phase.streams)
      expect(placed.map(({ name }) => name).sort()).toEqual(streams.map(({ name }) => name).sort())
      for (const { x, y, width: own, height } of placed) {
        expect(x + own).toBeLessThanOrEqual(width)
        expect(y + height).toBeLessThanOrEqual(layout.height)
      }
      const overlapping = placed.flatMap((one) =>
        placed.filter(
          (other) =>
            other !== one &&
            other.y < one.y + one.height &&
            one.y < other.y + other.height &&
            other.x < one.x + one.width &&
            one.x < other.x + other.width,
        ),
      )
      expect(overlapping).toEqual([])
    }
  })

  it('has no place for streams that are not in the run', () => {
    const own = phases.flatMap((phase) => phase.streams).slice(0, 2)
    expect(keepStreams(phases, own).flatMap((phase) => phase.streams)).toEqual(own)
    expect(keepStreams(phases, [])).toEqual([])
  })

  it('has a barrier after the first phase, which waits for it, and one at the end, which waits for all', () => {
    const { barriers } = layOutGraph(phases, { width: 1_344, hasMarbles: false })
    expect(barriers.map(({ after }) => after)).toEqual([
      phases[0]?.streams.map(({ name }) => name),
      expect.arrayContaining(streams.map(({ name }) => name)),
    ])
  })
})

describe('a change of the run', () => {
  it('replaces the streams that it names, and keeps the others and the phases', () => {
    if (state === undefined) throw new Error('the run has started')
    const { phases: known, streams: before, ...summary } = state
    const changed = stream({ name: 'market-news', done: 5 })
    const after = applyChange(state, { summary: { ...summary, done: 5 }, streams: [changed] })
    expect(after.phases).toBe(known)
    expect(after.done).toBe(5)
    expect(after.streams).toEqual(before.map((one) => (one.name === 'market-news' ? changed : one)))
  })
})

describe('a stream in words', () => {
  const pause = { what: 'latest-news', why: 'refuses', since: NOW, until: NOW + 2_400 } as const
  it.each([
    [{ state: 'waiting' }, 'not started'],
    [{ state: 'skipped' }, 'not in this run'],
    [{ state: 'running' }, 'running'],
    [{ state: 'running', leftMs: 7_100 }, '8 s left'],
    [{ state: 'running', leftMs: 7_100, lost: 2 }, '2 failed'],
    [{ state: 'running', leftMs: 7_100, lost: 2, pauses: [pause] }, 'waits 3 s: rate limit'],
    [{ state: 'running', total: 5, done: 5 }, 'writes its files'],
    [{ state: 'running', total: 50, done: 45, secondPass: 5 }, 'tries 5 items again'],
    [{ state: 'success', startedAt: 0, finishedAt: 3_100 }, '✔ 3.1 s'],
    [
      { state: 'partial', lost: 2_000, partial: 1, startedAt: 0, finishedAt: 3_100 },
      '2,000 failed, 1 incomplete · 3.1 s',
    ],
    [{ state: 'failed' }, '✕ failed'],
  ] as const)('%j: %s', (changes, text) =>
    expect(describeStream(stream(changes as Partial<LiveStream>), NOW).text).toBe(text),
  )

  it('says until when it waits, and when it gives up', () => {
    const at = Date.parse('2026-02-12T20:00:00+05:30')
    expect(
      describePause({ what: 'news', why: 'down', since: at, until: at + 7_000, giveUpAt: at + 60_000 }, at),
    ).toBe('news: down, circuit open, next request 20:00:07 IST (in 7 s), given up at 20:01:00 IST')
  })
})
