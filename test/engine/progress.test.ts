import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'
import { createRandom } from '../../src/simulator/random.js'

const NAMES = ['market-news', 'all-ohlcv'] as const

const follow = () => {
  const stats = createRunStats()
  const progress = createRunProgress(stats, [])
  const handle = (...events: readonly RunEvent[]): void => {
    for (const event of events) stats.record(event)
  }
  handle({
    type: 'run-started',
    at: 0,
    run: 'r',
    asOf: 0,
    streams: NAMES.map((name) => ({ name, state: 'waiting', hosts: ['news'] })),
  })
  let leftMs: number | undefined
  const at = (now: number) => {
    leftMs = progress.sample(now).leftMs
    return stats.streams().map((stream) => ({ stream, ...progress.estimate(stream) }))
  }
  return { handle, at, runLeft: () => leftMs }
}

const settled = (stream: string): RunEvent => ({
  type: 'item-finished',
  stream,
  item: 'A',
  status: 'success',
})
const begun = (stream: string, total: number): readonly RunEvent[] => [
  { type: 'stream-started', at: 0, stream },
  { type: 'items-known', stream, total },
]

const stream = fc.constantFrom(...NAMES)
const anyItem: fc.Arbitrary<RunEvent> = fc.record({
  type: fc.constant('item-finished' as const),
  stream,
  item: fc.constant('A'),
  status: fc.constantFrom('success' as const, 'error' as const),
  isTakenOver: fc.boolean(),
})
const anyPause: fc.Arbitrary<RunEvent> = fc.record({
  type: fc.constant('host-paused' as const),
  since: fc.constant(0),
  at: fc.nat(9_000),
  hosts: fc.constant(['news'] as const),
  why: fc.constant('refuses' as const),
  until: fc.nat(20_000),
})
const anyResume: fc.Arbitrary<RunEvent> = fc.record({
  type: fc.constant('host-resumed' as const),
  at: fc.nat(9_000),
  hosts: fc.constant(['news'] as const),
})
const anyEvent: fc.Arbitrary<RunEvent> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('stream-started' as const), stream, at: fc.nat(5_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('items-known' as const), stream, total: fc.nat(30) }),
  },
  { weight: 12, arbitrary: anyItem },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('stream-finished' as const),
      stream,
      at: fc.nat(9_000),
      outcome: fc.constantFrom('success' as const, 'partial' as const, 'failed' as const),
    }),
  },
  { weight: 2, arbitrary: anyPause },
  { weight: 2, arbitrary: anyResume },
)

describe('the finished share of a stream', () => {
  test('stays between 0 and 1, never decreases, and ends at 1 for any events', () => {
    let moved = 0
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyEvent, fc.integer({ min: -500, max: 3_000 })), { maxLength: 150 }),
        (steps) => {
          const { handle, at } = follow()
          const shown = new Map<string, number>()
          let now = 0
          for (const [event, passed] of steps) {
            handle(event)
            now += passed
            for (const { stream: stats, share, perSecond = 1, leftMs = 0 } of at(now)) {
              const before = shown.get(stats.name) ?? 0
              if (share > before && share < 1) moved += 1
              expect(share).toBeGreaterThanOrEqual(before)
              expect(share).toBeLessThanOrEqual(1)
              expect(
                Number.isFinite(perSecond) && perSecond > 0 && Number.isFinite(leftMs) && leftMs >= 0,
              ).toBe(true)
              shown.set(stats.name, share)
            }
          }
          handle(
            ...NAMES.map(
              (name): RunEvent => ({
                type: 'stream-finished',
                at: now,
                stream: name,
                outcome: name === NAMES[0] ? 'success' : 'partial',
              }),
            ),
          )
          expect(at(now).map(({ share }) => share)).toEqual([1, 1])
        },
      ),
      { seed: 7, numRuns: 300 },
    )
    expect(moved).toBeGreaterThan(100)
  })
})

/**
 * Runs a stream of so many items that settle at the given instants, looking every 100 ms; the errors of what
 * was shown as time left.
 */
const estimates = (
  instants: readonly number[],
  pauses: readonly (readonly [from: number, to: number])[] = [],
) => {
  const { handle, at } = follow()
  const end = instants.at(-1) ?? 0
  const shown: { readonly now: number; readonly leftMs: number | undefined; readonly right: number }[] = []
  handle(...begun('market-news', instants.length))
  let next = 0
  for (let now = 0; now < end; now += 100) {
    for (const [from, to] of pauses) {
      if (from >= now - 100 && from < now)
        handle({ type: 'host-paused', at: now, hosts: ['news'], why: 'refuses', since: 0, until: to })
      if (to >= now - 100 && to < now) handle({ type: 'host-resumed', at: now, hosts: ['news'] })
    }
    for (; (instants[next] ?? end) <= now && next < instants.length - 1; next += 1)
      handle(settled('market-news'))
    shown.push({ now, leftMs: at(now)[0]?.leftMs, right: end - now })
  }
  return shown
}

const evenly = (length: number, ms: number): readonly number[] =>
  Array.from({ length }, (_, index) => (index + 1) * ms)
