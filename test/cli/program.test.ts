import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defineCommand, formerNames } from '../../src/cli/command.js'
import { flag } from '../../src/cli/options.js'
import { createProgram, runProgram } from '../../src/cli/program.js'
import { guardStream } from '../../src/cli/terminal/terminal.js'
import { createRecorder } from './screen.js'
import { createTestDependencies, createTestIo } from './support.js'

const type = async (...args: string[]) => {
  const io = createTestIo()
  const code = await runProgram(args, io, createTestDependencies())
  return { code, out: io.out.text(), err: io.err.text() }
}

const faultsFile = (content: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'scripstream-')), 'faults.json')
  writeFileSync(path, content)
  return path
}

describe('wrong usage', () => {
  test.each([
    [[], 'Usage: scripstream'],
    [['rum'], 'unknown command "rum" (did you mean run?)'],
    [['help', 'rnu'], 'unknown command "rnu" (did you mean run?)\n  "scripstream --help" lists them all'],
    [
      ['nothing-like-it', '--help'],
      'unknown command "nothing-like-it"\n  "scripstream --help" lists them all',
    ],
    [['version'], '(did you mean --version?)'],
    [['status'], '(did you mean brief or history --runs?)'],
    [['config'], '(did you mean init or help settings?)'],
    [['download'], '(did you mean run?)'],
    [['news'], '(did you mean stream market-news?)'],
    [['alerts'], '(did you mean stream surveillance-lists?)'],
    [
      ['run', '--simulat'],
      'error: unknown option "--simulat" (did you mean --simulate?)\n  "scripstream run --help" shows all options\n',
    ],
    [['run', '-x'], 'error: unknown option "-x"\n  "scripstream run --help" shows all options\n'],
    [['--foo'], 'error: unknown option "--foo"\n  "scripstream --help" shows all options\n'],
    [['history', '--jsn'], 'error: unknown option "--jsn" (did you mean --json?)\n'],
    [['show'], 'error: show: STOCK is missing; for example: scripstream show TCS\n'],
    [['schedule'], 'error: schedule: SCHEDULER is missing; for example: scripstream schedule cron\n'],
    [
      ['lake', '--out', 'x'],
      'error: lake is now export: "scripstream export" without --to writes the lake\n',
    ],
    [['help', 'lake'], 'error: lake is now export: '],
    [['toString'], 'unknown command "toString"'],
    [['export', '--to', 'parquet:x'], 'error: --to: the lake is Parquet: use "scripstream export" without'],
    [
      ['export', '--tables', 'screener'],
      'error: --tables needs --to: the lake has all tables, and its views.sql',
    ],
    [['export', '--as-of', '2026-02-12'], 'error: --as-of needs --to: the lake has all tables'],
    [['export', '--schema', 'x'], 'error: --schema needs --to: the lake has all tables'],
    [
      ['query', '--format', 'ndjsn'],
      'error: --format: unknown value "ndjsn" (did you mean ndjson?); use table, csv, json or ndjson\n',
    ],
    [['run', 'extra'], 'run: unexpected argument "extra"\n  "scripstream run --help" shows all options\n'],
    [
      ['run', '--symbols', 'TCS', 'INFY', 'SBIN', '--json'],
      '--symbols: separate symbols by commas: --symbols TCS,INFY,SBIN\n',
    ],
    [['run', '--symbols=TCS,', 'INFY'], '--symbols: separate symbols by commas: --symbols TCS,INFY\n'],
    [
      ['stream', 'market-news', '--symbols', 'TCS', 'INFY'],
      '--symbols: separate symbols by commas: --symbols TCS,INFY\n',
    ],
    [
      ['run', '--only', 'market-news', 'master-data'],
      '--only: separate names by commas: --only market-news,master-data\n',
    ],
    [['history', 'delte'], 'unknown action "delte" (did you mean delete?); use delete, prune or compact'],
    [['completion', 'bsh'], 'unknown shell "bsh" (did you mean bash?); use bash, zsh or fish'],
    [['run', '--dry-run', '--quiet'], 'error: --dry-run and --quiet exclude each other\n'],
    [['run', '--quiet', '--json'], 'error: --quiet and --json exclude each other\n'],
    [['query', '--json', '--format', 'csv', 'select 1'], 'error: --json and --format exclude each other\n'],
    [['run', '--record-late', '--no-history'], 'error: --record-late and --no-history exclude each other\n'],
    [
      ['serve', '--out', '/nowhere'],
      '/nowhere does not exist\n  Name another folder with --out, or create the outputs with',
    ],
    [['run', '-o'], 'error: --out: its value is missing; write --out <dir>\n'],
    [['run', '--progress', 'loud'], '--progress: unknown value "loud"; use auto, bars, lines or none'],
    [['run', '--log-level', 'loud'], 'silent'],
    [['run', '--simulate=0'], '--simulate: "0" is not a whole number from 1'],
    [['run', '--only', 'market-new'], '(did you mean market-news?)'],
    [['stream', 'nws'], 'unknown stream "nws" (did you mean market-news?)'],
    [['run', '--dry-run', '--skip', 'alerts'], 'unknown stream "alerts" (did you mean surveillance-lists?)'],
    [['run', '--skip', 'nothing-like-it'], '"scripstream list" lists them all'],
    [['simulate', '--port', '70000'], '--port: "70000" is not a whole number from 0 to 65535'],
    [['simulate', '--faults', faultsFile('[{"on":"newz","mode":"hang"}]')], '0.on must be one of *'],
    [['simulate', '--limits', faultsFile('{"newz":{"perSecond":1,"burst":1}}')], '--limits: '],
  ])('%j prints an error on stderr and ends with 2', async (args, message) => {
    const { code, out, err } = await type(...args)
    expect(err).toContain(message)
    expect([code, out]).toEqual([2, ''])
  })
})

