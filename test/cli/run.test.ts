import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { concat, EMPTY, NEVER, Observable, of, throwError } from 'rxjs'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Dependencies } from '../../src/cli/dependencies.js'
import { runProgram } from '../../src/cli/program.js'
import type { CollectorOptions, RunOptions } from '../../src/collector.js'
import type { SettingsSources } from '../../src/config.js'
import { StorageError, UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import type { RunOutcome, RunReport } from '../../src/model/report.js'
import { Settings } from '../../src/model/settings.js'
import type { Simulator, SimulatorOptions } from '../../src/simulator/index.js'
import {
  advance,
  createTestDependencies,
  createTestIo,
  playEvents,
  reportsTo,
  runReport,
  type TestIo,
} from './support.js'

const started: RunEvent = {
  type: 'run-started',
  at: 0,
  run: 'r1',
  asOf: 0,
  streams: [
    { name: 'master-data', state: 'waiting' },
    { name: 'market-news', state: 'waiting' },
    { name: 'surveillance-lists', state: 'skipped' },
  ],
}
const finished = (outcome: RunOutcome): RunEvent => ({ type: 'run-finished', report: runReport({ outcome }) })

const run = (
  args: string,
  event$: Observable<RunEvent>,
  changes: Partial<Dependencies> = {},
  io: TestIo = createTestIo(),
) => ({
  io,
  code: runProgram(
    ['run', ...args.split(' ').filter((arg) => arg !== '')],
    io,
    createTestDependencies(event$, changes),
  ),
})

/** Dependencies that record their arguments. */
const recording = () => {
  const seen: {
    sources?: SettingsSources
    collector?: CollectorOptions
    run?: RunOptions
    simulator?: SimulatorOptions
    kept: RunReport[]
    closed: number
  } = { kept: [], closed: 0 }
  const simulator = {
    origin: 'http://127.0.0.1:1',
    settings: {
      urls: { news: 'http://127.0.0.1:1/news' },
      options: { 'surveillance-lists': { sheetId: 's', asmTabId: 'a', gsmTabId: 'g' } },
    },
    environment: ['SCRIPSTREAM_NEWS_URL=http://127.0.0.1:1/news'],
    close: () => {
      seen.closed += 1
      return Promise.resolve()
    },
  } as unknown as Simulator
  const changes: Partial<Dependencies> = {
    loadSettings: (sources) => {
      seen.sources = sources
      return Settings.parse(sources.flags ?? {})
    },
    createCollector: (collector) => {
      seen.collector = collector
      return {
        events: (options = {}) => {
          seen.run = options
          return playEvents(of(started, finished('complete')), collector.telemetry)
        },
        run: () => EMPTY,
        stream: () => EMPTY,
      }
    },
    serveSimulator: (options) => {
      seen.simulator = options
      return Promise.resolve(simulator)
    },
    storage: reportsTo((report) => of(void seen.kept.push(report))),
  }
  return { seen, changes }
}

describe('the exit code of a run', () => {
  test.each([
    ['complete', 0],
    ['failed', 1],
    ['partial', 3],
  ] as const)('that is %s is %i', async (outcome, expected) => {
    expect(await run('', of(started, finished(outcome))).code).toBe(expected)
  })

  test('that ends without a report is 1, with a message', async () => {
    const { io, code } = run('', of(started))
    expect(await code).toBe(1)
    expect(io.err.text()).toContain('the run ended without a report')
  })

  test('that never started is 1, with a message', async () => {
    const { io, code } = run('', EMPTY)
    expect(await code).toBe(1)
    expect(io.err.text()).toContain('the run ended without a report')
    expect(io.out.text()).toBe('')
  })

  test('without a required setting is 2, with the error on stderr and nothing on stdout', async () => {
    const { io, code } = run(
      '--json',
      throwError(() => new UsageError('not set:\nSCRIPSTREAM_NEWS_URL')),
    )
    expect(await code).toBe(2)
    expect(io.err.text()).toBe('error: not set:\n  SCRIPSTREAM_NEWS_URL\n')
    expect(io.out.text()).toBe('')
  })

  test('whose settings are wrong is 2', async () => {
    const loadSettings = (): never => {
      throw new UsageError('NEWS_LIMIT is "x"')
    }
    expect(await run('', EMPTY, { loadSettings }).code).toBe(2)
  })

  test('that cannot write is 1, and its report is stored if possible', async () => {
    const { seen, changes } = recording()
    const event$ = concat(
      of(started),
      throwError(() => new StorageError('the disk is full')),
    )
    const { io, code } = run('--json', event$, { storage: changes.storage ?? reportsTo(() => EMPTY) })
    expect(await code).toBe(1)
    expect(JSON.parse(io.out.text())).toMatchObject({ outcome: 'failed', error: 'the disk is full' })
    expect(seen.kept.map(({ outcome }) => outcome)).toEqual(['failed'])
  })

  test('that meets a bug is 1, with the place of the bug', async () => {
    const { io, code } = run(
      '',
      concat(
        of(started),
        throwError(() => new TypeError('x is not a function')),
      ),
    )
    expect(await code).toBe(1)
    expect(io.err.text()).toMatch(/unexpected error: TypeError: x is not a function\n +at /)
    expect(io.out.text()).toMatch(/\nFailed: x is not a function\.\n$/)
  })
})

describe('an interrupted run', () => {
  const interrupted = (args: string, changes: Partial<Dependencies> = {}) => {
    const log: string[] = []
    const event$ = new Observable<RunEvent>((subscriber) => {
      subscriber.next(started)
      subscriber.next({ type: 'stream-started', at: 0, stream: 'master-data' })
      return () => log.push('aborted')
    })
    const storage = reportsTo(({ outcome }) => of(void log.push(`kept ${outcome}`)))
    return { log, ...run(args, event$, { storage, ...changes }) }
  }

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'ends with the code of %s, and stores its report after all requests are aborted',
    async (signal, expected) => {
      const { log, io, code } = interrupted('')
      io.signal$.next(signal)
      expect(log).toEqual([])
      advance(io.scheduler, 6_000)
      expect(await code).toBe(expected)
      expect(log).toEqual(['aborted', 'kept interrupted'])
      expect(io.out.text()).toMatch(/\nInterrupted: 0 of 2 streams finished/)
      expect(io.out.text()).toMatch(/not requested again\):\n {4}scripstream run\n\n/)
    },
  )

  test('prints its report as JSON, and the resume command on stderr', async () => {
    const { io, code } = interrupted('--json --symbols M&M')
    io.signal$.next('SIGINT')
    advance(io.scheduler, 6_000)
    await code
    expect(JSON.parse(io.out.text())).toMatchObject({ run: 'r1', outcome: 'interrupted' })
    expect(io.err.text()).toContain("To resume: scripstream run --json --symbols 'M&M'")
  })

  test('reports that its report cannot be stored', async () => {
    const { io, code } = interrupted('', {
      storage: reportsTo(() => throwError(() => new StorageError('the disk is full'))),
    })
    io.signal$.next('SIGINT')
    advance(io.scheduler, 6_000)
    expect(await code).toBe(130)
    expect(io.err.text()).toContain('cannot store the report: the disk is full')
    expect(io.out.text()).not.toContain('report.json')
  })

  test('ends at once on a second signal', () => {
    const { io } = interrupted('', { storage: reportsTo(() => NEVER) })
    io.signal$.next('SIGINT')
    expect(io.exits).toEqual([])
    io.signal$.next('SIGTERM')
    expect(io.exits).toEqual([143])
  })

  test('has no report if it had not started', async () => {
    const { io, code } = run('--json', NEVER)
    io.signal$.next('SIGINT')
    expect(await code).toBe(130)
    expect(io.out.text()).toBe('')
    expect(io.err.text()).toContain('Interrupted before the run started')
  })

  test('unsubscribes from signals', async () => {
    const { io, code } = interrupted('')
    io.signal$.next('SIGINT')
    advance(io.scheduler, 6_000)
    await code
    expect(io.signal$.observed).toBe(false)
  })
})

