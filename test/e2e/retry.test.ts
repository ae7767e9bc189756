import { expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import type { Simulator } from '../../src/simulator/index.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { provider, run, typed } from './command.js'

const DAY_ARGS = ['--as-of', '2026-02-12T20:00:00+05:30']

const requestsOf = (simulator: Simulator): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(simulator.stats().endpoints).map(([name, { requests }]) => [name, requests]),
  )

/** A market of 12 stocks, the command, and the outputs of a clean run. */
const market = async () => {
  const { simulator, env } = await provider()
  const [cwd, out] = [temporaryFolder(), temporaryFolder()]
  const command = (...args: readonly string[]) =>
    run(['run', '--out', out, ...DAY_ARGS, ...args], { cwd, env })
  const reported = async (...args: readonly string[]) =>
    JSON.parse((await command('--json', ...args)).stdout) as RunReport
  const clean = async (): Promise<Readonly<Record<string, string>>> => {
    const other = temporaryFolder()
    await run(['run', '--out', other, ...DAY_ARGS], { cwd, env })
    return hashOutputs(other)
  }
  return { simulator, out, command, reported, clean, stocks: simulator.market.stocks }
}

it('run again requests exactly the failed stocks, lists and streams, and writes the files of a clean run', async () => {
  const { simulator, out, command, reported, clean, stocks } = await market()
  const [first, second, third] = stocks.map(({ ISIN }) => ISIN) as [string, string, string]
  simulator.control({
    faults: [
      { on: 'news', mode: 'status', status: 404, items: [first, second] },
      { on: 'lodr', mode: 'status', status: 404, items: [third] },
      { on: 'fundamental', mode: 'status', status: 404, items: [second] },
      { on: 'indices', mode: 'status', status: 404 },
    ],
  })
  const failed = await reported()
  expect(failed.outcome).toBe('partial')
  expect(failed.missing).toEqual({
    'fundamental-data': 1,
    'company-filings': 1,
    'market-news': 2,
    'all-indices': 1,
    'indices-ohlcv': 'all',
  })

  simulator.control({ faults: [], reset: true })
  const dry = await command('--dry-run', '--json')
  expect(JSON.parse(dry.stdout)).toMatchObject({ isRemainder: true, streams: { length: 6 } })
  expect(requestsOf(simulator)).toEqual({})
  const again = await command()
  // It is the first complete run of the folder: the next step follows.
  expect([again.code, again.stdout.trimEnd().split('\n').slice(-2)]).toEqual([
    0,
    [expect.stringContaining('Complete: 6 streams'), `See it: ${typed} serve --out ${out}`],
  ])
  expect(again.stderr).toContain('Only what is missing or due since the last run is requested')
  const { indices } = simulator.market
  expect(requestsOf(simulator)).toEqual({
    master: 1,
    fundamental: 1,
    company_filings: 1,
    lodr: 1,
    news: 2,
    indices: 1,
    index_ohlcv: indices.length,
  })
  const requested = Object.keys(simulator.stats().endpoints.news?.items ?? {}).join()
  expect([first, second, third].map((isin) => requested.includes(isin))).toEqual([true, true, false])
  expect(hashOutputs(out)).toEqual(await clean())

  simulator.control({ reset: true })
  const nothing = await command()
  expect([nothing.code, nothing.stdout]).toEqual([0, expect.stringContaining('Up to date: ')])
  expect(requestsOf(simulator)).toEqual({})
})

it('run again requests every stream that could not start without the master list', async () => {
  const { simulator, command, reported } = await market()
  simulator.control({ faults: [{ on: 'master', mode: 'status', status: 404 }] })
  const failed = await reported('--only', 'market-news', '--symbols', 'M&M,360ONE')
  expect([failed.outcome, failed.missing]).toEqual(['failed', { 'master-data': 1, 'market-news': 2 }])
  simulator.control({ faults: [], reset: true })
  expect((await command('--only', 'market-news', '--symbols', 'M&M,360ONE')).code).toBe(0)
  expect(requestsOf(simulator)).toEqual({ master: 1, news: 2 })
})
