import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { readTarget } from '../../src/cli/export/targets.js'
import { runProgram } from '../../src/cli/program.js'
import { UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { Settings } from '../../src/model/settings.js'
import { duckdb } from '../tables/support.js'
import { createTestDependencies, createTestIo, runReport, settingsFile } from './support.js'

describe('a target', () => {
  it.each([
    ['market.duckdb', 'duckdb', 'market.duckdb'],
    ['/srv/market.db', 'duckdb', '/srv/market.db'],
    ['duckdb:market', 'duckdb', 'market'],
    ['qlib:/srv/a:b', 'qlib', '/srv/a:b'],
    ['qlib:x.csv', 'qlib', 'x.csv'],
    ['x/screener.xlsx', 'xlsx', 'x/screener.xlsx'],
    ['postgres', 'postgres', ''],
    ['postgres:', 'postgres', ''],
    ['postgres://me@db/market.json', 'postgres', 'postgres://me@db/market.json'],
    ['postgresql://db/market', 'postgres', 'postgresql://db/market'],
    ['postgres:postgres://db/market', 'postgres', 'postgres://db/market'],
  ])('%s is %s at %j', (typed, kind, location) =>
    expect(readTarget('--to', typed)).toEqual({ kind, location, typed }),
  )

  it.each(['', 'market', 'qlib:', 'duckdb:', 'postgres:db', 'mysql://db'])('is not %j', (typed) => {
    expect(() => readTarget('--to', typed)).toThrow(UsageError)
  })

  const lake = 'the lake is Parquet: use "scripstream export" without --to, or the setting "lake": true'
  const query = (format: string, table: string) =>
    `a query writes ${format.toUpperCase()}: scripstream query --format ${format} "from ${table} order by all" > FILE`
  it.each([
    ['parquet:/srv/parquet', lake],
    ['parquet:', lake],
    ['screener.parquet', lake],
    ['/srv/my files/screener.csv', query('csv', 'screener')],
    ['deals.json', query('json', 'deals')],
    ['csv:.csv', query('csv', 'TABLE')],
  ])('of an earlier version, %s, is refused with what replaces it', (typed, text) => {
    expect(() => readTarget('--sink', typed)).toThrow(new UsageError(`--sink: ${text}`))
  })
})

describe.skipIf(!duckdb)('a sink that fails', () => {
  const runCommand = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly err: string }> => {
    const io = createTestIo()
    const event$ = of({ type: 'run-finished', report: runReport() } as const)
    const code = await runProgram(['run', ...args], io, createTestDependencies(event$))
    return { code, err: io.err.text() }
  }

  it('is reported with the command that loads into this target again', async () => {
    const config = settingsFile('{}')
    const { code, err } = await runCommand(
      '--out',
      '/nowhere at all',
      '--config',
      config,
      '--sink',
      'market.duckdb',
      '--sink',
      'qlib:a b',
    )
    expect(code).toBe(1)
    const commands = err.split('\n').filter((line) => line.startsWith('  '))
    expect(commands).toEqual(
      ['market.duckdb', "'qlib:a b'"].map(
        (target) =>
          `  To load it without new requests: scripstream export --to ${target} --out '/nowhere at all' --config ${config}`,
      ),
    )
  })

  it('is named on the line of the whole run while it is loaded, and reported above it', async () => {
    const io = createTestIo({ err: { columns: 100 } })
    const start = {
      type: 'run-started',
      at: 0,
      run: 'r1',
      asOf: 0,
      streams: [{ name: 'market-news', state: 'waiting' }],
    } as const
    const event$ = of<RunEvent[]>(start, { type: 'run-finished', report: runReport() })
    const args = ['run', '--progress', 'bars', '--out', '/nowhere', '--sink', '/srv/market.duckdb']
    expect(await runProgram(args, io, createTestDependencies(event$))).toBe(1)
    const [before = '', after = ''] = io.err.text().split('error: the run is stored, but not loaded')
    expect(before).not.toContain('writing market.duckdb')
    expect(after).toContain('0 % · 0 items · writing market.duckdb · 0 of 1 stream')
    expect(io.err.screen().slice(-3)).toEqual([
      '· market-news waiting',
      expect.stringMatching(/^ {2}0 % · 0 items · 0 of 1 stream/),
      '',
    ])
  })

  it('is the lake if the settings say so', async () => {
    const io = createTestIo()
    const loadSettings = () => Settings.parse({ out: '/nowhere', lake: true })
    const event$ = of({ type: 'run-finished', report: runReport() } as const)
    expect(
      await runProgram(['run', '--out', '/nowhere'], io, createTestDependencies(event$, { loadSettings })),
    ).toBe(1)
    expect(io.err.text()).toContain('To load it without new requests: scripstream export --out /nowhere\n')
  })

  it('is reported without the secrets of its address', async () => {
    const { err } = await runCommand(
      '--out',
      '/nowhere',
      '--sink',
      'postgres://me:hush@127.0.0.1:1/market?password=hush',
    )
    expect(err).toContain('scripstream export --to ')
    expect(err).toContain('postgres://…@127.0.0.1:1/market')
    expect(err).not.toContain('hush')
  })
})