describe('what a run prints', () => {
  const event$ = of(started, finished('complete'))

  test('is the summary on stdout', async () => {
    const { io, code } = run('', event$)
    await code
    expect(io.out.text()).toMatch(/\nComplete: 1 stream \(500 stocks, 12s\)\.\n$/)
    expect(io.err.text()).toBe('')
  })

  test('with --quiet prints nothing if the run is complete, and what is wrong if it is not', async () => {
    const quiet = run('--quiet', of<RunEvent[]>(started, finished('complete')))
    expect(await quiet.code).toBe(0)
    expect(quiet.io.out.text() + quiet.io.err.text()).toBe('')
    const loud = run('--quiet', of<RunEvent[]>(started, finished('partial')))
    expect(await loud.code).toBe(3)
    expect(loud.io.out.text()).toContain('Partial')
    expect(loud.io.err.text()).toBe('')
  })

  test('with --json is one document on stdout and nothing else', async () => {
    const { io, code } = run('--json', event$)
    await code
    expect(JSON.parse(io.out.text())).toEqual(runReport())
  })

  test('is safe for a terminal as JSON, and the same when read', async () => {
    const report = runReport({ outcome: 'failed', error: 'a\u009b2Jb\u2028c\x1bd\x7f' })
    const { io, code } = run('--json', of<RunEvent[]>(started, { type: 'run-finished', report }))
    await code
    expect(io.out.text()).not.toMatch(/[\u007f-\u009f\u2028]/)
    expect(JSON.parse(io.out.text())).toEqual(report)
  })

  test('leaves the bars on a terminal only if no summary follows there', async () => {
    const terminal = { columns: 80 }
    const [both, piped] = [createTestIo({ out: terminal, err: terminal }), createTestIo({ err: terminal })]
    await run('', event$, {}, both).code
    await run('', event$, {}, piped).code
    expect(both.err.screen()).toEqual([''])
    expect(piped.err.screen().slice(0, 2)).toEqual(['· master-data waiting', '· market-news waiting'])
  })

  test('names the streams that --only needs', async () => {
    const { io, code } = run('--only market-news', event$)
    await code
    expect(io.err.text()).toBe('Also running what --only needs: master-data\n')
  })
})