/** At random instants, so many a second in the mean. */
const unevenly = (length: number, perSecond: number): readonly number[] => {
  const random = createRandom(11)
  let now = 0
  return Array.from({ length }, () => {
    now += (-Math.log(1 - random.next()) * 1_000) / perSecond
    return now
  })
}

describe('the remaining time', () => {
  test('is a finite number that never rises by more than a third at once, however uneven the items are', () => {
    const total = fc.record({
      type: fc.constant('items-known' as const),
      stream,
      total: fc.integer({ min: 100, max: 400 }),
    })
    const unevenRun = fc.oneof(
      { weight: 40, arbitrary: anyItem },
      { weight: 1, arbitrary: total },
      { weight: 1, arbitrary: anyPause },
      { weight: 4, arbitrary: anyResume },
    )
    const anySteps = fc.array(fc.tuple(unevenRun, fc.integer({ min: -500, max: 3_000 })), {
      minLength: 50,
      maxLength: 300,
    })
    let seen = 0
    let risen = 0
    const check = (steps: readonly (readonly [RunEvent, number])[]): void => {
      const { handle, at, runLeft } = follow()
      handle(...NAMES.flatMap((name) => begun(name, 150)))
      let now = 0
      let before = Number.POSITIVE_INFINITY
      for (const [event, passed] of steps) {
        handle(event)
        now += passed
        at(now)
        const left = runLeft()
        if (left === undefined) continue
        seen += 1
        if (left > before) risen += 1
        expect(Number.isFinite(left) && left >= 1_000).toBe(true)
        expect(left).toBeLessThanOrEqual((before * 4) / 3)
        before = left
      }
    }
    fc.assert(fc.property(anySteps, check), { seed: 7, numRuns: 300 })
    expect([seen > 1_000, risen > 100]).toEqual([true, true])
  })

  test('is unknown for ten seconds, and until a tenth of the items is fetched', () => {
    const early = estimates(evenly(200, 100)).filter(({ now }) => now < 10_000)
    expect(early.map(({ leftMs }) => leftMs)).toEqual(early.map(() => undefined))
    const slow = estimates(evenly(30, 5_000))
    expect(slow.find(({ leftMs }) => leftMs !== undefined)?.now).toBe(15_000)
  })

  test('is right at a constant rate, and counts down', () => {
    const shown = estimates(evenly(200, 100)).filter(({ now }) => now >= 10_000)
    for (const { leftMs = Number.NaN, right } of shown)
      expect(Math.abs(leftMs - right)).toBeLessThanOrEqual(1_000)
    const ups = shown.filter(
      ({ leftMs = 0 }, index) => leftMs > (shown[index - 1]?.leftMs ?? Number.POSITIVE_INFINITY),
    )
    expect(ups).toEqual([])
  })

  test('does not jump at an uneven rate', () => {
    const shown = estimates(unevenly(1_000, 20)).filter(({ now }) => now >= 10_000)
    const jumps = shown.filter(
      ({ leftMs = 0 }, index) => index > 0 && leftMs > (shown[index - 1]?.leftMs ?? 0) + 500,
    )
    expect(shown.length).toBeGreaterThan(200)
    expect(jumps.length).toBeLessThan(6)
  })

  test('uses the recent rate: follows a drop to a tenth within 30 s', () => {
    const instants = [...evenly(400, 20), ...evenly(200, 200).map((ms) => 8_000 + ms)]
    for (const { now, leftMs = Number.NaN, right } of estimates(instants)) {
      if (now > 32_000 && right > 5_000) expect(leftMs / right).toBeGreaterThan(0.75)
    }
  })

  test('counts short pauses, but not long ones', () => {
    // 20 a second for 1 s, then a pause of 3 s: 5 a second in all.
    const bursts = Array.from({ length: 12 }, (_, burst) =>
      evenly(20, 50).map((ms) => burst * 4_000 + ms),
    ).flat()
    const pauses = Array.from(
      { length: 12 },
      (_, burst) => [burst * 4_000 + 1_000, burst * 4_000 + 4_000] as const,
    )
    for (const { leftMs = Number.NaN, right } of estimates(bursts, pauses).filter(
      ({ now, right }) => now > 20_000 && right > 8_000,
    )) {
      expect(leftMs / right).toBeGreaterThan(0.6)
      expect(leftMs / right).toBeLessThan(1.8)
    }
    const afterLong = [...evenly(240, 50), ...evenly(600, 50).map((ms) => 72_000 + ms)]
    for (const { now, leftMs = Number.NaN, right } of estimates(afterLong, [[12_000, 72_000]])) {
      if (now > 72_000 && right > 3_000) expect(Math.abs(leftMs - right)).toBeLessThan(3_000)
    }
  })

  test('becomes unknown when no items finish any more', () => {
    const stuck = estimates([...evenly(200, 55), 60_000])
    expect(stuck.find(({ now }) => now === 20_000)?.leftMs).toBeDefined()
    expect(stuck.find(({ now }) => now === 22_000)?.leftMs).toBeUndefined()
  })
})
