import { describe, expect, it } from 'vitest'
import { type Context, marbles } from '../../support/marbles.js'
import { type Asking, askAll, type Granting, limitedHost } from './support.js'

interface Case extends Asking, Granting {
  /** The most that the time may be of what the host's limit, or the workers, make of it. */
  readonly within: number
}

const asked = (m: Context, { within, ...given }: Case) => {
  const { items, workers, latencyMs = 50, perSecond = Number.POSITIVE_INFINITY, inFlight = Number.POSITIVE_INFINITY } = given
  const host = limitedHost(m, given)
  const result = askAll(m, host.transport, given)
  const all = workers.reduce((sum, count) => sum + count, 0)
  const idealMs = (items * 1_000) / Math.min(perSecond, (Math.min(inFlight, all) * 1_000) / latencyMs)
  const times = result.took / idealMs
  const refused = result.refused / result.sent
  if (process.env.SHOW_FIGURES) {
    const { latencyMs: ms = 50, burst, inFlight: most } = given
    const what = most === undefined ? `${perSecond}/s, burst ${burst}` : `${most} in flight`
    const row = [what, `${ms} ms`, workers.join('+'), items, `${(idealMs / 1_000).toFixed(1)} s`, `${(result.took / 1_000).toFixed(1)} s`]
    console.log(`| ${[...row, times.toFixed(2), `${(100 * refused).toFixed(1)} %`].join(' | ')} |`)
  }
  return { ...result, log: host.log, times, refused, within }
}

const buckets: readonly Case[] = [
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
  { items: 20_000, workers: [50], perSecond: 1_000, burst: 250, latencyMs: 20, within: 1.5 },
  { items: 5_000, workers: [50], perSecond: 1_000, burst: 250, latencyMs: 300, within: 1.1 },
]

const crowds: readonly Case[] = [1, 2, 4, 10, 20].map((inFlight) => ({ items: 3_000, workers: [40], inFlight, within: 2 }))

describe('a host with a limit that nobody told', () => {
  for (const given of buckets)
    it(
      `of ${given.perSecond} requests a second, ${given.latencyMs} ms away, is used to the full by ${given.workers.join(' + ')} workers, and seldom refuses`,
      marbles((m) => {
        const { times, refused, ends } = asked(m, given)

        expect(ends).toStrictEqual({ served: given.items })
        expect(times).toBeLessThanOrEqual(given.within)
        expect(refused).toBeLessThanOrEqual(0.1)
      }),
    )

  for (const given of crowds)
    it(
      `of ${given.inFlight} requests in flight serves all of 40 workers, and seldom refuses`,
      marbles((m) => {
        const { times, refused, ends } = asked(m, given)

        expect(ends).toStrictEqual({ served: given.items })
        expect(times).toBeLessThanOrEqual(given.within)
        expect(refused).toBeLessThanOrEqual(0.1)
      }),
    )

  it(
    'that is lifted is used to the full again within about half a minute',
    marbles((m) => {
      const { bySecond, ends } = asked(m, { items: 8_000, workers: [15], perSecond: 50, burst: 10, freeFrom: 30_000, within: 1 })

      expect(ends).toStrictEqual({ served: 8_000 })
      expect(Math.max(...bySecond.slice(20, 30))).toBeLessThan(60)
      // 15 workers that wait for 50 ms each make 300 requests a second.
      expect(bySecond[62]).toBeGreaterThan(285)
    }),
  )

  it(
    'after half a minute of refusals only is back at full speed within ten seconds, without a loss',
    marbles((m) => {
      const { bySecond, ends, refused, sent } = asked(m, { items: 3_000, workers: [15], from: 30_000, within: 5 })

      expect(ends).toStrictEqual({ served: 3_000 })
      expect(bySecond[40]).toBeGreaterThan(285)
      expect(refused / sent).toBeLessThan(0.01)
    }),
  )

  for (const workers of [[15], [20, 40, 50]])
    it(
      `of nothing at all is given up: ${workers.join(' + ')} workers send no more than 1.2 requests a stock, and all end as rate_limit`,
      marbles((m) => {
        const { ends, sent, took } = asked(m, { items: 2_775, workers, from: Number.POSITIVE_INFINITY, within: 1 })

        expect(ends).toStrictEqual({ rate_limit: 2_775 })
        expect(sent).toBeLessThanOrEqual(1.2 * 2_775)
        expect(took).toBeLessThan(130_000)
      }),
    )

  it(
    'is sent no request while it asks for a pause',
    marbles((m) => {
      const { log, ends } = asked(m, { items: 1_500, workers: [30, 20], perSecond: 40, burst: 10, retryAfter: '7', within: 9 })
      const refusals = log.filter(({ status }) => status === 429)
      const pauses = refusals.filter(({ at }, place) => place === 0 || at - (refusals[place - 1]?.at ?? 0) > 1_000).map(({ at }) => at)

      expect(ends).toStrictEqual({ served: 1_500 })
      expect(pauses.length).toBeGreaterThan(1)
      // What was already under way when the first refusal arrived, at most 63 ms later, cannot be called back.
      for (const pause of pauses) expect(log.filter(({ at }) => at > pause + 63 && at < pause + 7_000)).toStrictEqual([])
    }),
  )

  it(
    'that refuses a few whatever the pace is not asked ever more slowly',
    marbles((m) => {
      const { transport } = limitedHost(m, { refusesEvery: 20 })
      const { took, refused, ends } = askAll(m, transport, { items: 2_000, workers: [15] })

      expect(ends).toStrictEqual({ served: 2_000 })
      // Each of the refusals holds the host for 2 s; what it takes beyond that is the pace between them.
      expect(took - refused * 2_000).toBeLessThan(1_000_000)
    }),
  )
})
