import { cpSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isLost } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import type { Fault, Simulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { differencesOf, temporariesIn } from '../crash/support.js'
import { provider, run } from '../e2e/command.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { faultsOfFirstAnswers, HARDY, PATIENT, STOCKS } from './faults.js'
import { openFaultyNetwork } from './faulty-network.js'

const MS_PER_STOCK = 1_000

const FIRST_DAY = '2026-02-11T20:00:00+05:30'
const SECOND_DAY = '2026-02-12T20:00:00+05:30'

const reportOf = (stdout: string): RunReport => JSON.parse(stdout) as RunReport
const itemsIn = (report: RunReport): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(report.scripts).map(([name, { items }]) => [name, Object.values(items).reduce((sum, n) => sum + n, 0)]))

const goodItemsIn = (report: RunReport): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(report.scripts).map(([name, { items, degraded }]) => [name, { ...items, degraded }]))

/** A clean run, of a provider whose next first answers are faulty. */
const runCleanly = async () => {
  const { simulator, env } = await provider({ stocks: STOCKS, candleDays: 60 })
  const [cwd, clean, out] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  const cleanRun = await run(['run', '--json', '--as-of', SECOND_DAY, '--out', clean], { cwd, env })
  expect(cleanRun.code, cleanRun.stderr).toBe(0)
  simulator.control({ faults: faultsOfFirstAnswers, reset: true })
  return { simulator, env, cwd, clean, out, cleanRun }
}

describe(`half of all first answers faulty, with every detectable fault (${STOCKS} stocks)`, () => {
  it(
    'loses no item and writes the same files as a clean run',
    async () => {
      const { simulator, env, cwd, clean, out, cleanRun } = await runCleanly()
      const faultyRun = await run(['run', '--json', '--as-of', SECOND_DAY, '--out', out], { cwd, env: { ...env, ...HARDY } })
      expect(faultyRun.code, faultyRun.stderr + faultyRun.stdout).toBe(0)
      expect(hashOutputs(out)).toEqual(hashOutputs(clean))
      expect(itemsIn(reportOf(faultyRun.stdout))).toEqual(itemsIn(reportOf(cleanRun.stdout)))
      expect(itemsIn(reportOf(faultyRun.stdout))).toMatchObject({ 'market-news': STOCKS, 'fundamental-data': STOCKS, 'all-ohlcv': STOCKS })
      expect(faultsMet(simulator)).toBeGreaterThan(0.3)
      expect(temporariesIn(out)).toEqual([])
    },
    60_000 + STOCKS * MS_PER_STOCK,
  )
})

/** The seeds of the outages; add more with `CHAOS_SEEDS=1,2,3,…`. */
const SEEDS = (process.env.CHAOS_SEEDS ?? '1').split(',').map(Number)

describe.each(SEEDS)(
  `a provider with outages, a slow network, and half of all first answers faulty (${STOCKS} stocks, seed %i)`,
  (seed) => {
    it(
      'takes longer, loses no item and writes the same files as a clean run',
      async () => {
        const { simulator, env, cwd, clean, out, cleanRun } = await runCleanly()
        const network = await openFaultyNetwork(simulator.origin, env)
        network.begin({ seed, outages: 3, requestsBetween: STOCKS * 2, line: { bitsPerSecond: 2e6 + STOCKS * 2e5, jitterMs: 100 } })
        const faultyRun = await run(['run', '--json', '--as-of', SECOND_DAY, '--out', out], { cwd, env: { ...network.env, ...PATIENT } })
        expect.soft(faultyRun.code, faultyRun.stderr).toBe(0)
        expect.soft(differencesOf(out, clean), 'files that differ').toEqual([])
        expect.soft(itemsIn(reportOf(faultyRun.stdout))).toEqual(itemsIn(reportOf(cleanRun.stdout)))
        expect.soft(goodItemsIn(reportOf(faultyRun.stdout))).toEqual(goodItemsIn(reportOf(cleanRun.stdout)))
        expect(new Set(network.outages)).toEqual(new Set(['503', 'killed', 'frozen']))
        expect(temporariesIn(out)).toEqual([])
      },
      60_000 + STOCKS * MS_PER_STOCK,
    )
  },
)

/** The share of items that needed more than one request. */
const faultsMet = (simulator: Simulator): number => {
  const times = Object.values(simulator.stats().endpoints).flatMap(({ items }) => Object.values(items))
  return times.filter((asked) => asked > 1).length / times.length
}

