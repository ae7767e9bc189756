import { catchError, concat, from, map, merge, of } from 'rxjs'
import { describe, expect } from 'vitest'
import { createActivity, type ItemWork, workOnItems } from '../../src/engine/in-process.js'
import { createAsk } from '../../src/http/ask.js'
import { SharedLimiters } from '../../src/limiter/limiter-registry.js'
import type { CollectError } from '../../src/model/errors.js'
import { createResult, type Item } from '../../src/model/outcome.js'
import { note, settingsOf } from '../http/support.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { createLimitedHost, type HostLimits } from './support.js'

/** The workers of the endpoints of each phase of a run: 60 items each. */
const PHASES = [[20], [20, 20, 50, 30, 15, 15, 15, 40, 15]]
const ITEMS = 60

/** A run of two phases, whose endpoints share one host. */
const runPhases = (m: Context, limits: HostLimits) => {
  const host = createLimitedHost(m, { latencyMs: 40, ...limits })
  const settings = settingsOf({ urls: { static: 'http://static.test' } })
  const phases = PHASES.map((phase, number) =>
    phase.map((workers, index) => ({ workers, endpoint: { ...note, name: `${number}.${index}` } })),
  )
  const users = phases.flat().map(({ workers, endpoint }) => ({
    name: endpoint.name,
    workers,
    endpoints: [endpoint],
  }))
  const ask = createAsk({
    transport: host.transport,
    settings,
    limiters: new SharedLimiters(settings, users).open(() => undefined),
    timeoutMs: 30_000,
    random: () => 0.5,
    clock: () => m.scheduler.now(),
    onRequestEvent: () => undefined,
  })
  const ends: Record<string, number> = {}
  let tookMs = Number.NaN
  const work = ({ workers, endpoint }: (typeof users)[number] & { readonly endpoint: typeof note }) => {
    const activeItems = createActivity().createCounter()
    const request: ItemWork = ({ key }, pause) =>
      ask('', pause)(endpoint, { data: { isin: key } }).pipe(
        map(() => 'served'),
        catchError((error: CollectError) => of(error.status)),
        map((end) => createResult([end])),
      )
    return from(Array(ITEMS).keys()).pipe(
      map((n): Item => ({ key: `${endpoint.name}.${n}`, rank: n, fileName: '', value: n })),
      workOnItems(request, { workers, activeItems }),
      map(({ rows }) => {
        activeItems.end()
        const end = String([...rows][0])
        ends[end] = (ends[end] ?? 0) + 1
      }),
    )
  }
  concat(
    ...phases.map((phase) =>
      merge(...phase.map((one) => work({ ...one, name: one.endpoint.name, endpoints: [] }))),
    ),
  ).subscribe({
    complete: () => {
      tookMs = m.scheduler.now()
    },
  })
  m.flush()
  return { ends, tookMs, refused: host.log.filter(({ status }) => status !== 200).length }
}

const ALL = ITEMS * PHASES.flat().length

interface Case extends HostLimits {
  /** The maximum ratio of the duration to what the limit allows. */
  readonly within: number
  /** The maximum share of refusals. */
  readonly refusedWithin: number
}

const LIMITS: readonly Case[] = [
  { perSecond: 40, burst: 1, refusesWith: 503, within: 1.6, refusedWithin: 0.1 },
  { perSecond: 40, burst: 1, within: 1.7, refusedWithin: 0.1 },
  { perSecond: 40, burst: 20, refusesWith: 503, within: 1.25, refusedWithin: 0.15 },
  { perSecond: 40, burst: 20, within: 1.25, refusedWithin: 0.1 },
  { perSecond: 10, burst: 10, refusesWith: 503, within: 1.1, refusedWithin: 0.15 },
  { perSecond: 150, burst: 10, refusesWith: 503, within: 1.8, refusedWithin: 0.1 },
  { perSecond: 40, burst: 40, holdsMs: 3_000, within: 1.7, refusedWithin: 0.4 },
  { inFlight: 8, refusesWith: 503, within: 1.3, refusedWithin: 0.05 },
  { inFlight: 8, refusesWith: 'reset', within: 1.3, refusedWithin: 0.05 },
  { inFlight: 8, within: 1.6, refusedWithin: 0.05 },
]

describe('a run of two phases, at a host with a limit', () => {
  for (const { within, refusedWithin, ...limits } of LIMITS)
    itWithMarbles(
      `of ${JSON.stringify(limits)}, loses nothing, and does not begin anew with the second`,
      (m) => {
        const { perSecond = Number.POSITIVE_INFINITY, inFlight = Number.POSITIVE_INFINITY } = limits
        const idealMs = Math.max((ALL * 1_000) / perSecond, (ALL * 40) / inFlight)
        const { ends, tookMs, refused } = runPhases(m, limits)

        expect(ends).toEqual({ served: ALL })
        expect(tookMs / idealMs).toBeLessThanOrEqual(within)
        expect(refused / ALL).toBeLessThanOrEqual(refusedWithin)
      },
    )

  itWithMarbles('of none, is not slowed for long by refusals that are accidents', (m) => {
    const { ends, tookMs } = runPhases(m, { refusesOnce: 0.05, retryAfter: '2' })
    expect(ends).toEqual({ served: ALL })
    expect(tookMs).toBeLessThan(6_000)
  })
})
