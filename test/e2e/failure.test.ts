import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { temporaryFolder } from '../support/folders.js'
import { endOf, provider, run, start } from './command.js'

describe('wrong usage exits with 2 before the first request', () => {
  it.each([
    ['an unknown option', ['run', '--onyl', 'market-news'], {}, /--only/],
    ['a wrong variable', ['run'], { NEWS_LIMIT: 'many' }, /NEWS_LIMIT must be a whole number/],
    [
      'a variable that is gone',
      ['run'],
      { SCRIPSTREAM_DOWN_MS: '5' },
      /SCRIPSTREAM_DOWN_MS is gone: set patience/,
    ],
  ])('%s', async (_, args, wrong, told) => {
    const { simulator, env } = await provider()
    const { code, stdout, stderr } = await run(args, { cwd: temporaryFolder(), env: { ...env, ...wrong } })
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(told)
    expect(simulator.stats().endpoints).toEqual({})
  })

  it('missing provider addresses', async () => {
    const { code, stderr } = await run(['run'], { cwd: temporaryFolder() })
    expect(code).toBe(2)
    for (const name of ['SCRIPSTREAM_NEWS_URL', 'SCRIPSTREAM_SHEET_ID', 'run --simulate'])
      expect(stderr).toContain(name)
  })
})

it('exits with 1 and sends no other request if the master list is unavailable', async () => {
  const { simulator, env } = await provider({ faults: [{ on: 'master', mode: 'status', status: 503 }] })
  const { code, stdout } = await run(['run', '--json', '--patience', '0'], { cwd: temporaryFolder(), env })
  expect(code).toBe(1)
  expect((JSON.parse(stdout) as RunReport).outcome).toBe('failed')
  expect(Object.keys(simulator.stats().endpoints)).toEqual(['master'])
})

it('exits with 3 if one stream fails and the rest is complete', async () => {
  const { env } = await provider({ faults: [{ on: 'deal', mode: 'status', status: 500 }] })
  const { code, stdout } = await run(
    ['run', '--json', '--as-of', '2026-02-12', '--skip', 'all-ohlcv,indices-ohlcv'],
    {
      cwd: temporaryFolder(),
      env,
    },
  )
  expect(code).toBe(3)
  const { outcome, scripts } = JSON.parse(stdout) as RunReport
  expect(outcome).toBe('partial')
  const failed = Object.entries(scripts).filter(([, script]) => script.outcome === 'failed')
  expect(failed.map(([name]) => name)).toEqual(['bulk-block-deals'])
  expect(failed[0]?.[1].error).toContain('500')
})

it('aborts requests in flight 5 s after a signal, saves an interrupted report and exits with 143', async () => {
  const { simulator, env } = await provider({ faults: [{ on: 'news', mode: 'hang' }] })
  const cwd = temporaryFolder()
  const child = start(['run', '--json'], { cwd, env })
  const ended = endOf(child)
  while ((simulator.stats().endpoints.news?.inFlight ?? 0) < 12) await pause(5)
  child.kill('SIGTERM')
  const { code, stdout } = await ended
  expect(code).toBe(143)
  expect((JSON.parse(stdout) as RunReport).outcome).toBe('interrupted')
  expect(
    (JSON.parse(readFileSync(join(cwd, 'data/.scripstream/report.json'), 'utf8')) as RunReport).outcome,
  ).toBe('interrupted')
  while ((simulator.stats().endpoints.news?.inFlight ?? 0) > 0) await pause(5)
  expect(existsSync(join(cwd, 'data/market_news'))).toBe(false)
})

it('continues after its output pipe is closed', async () => {
  const cwd = temporaryFolder()
  const child = start(['run', '--simulate=4'], { cwd })
  child.stdout.destroy()
  child.stderr.destroy()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(existsSync(join(cwd, 'data/all_indices_list.json'))).toBe(true)
})

it('exits with 1 and a message if it waits for something that never happens', async () => {
  const { env } = await provider()
  const never = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; fs.mkdir = () => undefined; syncBuiltinESMExports()`
  const stuck = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(never)}` }
  const { code, stderr } = await run(['run', '--progress', 'none'], {
    cwd: temporaryFolder(),
    env: { ...env, ...stuck },
  })
  expect(code).toBe(1)
  expect(stderr).toBe('error: the process ended before the run finished; run the same command again\n')
})

describe('run --quiet', () => {
  const quiet = ['run', '--quiet', '--as-of', '2026-02-12', '--only', 'market-news', '--patience', '0']

  it('prints nothing if all is well', async () => {
    const { env } = await provider()
    expect(await run(quiet, { cwd: temporaryFolder(), env })).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('prints the summary if not: what is missing, what to do and the command, and last the outcome', async () => {
    const { env } = await provider({ faults: [{ on: 'news', mode: 'status', status: 404 }] })
    const { code, stdout, stderr } = await run(quiet, { cwd: temporaryFolder(), env })
    expect([code, stderr]).toEqual([3, ''])
    expect(stdout).toMatch(/\nMissing\n {2}market-news: failed: /)
    expect(stdout).toContain('\nNext\n  news answered 404 Not Found; check SCRIPSTREAM_NEWS_URL.')
    expect(stdout).toMatch(/\n {4}node .+scripstream\.cjs'? run --quiet --as-of 2026-02-12 .*\n\nPartial: /)
  })
})

describe('a settings file', () => {
  it('is what its paths are relative to, and what advice names, from whatever folder the command is run', async () => {
    const { simulator } = await provider({ faults: [{ on: 'news', mode: 'status', status: 404 }] })
    const { urls, options } = simulator.settings
    const home = temporaryFolder()
    const config = join(home, 'my.json')
    writeFileSync(config, JSON.stringify({ options, out: 'market', logFile: 'run.log', urls }, null, 1))
    const lines = readFileSync(config, 'utf8').split('\n')
    const placeOf = (name: string): string =>
      `${config}:${lines.findIndex((line) => line.includes(`"${name}"`)) + 1}`
    const cwd = temporaryFolder()
    const chosen = [
      '--config',
      config,
      '--as-of',
      '2026-02-12',
      '--symbols',
      simulator.market.stocks[0]?.Symbol ?? '',
    ]

    const ended = await run(['run', '--only', 'market-news', '--progress', 'none', ...chosen], { cwd })
    expect(ended.code).toBe(3)
    expect(ended.stdout.replace(/\s+/g, ' ')).toContain(
      `news answered 404 Not Found; check urls.news in ${placeOf('news')}.`,
    )
    expect([readdirSync(cwd), readdirSync(home).sort()]).toEqual([[], ['market', 'my.json', 'run.log']])

    simulator.control({ faults: [{ on: 'master', mode: 'html' }] })
    const failed = await run(['run', '--fresh', '--progress', 'none', ...chosen], { cwd })
    expect(failed.stdout.replace(/\s+/g, ' ')).toContain(
      `or urls.analytics in ${placeOf('analytics')} points to a web site`,
    )

    rmSync(join(home, 'market'), { recursive: true })
    writeFileSync(join(home, 'market'), '')
    expect((await run(['run', '--config', config], { cwd })).stderr).toBe(
      `error: ${join(home, 'market')} is a file; correct out in ${placeOf('out')}\n`,
    )
  })
})
