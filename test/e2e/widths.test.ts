import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncScheduler } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { commands } from '../../src/cli/index.js'
import { createProgram, runProgram } from '../../src/cli/program.js'
import { width } from '../../src/cli/terminal/text.js'
import { createCollector } from '../../src/collector.js'
import { loadSettings, settingRows } from '../../src/config.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'

const dependencies = createTestDependencies(undefined, {
  streams,
  createCollector,
  loadSettings,
  settingRows,
  optionalPackages: ['@duckdb/node-api'],
  serveSimulator: (options) => serveSimulator({ ...options, candleDays: 40 }),
  storage: ({ out }) => folder(out),
})

/** What a person sees on a terminal of this size. */
const show = async (columns: number, args: readonly string[]): Promise<string> => {
  const [out, err] = [
    { columns, rows: 24 },
    { columns, rows: 24 },
  ]
  const io = { ...createTestIo({ out, err }), scheduler: asyncScheduler }
  await runProgram(args, io, dependencies)
  return [...io.err.screen(), ...io.out.screen()].join('\n')
}

/**
 * Lines that are too long although they could be folded: commands to copy stay whole, and so does a long path
 * or address.
 */
const tooLong = (text: string, columns: number): readonly string[] =>
  text.split('\n').filter((line) => {
    const rest = line.trim().replace(/"scripstream [^"]+"/, 'command')
    return width(line) > columns && rest.includes(' ') && !/^ +(\S+=\S+ |echo .*)?scripstream /.test(line)
  })

const data = mkdtempSync(join(tmpdir(), 'scripstream-'))
const runs = (out: string) => ['run', '--simulate=12', '--out', out, '--as-of']

/** The commands whose answer is for people, each with arguments that show much. */
const forPeople = (out: string): readonly (readonly string[])[] => [
  ['brief', '--out', out],
  ['diff', '--out', out],
  ['doctor', '--simulate', '--out', out],
  ['export', '--out', out, '--to', join(out, 'market.duckdb')],
  ['history', '--out', out],
  ['history', '--out', out, '--runs'],
  ['history', '--out', out, '--runs', 'last'],
  ['history', '--out', out, '--runs', '-2', 'last'],
  ['export', '--out', out],
  ['list'],
  ['run', '--dry-run', '--out', out],
  ['run', '--dry-run', '--out', out, '--fresh'],
  ['query'],
  ['query', 'candles'],
  ['query', '--out', out, 'from candles'],
  ['query', '--out', out, 'from nothing'],
  ['query', '--examples'],
  ['brief', '--out', out, '--format', 'html', '--to', join(out, 'report.html')],
  ['run', '--out', join(out, 'none')],
  ['run', '--out', out, '--only', 'market-new'],
  ['serve', '--out', out, '--port', '99999'],
  ['show', '--out', out, 'RELIANCE', '--verify'],
  ['stream', 'market-new'],
  ['verify', '--out', out, '--drift', '--backtest'],
  ['watch', '--out', out],
  ['watch', 'rules'],
  ['worker'],
  ['unknown'],
]

/**
 * The commands whose answer is for programs: a script, a table of settings, a document, a protocol. Their
 * help is for people.
 */
const FOR_PROGRAMS = ['completion', 'init', 'mcp', 'schedule', 'simulate']

const names = createProgram(commands, {
  args: [],
  io: createTestIo(),
  dependencies,
  act: () => Promise.resolve(),
}).commands.map((one) => one.name())

describe('on a terminal', () => {
  beforeAll(async () => {
    vi.stubEnv('NO_COLOR', '1')
    await show(80, [...runs(data), '2026-11-19'])
    await show(80, [...runs(data), '2026-11-20'])
  })
  afterAll(() => {
    vi.unstubAllEnvs()
    rmSync(data, { recursive: true })
  })

  it('every command is shown', () => {
    const shown = forPeople(data).map(([name]) => name)
    expect(names.filter((name) => !shown.includes(name) && !FOR_PROGRAMS.includes(name))).toEqual([])
  })

  it.each([40, 80, 200])('no line is longer than %i columns', async (columns) => {
    const found: Record<string, readonly string[]> = {}
    let lines = 0
    const check = async (args: readonly string[]): Promise<void> => {
      const text = await show(columns, args)
      lines += text.split('\n').length
      const long = tooLong(text, columns)
      if (long.length > 0) found[args.join(' ').replaceAll(data, 'data')] = long
    }
    for (const args of forPeople(data)) await check(args)
    for (const name of names) await check([name, '--help'])
    const copy = temporaryFolder()
    cpSync(data, copy, { recursive: true })
    rmSync(join(copy, 'market_news'), { recursive: true })
    await check([...runs(copy), '2026-11-20'])
    await check([...runs(copy), '2026-11-20', '--fresh'])
    expect(found).toEqual({})
    expect(lines).toBeGreaterThan(600)
  })
})