const LASTING: readonly Omit<Fault, 'on'>[] = [
  { mode: 'status', status: 500 },
  { mode: 'status', status: 404 },
  { mode: 'reset' },
  { mode: 'truncate' },
  { mode: 'garbage' },
  { mode: 'null' },
]

describe(`a tenth of the stocks permanently faulty (${STOCKS} stocks)`, () => {
  it(
    'loses exactly the faulty stocks and keeps their earlier files unchanged',
    async () => {
      const { simulator, env } = await provider({ stocks: STOCKS, candleDays: 60, asOf: Date.parse(FIRST_DAY) })
      const { stocks } = simulator.market
      const faulty = stocks.filter((_, place) => place % 10 === 3)
      const [cwd, before, after] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
      expect((await run(['run', '--as-of', FIRST_DAY, '--out', before], { cwd, env })).code).toBe(0)
      cpSync(before, after, { recursive: true, preserveTimestamps: true })
      const clean = temporaryFolder()
      cpSync(before, clean, { recursive: true, preserveTimestamps: true })
      simulator.control({ asOf: Date.parse(SECOND_DAY), reset: true })
      expect((await run(['run', '--as-of', SECOND_DAY, '--out', clean], { cwd, env })).code).toBe(0)
      simulator.control({
        faults: faulty.map((stock, place) => ({
          on: '*',
          ...(LASTING[place % LASTING.length] ?? { mode: 'reset' }),
          items: [stock.ISIN, stock.Symbol, stock.Sid],
        })),
        reset: true,
      })
      const args = ['run', '--as-of', SECOND_DAY, '--out', after, '--json', '--log-level', 'warn', '--progress', 'none']
      const { code, stdout, stderr } = await run(args, { cwd, env: { ...env, SCRIPSTREAM_BACKOFF_MS: '20' } })
      expect(code, stderr).toBe(3)

      const symbols = faulty.map((stock) => stock.Symbol).sort()
      for (const [name, lost] of lostIn(stderr)) expect([...lost].sort(), name).toEqual(symbols)
      expect(Object.keys(reportOf(stdout).scripts).length).toBe(streams.length)
      expectRetainedData({ before, clean, after }, symbols)
    },
    60_000 + STOCKS * MS_PER_STOCK,
  )
})

/** Reads from the log the failed stocks of each stream over stocks; filings with one failed path count, too. */
const lostIn = (log: string): ReadonlyMap<string, ReadonlySet<string>> => {
  const lost = new Map<string, Set<string>>(
    streams.filter(({ work }) => work.of === 'master-data').map(({ name }) => [name, new Set<string>()]),
  )
  for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
    const { msg, stream, item, status, degraded } = JSON.parse(line) as Record<string, string>
    if (msg === 'item-finished' && (isLost({ status: status as 'error' }) || degraded !== undefined))
      lost.get(stream ?? '')?.add(item ?? '')
  }
  return lost
}

interface Folders {
  readonly before: string
  readonly clean: string
  readonly after: string
}

/** Checks that files and records of faulty stocks are unchanged, and all others equal those of the clean run. */
const expectRetainedData = ({ before, clean, after }: Folders, symbols: readonly string[]): void => {
  const [earlier, now] = [hashOutputs(before), hashOutputs(after)]
  const isOfFaulty = (file: string): boolean => symbols.some((symbol) => new RegExp(`/${symbol}(_|\\.csv$)`).test(file))
  const oneFileOutputs = ['fundamental_data.json', 'all_company_announcements.json', 'advanced_indicator_data.json']
  for (const [file, digest] of Object.entries(hashOutputs(clean))) {
    if (oneFileOutputs.includes(file)) {
      const recordsOf = (folder: string, isFaulty: boolean): readonly unknown[] =>
        (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { Symbol: string }[]).filter(
          (record) => symbols.includes(record.Symbol) === isFaulty,
        )
      expect(recordsOf(after, true), file).toEqual(recordsOf(before, true))
      expect(recordsOf(after, false), file).toEqual(recordsOf(clean, false))
    } else if (isOfFaulty(file)) {
      expect(now[file], file).toBe(earlier[file])
      if (earlier[file] !== undefined) expect(statSync(join(after, file)).mtimeMs).toBe(statSync(join(before, file)).mtimeMs)
    } else expect(now[file], file).toBe(digest)
  }
}
