import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { parseRunLog, type RunLogEntry, toRunLogEntry } from '../../src/model/run-log.js'
import { appendLine } from '../../src/storage/file-system.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, runReport, scriptReport } from './support.js'

const failure = { item: 'TCS', status: 'http_503', reason: 'news answered 503' } as const
const first = toRunLogEntry(
  runReport({
    run: '20261117T130000Z-aaaa',
    startedAt: '2026-11-17T13:00:00.000Z',
    outcome: 'partial',
    scripts: {
      'market-news': scriptReport({
        outcome: 'partial',
        requests: 9,
        items: { success: 1, empty: 0, skipped: 0, rate_limit: 0, error: 0, http_503: 2 },
        problems: [failure],
      }),
      'all-ohlcv': scriptReport({ outcome: 'skipped', requests: 0 }),
    },
  }),
  { 'market-news': ['TCS', 'INFY'] },
)
const second = toRunLogEntry(
  runReport({
    run: '20261118T130000Z-bbbb',
    startedAt: '2026-11-18T13:00:00.000Z',
    scripts: { 'market-news': scriptReport({ requests: 7 }) },
  }),
  {},
)

const show = async (entries: readonly RunLogEntry[], ...args: readonly string[]) => {
  const io = createTestIo()
  const out = temporaryFolder()
  mkdirSync(join(out, '.scripstream'))
  writeFileSync(
    join(out, '.scripstream/runs.ndjson'),
    entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
  )
  const code = await runProgram(['history', '--out', out, '--runs', ...args], io, createTestDependencies())
  return { code, text: io.out.text(), err: io.err.text() }
}

describe('the history of runs', () => {
  it('has the streams that ran, the failed items and the reasons', () => {
    expect(Object.keys(first.scripts)).toEqual(['market-news'])
    expect(first.missing).toEqual({ 'market-news': { count: 2, items: ['TCS', 'INFY'] } })
    expect(first.scripts['market-news']?.problems).toEqual([failure])
  })

  it('names at most 200 failed items of a stream, and counts all', () => {
    const items = Array.from({ length: 300 }, (_, index) => `S${index}`)
    expect(toRunLogEntry(runReport({}), { news: items }).missing?.news).toMatchObject({
      count: 300,
      items: items.slice(0, 200),
    })
  })

  it('is read without lines that are cut or no runs', () => {
    const text = `${JSON.stringify(first)}\n{"run":"cut\n[]\n\n${JSON.stringify(second)}`
    const { runs, badLines } = parseRunLog(text)
    expect([runs.map(({ run }) => run), badLines]).toEqual([
      [first.run, second.run],
      [2, 3],
    ])
  })

  it('starts a new line after one that a kill has cut', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.ndjson')
    await appendLine(path, 'one')
    appendFileSync(path, '{"cut')
    await appendLine(path, 'two')
    expect(readFileSync(path, 'utf8')).toBe('one\n{"cut\ntwo\n')
    writeFileSync(path, '')
    await appendLine(path, 'three')
    expect(readFileSync(path, 'utf8')).toBe('three\n')
  })
})

