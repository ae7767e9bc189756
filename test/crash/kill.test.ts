import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { provider, run } from '../e2e/command.js'
import { copyOf } from '../resume/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { damagedIn, killedAfter, seeded, temporariesIn } from './support.js'

/**
 * The number of kills in all; set it with `npm run test:crash -- 1000`. The simulation kills far more,
 * without a process.
 */
const KILLS = Number(process.env.KILLS ?? 4)
const SEED = Number(process.env.CRASH_SEED ?? 1)

const FIRST_DAY = '2026-02-11T20:00:00+05:30'
const SECOND_DAY = '2026-02-12T20:00:00+05:30'

const MARKET = { stocks: 30, candleDays: 120, latencyMs: 4 }

interface Victim {
  readonly args: readonly string[]
  readonly out: string
  readonly env: Record<string, string>
  readonly random: () => number
  /** The duration of an undisturbed run. */
  readonly wholeMs: number
}

/**
 * Kills a run repeatedly at random moments until it ends by itself; returns the number of kills. No kill
 * leaves an output without its digest.
 */
const runUntilDone = async ({ args, out, env, random, wholeMs }: Victim): Promise<number> => {
  const cwd = temporaryFolder()
  for (let kills = 0; ; kills++) {
    const { code, stderr } = await killedAfter(wholeMs * (0.1 + random()), args, { cwd, env })
    expect(await damagedIn(out)).toEqual([])
    if (code === 0) return kills
    expect(code, stderr).toBe(null)
  }
}

/** Runs to the end; returns the duration. */
const undisturbed = async (args: readonly string[], env: Record<string, string>): Promise<number> => {
  const began = performance.now()
  const { code, stderr } = await run(args, { cwd: temporaryFolder(), env })
  expect(code, stderr).toBe(0)
  return performance.now() - began
}

describe(`a run that is killed ${KILLS} times with SIGKILL at random moments (seed ${SEED})`, () => {
  it('leaves the same files as an undisturbed run, and no others, when it finally ends, also if smaller runs are killed between', async () => {
    const random = seeded(SEED)
    const { simulator, env } = await provider({ ...MARKET, asOf: Date.parse(FIRST_DAY) })
    const before = temporaryFolder()
    await undisturbed(['run', '--as-of', FIRST_DAY, '--out', before], env)
    simulator.control({ asOf: Date.parse(SECOND_DAY), reset: true })
    const whole = copyOf(before)
    const wholeMs = await undisturbed(['run', '--as-of', SECOND_DAY, '--out', whole], env)
    const expected = hashOutputs(whole)
    expect(expected).not.toEqual(hashOutputs(before))
    for (let kills = 0; kills < KILLS; kills += 2) {
      const [out, cwd] = [copyOf(before), temporaryFolder()]
      const args = ['run', '--as-of', SECOND_DAY, '--out', out]
      await killedAfter(wholeMs * (0.4 + random() / 2), args, { cwd, env })
      for (const part of ['fundamental-data', 'market-news,company-filings'])
        await killedAfter(wholeMs * (0.1 + random()), [...args, '--only', part], { cwd, env })
      kills += await runUntilDone({ args, out, env, random, wholeMs })
      expect(hashOutputs(out)).toEqual(expected)
      expect(temporariesIn(out)).toEqual([])
      expect(existsSync(join(out, '.scripstream', 'part'))).toBe(false)
    }
    expect(simulator.stats().violations).toEqual([])
  })
})
