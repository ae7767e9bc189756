import { describe, expect, it } from 'vitest'
import { describeFoundLimit } from '../../src/limiter/shared-limit.js'
import { createLimiterState } from '../../src/limiter/state.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { createLimitedHost, type HostLimits, type LoadOptions, runLoad } from './support.js'

interface Case extends LoadOptions, HostLimits {
  /** The maximum ratio of the duration to the ideal one. */
  readonly within: number
  /** The maximum share of refused requests. */
  readonly refusedWithin?: number
}

const runCase = (m: Context, { within, ...given }: Case) => {
  const {
    items,
    workers,
    latencyMs = 50,
    perSecond = Number.POSITIVE_INFINITY,
    inFlight = Number.POSITIVE_INFINITY,
  } = given
  const host = createLimitedHost(m, given)
  const result = runLoad(m, host.transport, given)
  const all = workers.reduce((sum, count) => sum + count, 0)
  const idealMs = (items * 1_000) / Math.min(perSecond, (Math.min(inFlight, all) * 1_000) / latencyMs)
  const times = result.took / idealMs
  const refused = result.refused / result.sent
  return { ...result, log: host.log, times, refused, within }
}

const buckets: readonly Case[] = [
  ...[20, 50, 120].map((latencyMs) => ({
    items: 2_775,
    workers: [15],
    perSecond: 50,
    burst: 10,
    latencyMs,
    within: 1.35,
    refusedWithin: 0.02,
  })),
  {
    items: 2_775,
    workers: [15],
    perSecond: 50,
    burst: 100,
    latencyMs: 50,
    within: 1.35,
    refusedWithin: 0.02,
  },
  {
    items: 2_775,
    workers: [15],
    perSecond: 290,
    burst: 10,
    latencyMs: 50,
    within: 1.35,
    refusedWithin: 0.02,
  },
  {
    items: 2_775,
    workers: [15],
    perSecond: 300,
    burst: 75,
    latencyMs: 20,
    within: 1.35,
    refusedWithin: 0.02,
  },
  { items: 2_775, workers: [15], perSecond: 140, burst: 35, latencyMs: 20, within: 1.5 },
  { items: 2_775, workers: [15], perSecond: 140, burst: 35, latencyMs: 50, within: 1.5 },
  { items: 2_775, workers: [15], perSecond: 140, burst: 35, latencyMs: 100, within: 1.5 },
  { items: 2_775, workers: [15], perSecond: 140, burst: 35, latencyMs: 300, within: 1.1 },
  { items: 2_775, workers: [50], perSecond: 140, burst: 35, latencyMs: 20, within: 1.5 },
  { items: 2_775, workers: [50], perSecond: 140, burst: 35, latencyMs: 300, within: 1.5 },
  { items: 2_775, workers: [20, 40, 50], perSecond: 140, burst: 35, latencyMs: 50, within: 1.5 },
  { items: 1_000, workers: [50], perSecond: 5, burst: 5, latencyMs: 20, within: 1.5 },
  { items: 1_000, workers: [50], perSecond: 20, burst: 5, latencyMs: 20, within: 1.5 },
  { items: 1_000, workers: [50], perSecond: 20, burst: 5, latencyMs: 300, within: 1.5 },
  { items: 10_000, workers: [50], perSecond: 1_000, burst: 250, latencyMs: 20, within: 1.5 },
  { items: 5_000, workers: [50], perSecond: 1_000, burst: 250, latencyMs: 300, within: 1.1 },
]

const concurrencies: readonly Case[] = [1, 2, 4, 10, 20].map((inFlight) => ({
  items: 3_000,
  workers: [40],
  inFlight,
  within: 2,
}))

