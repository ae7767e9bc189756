import { expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import type { Fault } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { differencesOf, temporariesIn } from '../crash/support.js'
import { provider, run } from '../e2e/command.js'
import { temporaryFolder } from '../support/folders.js'
import { openFaultyNetwork } from './faulty-network.js'

/** The number of listed stocks; set it with `npm run test:chaos -- 2775`. */
const STOCKS = Number(process.env.STOCKS ?? 40)

/** Endpoints that never answer with an empty list: there an empty answer is a detectable fault. */
const NEVER_EMPTY = ['master', 'indices', 'sec_list', 'listing_dates', 'sheet']

const MODES: readonly Omit<Fault, 'on'>[] = [
  { mode: 'status', status: 429 },
  { mode: 'status', status: 500 },
  { mode: 'status', status: 503 },
  { mode: 'reset' },
  { mode: 'truncate' },
  { mode: 'html' },
  { mode: 'garbage' },
  { mode: 'null' },
  { mode: 'no-body' },
  { mode: 'hang' },
  // Longer than the timeouts below: counts as an idle connection.
  { mode: 'drip', ms: 5_000 },
  { mode: 'slow', ms: 200 },
]

/** The chance of each fault per first request, so that half of all items get one. */
const onHalf = 1 - 0.5 ** (1 / MODES.length)
const faultsOfFirstAnswers: readonly Fault[] = [
  ...MODES.map((fault) => ({ on: '*', ...fault, rate: onHalf, times: 1 })),
  ...NEVER_EMPTY.map((on): Fault => ({ on, mode: 'empty', times: 1 })),
]

/** Settings for runs with these faults: many quick retries, and waiting for a host that is down. */
const PATIENT = {
  // Fewer retries than an outage lasts: a run survives it by waiting for the host, not by retrying.
  SCRIPSTREAM_RETRIES: '8',
  SCRIPSTREAM_PATIENCE: '2m',
  SCRIPSTREAM_TIMEOUTS_MS: streams.map(({ name }) => `${name}=1500`).join(),
}

const AS_OF = '2026-02-12T20:00:00+05:30'

const reportOf = (stdout: string): RunReport => JSON.parse(stdout) as RunReport
const itemsIn = (report: RunReport): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(report.scripts).map(([name, { items, degraded }]) => [name, { ...items, degraded }]),
  )

/**
 * The seeds of the outages; add more with `CHAOS_SEEDS=1,2,3,…`. The simulation tries far more, without
 * sockets.
 */
const SEEDS = (process.env.CHAOS_SEEDS ?? '1').split(',').map(Number)

it.each(SEEDS)(
  `loses no item over real sockets with outages, a slow line, and half of all first answers faulty (${STOCKS} stocks, seed %i)`,
  async (seed) => {
    const { simulator, env } = await provider({ stocks: STOCKS, candleDays: 60 })
    const [cwd, clean, out] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
    const cleanRun = await run(['run', '--json', '--as-of', AS_OF, '--out', clean], { cwd, env })
    expect(cleanRun.code, cleanRun.stderr).toBe(0)
    simulator.control({ faults: faultsOfFirstAnswers, reset: true })
    const network = await openFaultyNetwork(simulator.origin, env)
    network.begin({
      seed,
      outages: 3,
      requestsBetween: STOCKS * 2,
      line: { bitsPerSecond: 2e6 + STOCKS * 2e5, jitterMs: 100 },
    })
    const faultyRun = await run(['run', '--json', '--as-of', AS_OF, '--out', out], {
      cwd,
      env: { ...network.env, ...PATIENT },
    })
    expect.soft(faultyRun.code, faultyRun.stderr).toBe(0)
    expect.soft(differencesOf(out, clean), 'files that differ').toEqual([])
    expect.soft(itemsIn(reportOf(faultyRun.stdout))).toEqual(itemsIn(reportOf(cleanRun.stdout)))
    const times = Object.values(simulator.stats().endpoints).flatMap(({ items }) => Object.values(items))
    expect(times.filter((asked) => asked > 1).length / times.length).toBeGreaterThan(0.3)
    expect(new Set(network.outages)).toEqual(new Set(['503', 'killed', 'frozen']))
    expect(temporariesIn(out)).toEqual([])
  },
)