describe('the flags of a run', () => {
  test('reach the settings and the collector', async () => {
    const { seen, changes } = recording()
    const config = join(mkdtempSync(join(tmpdir(), 'scripstream-config-')), 'my.json')
    onTestFinished(() => rmSync(dirname(config), { recursive: true }))
    writeFileSync(config, '{}')
    const args = `--out there --config ${config} --only market-news --only surveillance-lists --skip master-data --symbols B,A --as-of 2026-02-12 --record-late`
    await run(args, EMPTY, changes, createTestIo({ now: Date.parse('2026-02-12T12:00:00Z') })).code
    expect(seen.sources).toMatchObject({ flags: { out: 'there' }, configFile: config })
    expect(seen.run).toEqual({
      only: ['market-news', 'surveillance-lists'],
      skip: ['master-data'],
      symbols: ['B', 'A'],
      wrongSymbols: 'reject',
      asOf: Date.parse('2026-02-12T18:29:59Z'),
      recordLate: true,
      stop: expect.anything(),
    })
    expect(seen.simulator).toBeUndefined()
  })

  test.each([
    [1_024, {}],
    [256, { 'master-data': 2, 'market-news': 2, 'surveillance-lists': 2 }],
  ])('lower the workers of a simulated run that may open %i files to %j', async (files, workers) => {
    const { seen, changes } = recording()
    const { io, code } = run('--simulate=50', EMPTY, { ...changes, findMaxOpenFiles: () => files })
    await code
    expect(seen.collector?.settings?.workers).toEqual(workers)
    expect(io.err.text().includes(`Only ${files} files may be open (ulimit -n)`)).toBe(files < 1_024)
    await run('', EMPTY, { ...changes, findMaxOpenFiles: () => files }).code
    expect(seen.collector?.settings?.workers).toEqual({})
  })

  test('allow shorter lists with --accept shrink', async () => {
    const { seen, changes } = recording()
    await run('--accept shrink', EMPTY, changes).code
    expect(seen.run).toEqual({ accept: ['shrink'], stop: expect.anything() })
  })

  test('pass only what is given', async () => {
    const { seen, changes } = recording()
    await run('', EMPTY, changes).code
    expect(seen.sources).toEqual({ flags: {}, env: {}, streams: expect.anything() })
    expect(seen.run).toEqual({ stop: expect.anything() })
  })

  test.each([
    ['--simulate', 500],
    ['--simulate=50', 50],
    ['--simulate 7 --json', 7],
  ])('start a simulator for %s with %i stocks, and close it afterwards', async (args, stocks) => {
    const { seen, changes } = recording()
    expect(await run(args, EMPTY, changes).code).toBe(0)
    expect(seen.simulator).toMatchObject({ stocks, exchange: 'NSE' })
    expect(seen.collector?.settings).toMatchObject({
      urls: { news: 'http://127.0.0.1:1/news' },
      options: { 'surveillance-lists': { sheetId: 's' } },
    })
    expect(seen.closed).toBe(1)
  })

  test('log to stderr at the given level', async () => {
    const { changes } = recording()
    const createCollector: Dependencies['createCollector'] = ({ log, telemetry }) => ({
      events: () => {
        log?.debug({}, 'too fine')
        log?.info({ stream: 'market-news' }, 'a line')
        return playEvents(of(started, finished('complete')), telemetry)
      },
      run: () => EMPTY,
      stream: () => EMPTY,
    })
    const { io, code } = run('--log-level info', EMPTY, { ...changes, createCollector })
    await code
    const line = {
      level: 30,
      time: expect.any(Number),
      pid: process.pid,
      hostname: hostname(),
      stream: 'market-news',
      msg: 'a line',
    }
    expect(JSON.parse(io.err.text())).toEqual(line)
  })
})

