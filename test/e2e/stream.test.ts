import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { endOf, provider, run, start } from './command.js'

const DAY_ARGS = ['--as-of', '2026-02-12T20:00:00+05:30']

const recordsIn = (stdout: string): readonly Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

it('writes every record as one line with its symbol, and nothing else', async () => {
  const { simulator, env } = await provider()
  const { code, stdout, stderr } = await run(['stream', 'market-news', ...DAY_ARGS], {
    cwd: temporaryFolder(),
    env,
  })
  expect([code, stderr]).toEqual([0, ''])
  const records = recordsIn(stdout)
  const isins = new Map(simulator.market.stocks.map(({ Symbol: symbol, ISIN }) => [symbol, ISIN]))
  for (const record of records) {
    expect(Object.keys(record)).toEqual([
      'Symbol',
      'ISIN',
      'Title',
      'Summary',
      'Sentiment',
      'PublishDate',
      'Source',
    ])
    expect(record.ISIN).toBe(isins.get(record.Symbol as string))
  }
  expect(new Set(records.map((record) => record.Symbol)).size).toBeGreaterThan(5)
  expect(simulator.stats().endpoints.news?.requests).toBe(12)
})

it('writes candles with their day, only for the requested stocks', async () => {
  const { simulator, env } = await provider()
  const { Symbol: symbol = '', ISIN } = simulator.market.stocks[3] ?? {}
  const { code, stdout } = await run(['stream', 'all-ohlcv', '--symbols', symbol, ...DAY_ARGS], {
    cwd: temporaryFolder(),
    env,
  })
  expect(code).toBe(0)
  const records = recordsIn(stdout)
  expect(records.at(-1)).toMatchObject({ Symbol: symbol, ISIN, Date: '2026-02-12', Timestamp: 1_770_834_600 })
  expect(records.length).toBeGreaterThan(20)
})

it.each([
  ['surveillance-lists', { List: 'asm' }],
  ['indices-ohlcv', { Date: '2026-02-12' }],
  ['listing-dates', { SERIES: 'EQ' }],
])('writes self-contained records of %s', async (name, facts) => {
  const { env } = await provider()
  const { code, stdout } = await run(['stream', name, ...DAY_ARGS], { cwd: temporaryFolder(), env })
  expect(code).toBe(0)
  expect(recordsIn(stdout)).toContainEqual(expect.objectContaining(facts))
})

it('prints one line with the reason for each failed stock and exits with 3', async () => {
  const { simulator, env } = await provider()
  const lost = simulator.market.stocks.slice(2, 4)
  simulator.control({
    faults: [{ on: 'news', mode: 'status', status: 404, items: lost.map(({ ISIN }) => ISIN) }],
  })
  const { code, stdout, stderr } = await run(['stream', 'market-news', ...DAY_ARGS], {
    cwd: temporaryFolder(),
    env,
  })
  expect(code).toBe(3)
  const lines = stderr.trimEnd().split('\n')
  expect(lines).toHaveLength(2)
  for (const { Symbol: symbol } of lost) expect(stderr).toContain(`error: ${symbol}: http_404: `)
  expect(recordsIn(stdout).length).toBeGreaterThan(10)
})

it('exits quietly with 0 when its reader closes the pipe', async () => {
  const { simulator, env } = await provider({ stocks: 300 })
  const child = start(['stream', 'all-ohlcv', ...DAY_ARGS], { cwd: temporaryFolder(), env })
  const stderr = text(child.stderr)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const [code] = await once(child, 'exit')
  expect([code, await stderr]).toEqual([0, ''])
  expect(simulator.stats().endpoints.ohlcv?.requests).toBeLessThan(300)
})

it('stops at once on Ctrl+C, with 130', async () => {
  const { simulator, env } = await provider()
  const hung = simulator.market.stocks[0]?.ISIN ?? ''
  simulator.control({ faults: [{ on: 'news', mode: 'hang', items: [hung] }] })
  const child = start(['stream', 'market-news', ...DAY_ARGS], { cwd: temporaryFolder(), env })
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  expect((await endOf(child)).code).toBe(130)
})

it.each([
  ['market-new', 'did you mean market-news?'],
  ['market-news,all-ohlcv', 'give one stream'],
])('rejects %s, with advice', async (name, said) => {
  const { code, stdout, stderr } = await run(['stream', name, '--simulate'], { cwd: temporaryFolder() })
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(said)
})