describe('history --runs', () => {
  it('lists the runs, newest last, with what failed', async () => {
    const { text } = await show([first, second])
    const [, one = '', two = ''] = text.split('\n')
    expect(one).toMatch(/^aaaa {2}2026-11-17 18:30 IST {2}partial .* market-news 2$/)
    expect(two).toMatch(/^bbbb {2}2026-11-18 18:30 IST {2}complete/)
    const { text: newest } = await show([first, ...Array<RunLogEntry>(20).fill(second)])
    expect(newest).not.toContain('aaaa')
    expect(newest).toMatch(/\nand 1 earlier run \(--json has all\)\n$/)
    expect(JSON.parse((await show([first, second], '--json')).text)).toEqual([first, second])
  })

  it.each([['2026-11-17'], ['aaaa'], [first.run], ['-2']])(
    'shows the run that is named %s, with its failed items and why they failed',
    async (name) => {
      const { text } = await show([first, second], name)
      expect(text).toContain('market-news: 2 items: TCS, INFY')
      expect(text).toContain('market-news: 2 of 3 items lost (2 http_503)\n    news answered 503: TCS\n')
    },
  )

  it('names streams that lack everything on one line, a reason once, and warnings apart', async () => {
    const error = 'analytics answered 503'
    const problems = [
      { item: 'all', status: 'http_503', reason: error } as const,
      { reason: 'analytics was down once' },
    ]
    const report = runReport({
      outcome: 'failed',
      scripts: { 'master-data': scriptReport({ outcome: 'failed', error, problems }) },
    })
    const { text } = await show(
      [toRunLogEntry(report, { 'master-data': ['all'], 'market-news': 'all' })],
      'last',
    )
    expect(text.slice(text.indexOf('Missing'))).toBe(
      [
        'Missing\n  master-data: failed: analytics answered 503\n',
        'Notes\n  master-data: analytics was down once\n',
        'Missing after this run\n  all of master-data, market-news\n',
      ].join('\n'),
    )
  })

  it('calls streams stopped that an interrupted run had not ended', async () => {
    const scripts = {
      'market-news': scriptReport({ outcome: 'failed' }),
      deals: scriptReport({ outcome: 'failed', error: 'x' }),
    }
    const report = runReport({ outcome: 'interrupted', scripts })
    expect((await show([toRunLogEntry(report, {})])).text).toContain('market-news stopped, deals failed')
  })

  it('says with which session outputs end, and if there is nothing at all of a later one', async () => {
    const late = { newest: '2026-11-13', expected: '2026-11-17', sessions: 2, shownBy: [] }
    const stale = [
      { ...late, stream: 'all-ohlcv', output: 'candles' },
      { ...late, output: 'everything' },
    ]
    expect((await show([{ ...first, stale }])).text.replace(/\s+/g, ' ')).toContain(
      'market-news 2, candles end at 2026-11-13, nothing after 2026-11-13',
    )
  })

  it('shows all runs of a day that has several: a list, and then each of them', async () => {
    const again = {
      ...first,
      run: '20261117T150000Z-cccc',
      startedAt: '2026-11-17T15:00:00.000Z',
      outcome: 'complete' as const,
    }
    const { text } = await show([first, again, second], '2026-11-17')
    expect(text.match(/^(?:run|aaaa|bbbb|cccc|Run \S+:)/gm)).toEqual([
      'run',
      'aaaa',
      'cccc',
      `Run ${first.run}:`,
      `Run ${again.run}:`,
    ])
    expect(JSON.parse((await show([first, again, second], '2026-11-17', '--json')).text)).toMatchObject([
      first,
      again,
    ])
  })

  it('says what one run has as one document', async () => {
    expect(JSON.parse((await show([first, second], 'last', '--json')).text)).toEqual(second)
  })

  it.each([['delete', '2026-02-12'], ['prune', '2026-01-01'], ['compact']])(
    'deletes no days: %s',
    async (...args) => {
      const io = createTestIo()
      const typed = ['history', ...args, '--runs', '--yes']
      expect(await runProgram(typed, io, createTestDependencies())).toBe(2)
      expect(io.err.text()).toBe(`error: --runs lists runs; history ${args[0]} takes none\n`)
    },
  )

  it('rejects an unknown run, and says how runs are named', async () => {
    expect(await show([first], 'nonsense')).toEqual({
      code: 2,
      text: '',
      err: expect.stringMatching(
        /^error: unknown run "nonsense": 1 run since 2026-11-17\n {2}Name it by its id/,
      ),
    })
  })

  it('says so if no run started on a day', async () => {
    const { code, err } = await show([first], '2026-11-16')
    expect([code, err]).toEqual([
      2,
      'error: no run started on 2026-11-16: 1 run since 2026-11-17\n  "scripstream history --runs" lists them\n',
    ])
  })

  it('says so if no run is recorded, or if there is no such folder', async () => {
    expect((await show([], '--out', import.meta.dirname)).text).toBe('No run is recorded here yet.\n')
    const { code, err } = await show([], '--out', join(import.meta.dirname, 'none'))
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^error: there is no folder .*none\n {2}Name another folder/),
    ])
  })
})