describe('a host with an unknown limit', () => {
  for (const given of buckets)
    itWithMarbles(
      `of ${given.perSecond} requests/s (burst ${given.burst}), with ${given.latencyMs} ms latency and ${given.workers.join(' + ')} workers, is fully used and rarely refuses`,
      (m) => {
        const { times, refused, ends } = runCase(m, given)

        expect(ends).toStrictEqual({ served: given.items })
        expect(times).toBeLessThanOrEqual(given.within)
        expect(refused).toBeLessThanOrEqual(given.refusedWithin ?? 0.1)
      },
    )

  for (const given of concurrencies)
    itWithMarbles(`of ${given.inFlight} requests in flight serves 40 workers and rarely refuses`, (m) => {
      const { times, refused, ends } = runCase(m, given)

      expect(ends).toStrictEqual({ served: given.items })
      expect(times).toBeLessThanOrEqual(given.within)
      expect(refused).toBeLessThanOrEqual(0.1)
    })

  for (const refusesWith of [503, 'reset'] as const)
    for (const limits of [{ perSecond: 40, burst: 5 }, { perSecond: 40, burst: 20 }, { inFlight: 8 }])
      itWithMarbles(`of ${JSON.stringify(limits)} that is told by ${refusesWith} loses nothing`, (m) => {
        const { times, ends } = runCase(m, {
          items: 1_200,
          workers: [20, 15],
          latencyMs: 40,
          refusesWith,
          within: 2,
          ...limits,
        })

        expect(ends).toStrictEqual({ served: 1_200 })
        expect(times).toBeLessThanOrEqual(2)
      })

  itWithMarbles('of 40 requests/s that holds what it refuses for 3 s is not starved', (m) => {
    const given = { perSecond: 40, burst: 100, latencyMs: 40, holdsMs: 3_000 }
    const { times, ends } = runCase(m, { ...given, items: 640, workers: [160], within: 1.6 })

    expect(ends).toStrictEqual({ served: 640 })
    expect(times).toBeLessThanOrEqual(1.6)
  })

  itWithMarbles('that is lifted is fully used again within about half a minute', (m) => {
    const { bySecond, ends } = runCase(m, {
      items: 8_000,
      workers: [15],
      perSecond: 50,
      burst: 10,
      freeFrom: 30_000,
      within: 1,
    })

    expect(ends).toStrictEqual({ served: 8_000 })
    expect(Math.max(...bySecond.slice(20, 30))).toBeLessThan(60)
    // 15 workers with 50 ms latency make 300 requests/s.
    expect(bySecond[70]).toBeGreaterThan(285)
  })

  itWithMarbles(
    'that refused every request for half a minute is back at full speed within ten seconds, without a loss',
    (m) => {
      const { bySecond, ends, refused, sent } = runCase(m, {
        items: 3_000,
        workers: [15],
        from: 30_000,
        within: 5,
      })

      expect(ends).toStrictEqual({ served: 3_000 })
      expect(bySecond[40]).toBeGreaterThan(285)
      expect(refused / sent).toBeLessThan(0.01)
    },
  )

  for (const workers of [[15], [20, 40, 50]])
    itWithMarbles(
      `of zero is given up: ${workers.join(' + ')} workers send no more than 1.2 requests a stock, and all end as rate_limit`,
      (m) => {
        const { ends, sent, took } = runCase(m, {
          items: 2_775,
          workers,
          from: Number.POSITIVE_INFINITY,
          within: 1,
        })

        expect(ends).toStrictEqual({ rate_limit: 2_775 })
        expect(sent).toBeLessThanOrEqual(1.2 * 2_775)
        expect(took).toBeLessThan(310_000)
      },
    )

  itWithMarbles('gets no request during its Retry-After', (m) => {
    const { log, ends } = runCase(m, {
      items: 1_500,
      workers: [30, 20],
      from: 20_000,
      retryAfter: '7',
      within: 9,
    })
    const isPause = ({ at }: { at: number }): boolean => at > 63 && at < 21_000 && at % 7_000 > 200

    expect(ends).toStrictEqual({ served: 1_500 })
    // Requests in flight at the first refusal, for up to 63 ms, cannot be recalled; then one probe after each
    // pause.
    expect(log.filter(isPause)).toStrictEqual([])
    expect(log.filter(({ at }) => at > 63 && at < 21_000)).toHaveLength(2)
  })

  for (const { refusesOnce, within } of [
    { refusesOnce: 0.01, within: 1.3 },
    { refusesOnce: 0.02, within: 1.5 },
    { refusesOnce: 0.05, within: 2 },
    { refusesOnce: 0.2, within: 4 },
    { refusesOnce: 0.5, within: 6 },
  ])
    itWithMarbles(
      `that refuses ${100 * refusesOnce} % of the items once, at any rate, delays little but those`,
      (m) => {
        for (const seed of [1, 2, 3]) {
          const from = m.scheduler.now()
          const { transport } = createLimitedHost(m, { refusesOnce, seed, latencyMs: 120, retryAfter: '2' })
          const { took, ends } = runLoad(m, transport, { items: 2_775, workers: [15] })

          expect(ends).toStrictEqual({ served: 2_775 })
          // 22.2 s without refusals.
          expect(took - from).toBeLessThan(within * 22_200)
        }
      },
    )

  itWithMarbles(
    'that refuses half of 60 items once is done with them in little more than half a minute',
    (m) => {
      for (const latencyMs of [5, 40])
        for (let seed = 1; seed <= 16; seed += 1) {
          const from = m.scheduler.now()
          const { transport } = createLimitedHost(m, { refusesOnce: 0.5, seed, latencyMs, retryAfter: '2' })
          const { took, ends } = runLoad(m, transport, { items: 60, workers: [15] })

          expect(ends).toStrictEqual({ served: 60 })
          expect(took - from).toBeLessThan(36_000)
        }
    },
  )

  itWithMarbles('of fewer requests than the lowest rate still gets requests at that rate', (m) => {
    const { transport } = createLimitedHost(m, { perSecond: 0.05, latencyMs: 5 })
    const { notices } = runLoad(m, transport, { items: 20, workers: [5] })

    expect(notices).toStrictEqual([expect.stringMatching(/; the lowest rate was 0\.2\d? requests\/s$/)])
  })

  itWithMarbles('that refuses 5 % of the items once is not held', (m) => {
    const { transport } = createLimitedHost(m, { refusesOnce: 0.05, latencyMs: 120, retryAfter: '2' })
    expect(runLoad(m, transport, { items: 2_775, workers: [15] }).notices).toStrictEqual([])
  })

  itWithMarbles('is named, with the setting', (m) => {
    const { transport } = createLimitedHost(m, { perSecond: 50, burst: 10 })
    const { notices } = runLoad(m, transport, { items: 2_775, workers: [15] })
    expect(notices).toStrictEqual([
      expect.stringMatching(/^static note refused requests above about 5\d a second; set maxRate /),
    ])
  })

  it('of requests in flight is named, with the setting', () => {
    const { rate, ...state } = createLimiterState(Number.POSITIVE_INFINITY)
    expect(describeFoundLimit({ ...state, rate: { ...rate, connections: 8 } })).toBe(
      'refused requests above 8 at once; set fewer workers for its streams',
    )
  })
})
