import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { streams } from '../../streams/registry.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { provider, run } from './command.js'

const DAY_ARGS = ['--as-of', '2026-02-12T20:00:00+05:30']

it('runs the whole graph on the simulator and exits with 0', async () => {
  const cwd = temporaryFolder()
  const { code, stdout, stderr } = await run(['run', '--simulate=8', '--json'], { cwd })
  expect(code, stderr).toBe(0)
  const report = JSON.parse(stdout) as RunReport
  expect(report.outcome).toBe('complete')
  expect(report.stocks).toBe(8)
  expect(Object.values(report.scripts).map(({ outcome }) => outcome)).toEqual(
    streams.filter(({ optional }) => !optional).map(() => 'success'),
  )
  expect(JSON.parse(readFileSync(join(cwd, 'data/.scripstream/report.json'), 'utf8'))).toEqual(report)
})

it('writes the same bytes in two runs with the same answers, and sends only requests of the contract', async () => {
  const { simulator, env } = await provider()
  const [cwd, one, other] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  expect((await run(['run', '--out', one, ...DAY_ARGS], { cwd, env })).code).toBe(0)
  expect((await run(['run', '--out', other, ...DAY_ARGS], { cwd, env })).code).toBe(0)
  expect(Object.keys(hashOutputs(one)).length).toBeGreaterThan(200)
  expect(hashOutputs(other)).toEqual(hashOutputs(one))
  expect(simulator.stats().violations).toEqual([])
  expect(simulator.stats().unknown).toEqual([])
})

it('sends no request for a complete day and says so, until a file is missing', async () => {
  const { simulator, env } = await provider()
  const [cwd, out] = [temporaryFolder(), temporaryFolder()]
  const again = (...args: readonly string[]) => run(['run', '--out', out, ...DAY_ARGS, ...args], { cwd, env })
  expect((await again()).code).toBe(0)
  const report = readFileSync(join(out, '.scripstream/report.json'), 'utf8')
  simulator.control({ reset: true })

  const rerun = await again()
  expect(rerun.code, rerun.stderr).toBe(0)
  expect(rerun.stdout).toMatch(/\nUp to date: run .* present\.\n$/s)
  expect(rerun.stderr).toBe('')
  const json = await again('--json')
  expect(json.code).toBe(0)
  expect(JSON.parse(json.stdout)).toMatchObject({
    run: JSON.parse(report).run,
    finishedBefore: JSON.parse(report).finishedAt,
  })
  expect(json.stderr).toMatch(/^Up to date: .*; --fresh downloads again\.\n$/)
  expect(simulator.stats().endpoints).toEqual({})
  expect(readFileSync(join(out, '.scripstream/report.json'), 'utf8')).toBe(report)

  const before = hashOutputs(out)
  rmSync(join(out, 'complete_price_bands.json'))
  expect((await again()).stderr).toContain(
    'Downloading again: complete_price_bands.json has changed since the last run.',
  )
  expect(hashOutputs(out)).toEqual(before)
})

it('follows FETCH_OHLCV, FORCE_UPDATE and NEWS_LIMIT', async () => {
  const { env } = await provider()
  const [cwd, out] = [temporaryFolder(), temporaryFolder()]
  const args = ['run', '--out', out, '--json', ...DAY_ARGS]
  const first = JSON.parse(
    (await run(args, { cwd, env: { ...env, FETCH_OHLCV: 'false', NEWS_LIMIT: '7' } })).stdout,
  ) as RunReport
  expect(first.scripts['all-ohlcv']?.outcome).toBe('disabled')
  expect(existsSync(join(out, 'ohlcv_data'))).toBe(false)
  const news = readdirSync(join(out, 'market_news')).map(
    (file) => JSON.parse(readFileSync(join(out, 'market_news', file), 'utf8')) as { News: unknown[] },
  )
  expect(Math.max(...news.map(({ News }) => News.length))).toBe(7)

  const second = JSON.parse(
    (await run([...args, '--only', 'company-filings'], { cwd, env: { ...env, FORCE_UPDATE: 'false' } }))
      .stdout,
  ) as RunReport
  const { items } = second.scripts['company-filings'] ?? {}
  expect(items?.skipped).toBe(first.scripts['company-filings']?.items.success)
  expect(second.scripts['market-news']?.outcome).toBe('skipped')
})