describe('a name of an earlier version', () => {
  test.each([...formerNames])('%s has its sentence, with a value, too', async (name, sentence) => {
    const said = { code: 2, out: '', err: `error: ${sentence}\n` }
    const words = name.split(' ')
    expect(await type(...words)).toEqual(said)
    const [command = '', flag] = words
    if (flag !== undefined)
      expect(await type(command, flag.startsWith('--') ? `${flag}=1` : `${flag}1`)).toEqual(said)
  })

  test.each([
    [['plan'], 'plan is now run --dry-run'],
    [['plan', '--only', 'market-news', '--latency', '40'], 'plan is now run --dry-run'],
    [['help', 'plan'], 'plan is now run --dry-run'],
    [['run', '--retry-failed'], '--retry-failed is gone: run again; it requests what is missing'],
    [
      ['run', '--simulate=5', '--retry-failed', '--json'],
      '--retry-failed is gone: run again; it requests what is missing',
    ],
  ])('%j says what to use now', async (args, sentence) =>
    expect(await type(...args)).toEqual({ code: 2, out: '', err: `error: ${sentence}\n` }),
  )
})

describe('help', () => {
  // The process ends with 1 until a command sets its own code.
  beforeEach(() => {
    process.exitCode = 1
  })
  afterEach(() => {
    process.exitCode = undefined
  })

  test.each([
    [['help'], 'Usage: scripstream [options]'],
    [['help', 'help'], 'Usage: scripstream [options]'],
    [['help', '--help'], 'Usage: scripstream [options]'],
    [['help', 'run'], 'Usage: scripstream run'],
    [['run', '--help'], 'Usage: scripstream run'],
  ])('is printed for %j', async (args, usage) => {
    const { code, out, err } = await type(...args)
    expect(out).toContain(usage)
    expect([code, err]).toEqual([0, ''])
  })

  test('is not needed for the version', async () =>
    expect(await type('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' }))
})

test('a command refuses a flag that is declared under another name', () => {
  const add = defineCommand({
    name: 'x',
    about: '',
    flags: () => ({ all: flag('--every', '') }),
    examples: [],
    run: () => [0],
  })
  const context = {
    args: [],
    io: createTestIo(),
    dependencies: createTestDependencies(),
    act: () => Promise.resolve(),
  }
  expect(() => createProgram({ 'Own:': [add] }, context)).toThrow('x: --every is declared as all')
})

describe('list and graph', () => {
  test('list shows the streams', async () => {
    const { code, out } = await type('list')
    expect(code).toBe(0)
    expect(out).toContain('  market-news\n')
  })

  test('list --json prints one document', async () => {
    const { out } = await type('list', '--json')
    expect((JSON.parse(out) as { name: string }[]).map(({ name }) => name)).toEqual([
      'master-data',
      'market-news',
      'surveillance-lists',
    ])
  })

  test('list --graph prints a flowchart', async () => {
    const { out, err } = await type('list', '--graph')
    expect([out, err]).toEqual([expect.stringMatching(/^flowchart LR\n/), ''])
  })

  test.each([
    ['report', 'brief --format html'],
    ['graph', 'list --graph'],
    ['drift', 'verify --drift'],
    ['audit', 'verify --backtest'],
    ['log', 'history --runs'],
  ])('the earlier name %s leads to %s', async (name, now) => {
    const said = { code: 2, out: '', err: `error: ${name} is now ${now}\n` }
    for (const args of [[name], [name, '--json'], [name, 'last'], ['help', name], [name, '--help']])
      expect(await type(...args)).toEqual(said)
  })
})

describe('a reader that closes the pipe', () => {
  test.each(['EPIPE', 'EIO'])('does not end the run (%s)', (code) => {
    const { stream } = createRecorder()
    const failures: unknown[] = []
    guardStream(stream, (error) => failures.push(error))
    stream.emit('error', Object.assign(new Error('gone'), { code }))
    expect(failures).toEqual([])
  })
})