describe('simulate', () => {
  const simulate = (args: string[]) => {
    const { seen, changes } = recording()
    const io = createTestIo()
    return { seen, io, code: runProgram(['simulate', ...args], io, createTestDependencies(EMPTY, changes)) }
  }

  test('serves until a signal and prints the environment variables', async () => {
    const { seen, io, code } = simulate([
      '--stocks',
      '7',
      '--seed',
      '3',
      '--latency',
      '5',
      '--port',
      '8080',
      '--as-of',
      '2026-02-12',
      '--events',
    ])
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen.simulator).toMatchObject({
      stocks: 7,
      seed: 3,
      latencyMs: 5,
      port: 8080,
      asOf: Date.parse('2026-02-12T18:29:59Z'),
      events: true,
    })
    expect(io.out.text()).toBe('export SCRIPSTREAM_NEWS_URL=http://127.0.0.1:1/news\n')
    expect(io.err.text()).toBe('Serving 7 simulated stocks at http://127.0.0.1:1; press Ctrl+C to stop.\n')
    io.signal$.next('SIGTERM')
    expect(await code).toBe(143)
    await Promise.resolve()
    expect(seen.closed).toBe(1)
  })

  test('reports a port that is in use', async () => {
    const io = createTestIo()
    const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' })
    const dependencies = createTestDependencies(EMPTY, { serveSimulator: () => Promise.reject(taken) })
    expect(await runProgram(['simulate', '--port', '8080'], io, dependencies)).toBe(2)
    expect(io.err.text()).toMatch(/^error: --port: port 8080 is in use/)
  })
})
