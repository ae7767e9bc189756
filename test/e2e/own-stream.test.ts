import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { optionChains } from '../../src/examples/03-own-stream.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { run } from './command.js'

const MODULE = fileURLToPath(new URL('../../dist/src/examples/03-own-stream.js', import.meta.url))

it('the example of an own stream runs from the command line: estimate, metrics, a second run, query and export know it', async () => {
  const endpoints = [...streams, optionChains].flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({
    endpoints,
    stocks: 300,
    asOf: Date.parse('2026-02-12T20:00:00+05:30'),
  })
  onTestFinished(() => simulator.close())
  const [cwd, out] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(
    join(cwd, 'scripstream.config.json'),
    JSON.stringify({ ...simulator.settings, streams: MODULE, out }),
  )
  const place = { cwd }
  const collect = (...args: readonly string[]) =>
    run(['run', '--as-of', '2026-02-12T20:00:00+05:30', ...args], place)
  const requests = () => simulator.stats().endpoints['option-chain']?.requests

  const derivatives = simulator.market.stocks.filter(({ FnoFlag }) => FnoFlag === 1)
  const [refused] = derivatives.map(({ Symbol: symbol }) => symbol)
  simulator.control({ faults: [{ on: 'option-chain', mode: 'status', status: 404, items: [refused ?? ''] }] })
  const metrics = join(cwd, 'run.prom')
  const first = await collect('--only', 'option-chains', '--metrics-file', metrics)
  expect([first.code, first.stderr]).toEqual([3, expect.stringContaining('option-chains')])
  expect(requests()).toBe(derivatives.length)
  expect(readFileSync(metrics, 'utf8')).toMatch(
    /^scripstream_requests_total\{host="options",endpoint="option-chain",status="404".*\} 1$/m,
  )

  simulator.control({ faults: [], reset: true })
  expect(await collect('--only', 'option-chains')).toMatchObject({ code: 0 })
  expect(requests()).toBe(1)
  const dry = JSON.parse((await run(['run', '--dry-run', '--fresh', '--json'], place)).stdout)
  expect(dry.streams.find(({ name }: { readonly name: string }) => name === 'option-chains')).toMatchObject({
    requests: derivatives.length,
  })
  const counted = await run(
    ['query', '--format', 'csv', 'select count(distinct symbol) as stocks, count(*) as rows from options'],
    place,
  )
  expect(counted.stdout).toBe(`stocks,rows\n${derivatives.length},${3 * derivatives.length}\n`)
  const exported = await run(['export', '--json'], place)
  expect(JSON.parse(exported.stdout)[0].tables).toContainEqual(
    expect.objectContaining({ table: 'options', rows: 3 * derivatives.length }),
  )
})
