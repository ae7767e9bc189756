import { execFileSync, spawnSync } from 'node:child_process'
import { mock } from 'node:test'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SIMULATED_FAULTS, SimulationError, simulate } from '../../src/testing.js'
import { allIndices } from '../../streams/index.js'
import { duckdb } from '../tables/support.js'

/** More of them: `npm run simulate -- --seeds 10000`. */
const SEEDS = 100
/** Seeds of three days each: only these have stored files of an earlier session, and planted events. */
const LONGER_SEEDS = 6

describe('faked timers', () => {
  const faked: Readonly<Record<string, () => () => void>> = {
    vitest: () => {
      vi.useFakeTimers()
      return () => void vi.useRealTimers()
    },
    'node:test': () => {
      mock.timers.enable()
      return () => mock.timers.reset()
    },
  }
  it.each(Object.entries(faked))(
    'of %s are named, instead of a simulation that never ends',
    async (_, fake) => {
      const real = performance.now.bind(performance)
      const begun = real()
      onTestFinished(fake())
      await expect(simulate({ seed: 1 })).rejects.toThrow(/^the timers of this process are faked/)
      expect(real() - begun).toBeLessThan(1_000)
    },
  )

  it('of the date alone are none', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    expect(await simulate({ seed: 1, streams: [allIndices], faults: [] })).toMatchObject({ seeds: 1 })
  })
})

describe('whole daily runs on virtual time', () => {
  it(`keep every invariant, whatever goes wrong, with ${SEEDS} seeds`, async () => {
    const result = await simulate({ seed: 1, seeds: SEEDS })
    expect(result.kills).toBeGreaterThan(20)
    for (const kind of SIMULATED_FAULTS.filter(
      (one) => !['kill', 'power-cut', 'clock', 'midnight', 'two-starts', 'divided', 'renamed'].includes(one),
    ))
      expect(result.faults[kind], kind).toBeGreaterThan(0)
    expect(Object.keys(result.checks).length).toBeGreaterThan(14)
    // What diff and the record say is compared where the disk has not failed, and diff where no other hour
    // was before.
    const ofDiff = [
      'diff says what it says without faults',
      'a split or bonus is the reason for a new history',
    ]
    for (const name of ofDiff) expect(result.checks[name]).toBeGreaterThan(SEEDS / 10)
    const others = Object.fromEntries(
      Object.entries(result.checks).filter(([name]) => !ofDiff.includes(name)),
    )
    expect(Math.min(...Object.values(others))).toBeGreaterThan(SEEDS / 2)
    expect(result.codes).toMatchObject({
      http_404: expect.any(Number),
      tls: expect.any(Number),
      count: expect.any(Number),
    })
  })

  it(`keep them over three days, with ${LONGER_SEEDS} more seeds`, async () => {
    const result = await simulate({ seed: SEEDS + 1, seeds: LONGER_SEEDS, days: 3 })
    expect(result.checks['diff says what it says without faults']).toBeGreaterThan(0)
  })

  it('refuse each wrong answer that a check can tell from a right one', async () => {
    const result = await simulate({
      seed: 1,
      seeds: 12,
      days: 2,
      stocks: 30,
      faults: ['doubled', 'divided', 'exchanged'],
    })
    for (const kind of ['doubled', 'divided', 'exchanged'])
      expect(result.faults[kind], kind).toBeGreaterThan(0)
    expect(result.codes).not.toEqual({})
    expect((await simulate({ seed: 1, seeds: 20, faults: ['renamed'] })).faults.renamed).toBeGreaterThan(0)
  })

  it('follow each other, with events in the market', async () => {
    const result = await simulate({ seed: 3, days: 12, faults: ['kill', 'power-cut', 'status', 'outage'] })
    expect(result.checks['diff says what it says without faults']).toBe(12)
    expect(result.checks['each list is recorded as it is without faults']).toBe(12)
    expect(result.checks['each planted event is in diff once']).toBeGreaterThan(0)
  })

  it.skipIf(!duckdb)(
    'give by SQL, as of each day, the rows of the record and those of the runs without faults',
    () => {
      const args = ['test/simulation/main.js', '--days', '3', '--sql', '1']
      expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toContain('seeds checked by SQL: 1')
    },
  )

  it('can be proven to find bugs: each one of the list can be planted', () => {
    const script = fileURLToPath(new URL('mutations.js', import.meta.url))
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('need no master list', async () => {
    expect(await simulate({ seed: 1, seeds: 3, streams: [allIndices] })).toMatchObject({ seeds: 3 })
  })

  // Each in a process of its own: what other tests have left running would take part, and nothing of a
  // process may count.
  it('are the same for the same seed in every process, and others for another one', () => {
    const main = fileURLToPath(new URL('main.js', import.meta.url))
    const digestOf = (seed: number): string =>
      /digest: '(\w{64})'/.exec(
        execFileSync(process.execPath, [main, '--seed', `${seed}`, '--seeds', '3'], { encoding: 'utf8' }),
      )?.[1] ?? ''
    const digest = digestOf(5)
    expect(digest).not.toBe('')
    expect(digestOf(5)).toBe(digest)
    expect(digestOf(6)).not.toBe(digest)
  })

  it('give the process its timers and its clock back', async () => {
    const before = { setTimeout, setInterval, setImmediate, now: Date.now }
    await simulate({ seed: 1 })
    expect({ setTimeout, setInterval, setImmediate, now: Date.now }).toEqual(before)
  })

  it('are simulated one at a time', async () => {
    const first = simulate({ seed: 1, streams: [allIndices] })
    await expect(simulate({ seed: 2, streams: [allIndices] })).rejects.toThrow(
      'a simulation is already running in this process',
    )
    expect(await first).toMatchObject({ seeds: 1 })
  })

  it('let a timer that was set before them be cleared', async () => {
    let calls = 0
    const timer = setInterval(() => (calls += 1), 1)
    await simulate({
      seed: 1,
      streams: [allIndices],
      check: () => {
        clearInterval(timer)
        return []
      },
    })
    const before = calls
    // By now the timer is due.
    await new Promise(setImmediate)
    expect(calls).toBe(before)
  })

  it('end with the seed, the day and what is wrong', async () => {
    const failing = simulate({
      seed: 7,
      check: ({ after }) => [...after.keys()].filter((file) => file === 'master_data_response.json'),
    })
    await expect(failing).rejects.toThrow(SimulationError)
    await expect(failing).rejects.toThrow(
      'seed 7, 2026-01-30: it is not true that the check of the caller holds: master_data_response.json',
    )
  })
})
