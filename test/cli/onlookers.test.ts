import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { asyncScheduler, concatMap, NEVER, of, timer } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder } from '../../sinks/folder.js'
import type { Dependencies, ProcessIo } from '../../src/cli/dependencies.js'
import { runProgram } from '../../src/cli/program.js'
import { followProgress } from '../../src/cli/run/live.js'
import { createProgress } from '../../src/cli/terminal/progress.js'
import { guardStream } from '../../src/cli/terminal/terminal.js'
import { createCollector } from '../../src/collector.js'
import type { Storage } from '../../src/engine/storage.js'
import type { Transport } from '../../src/http/transport.js'
import { createRunProgress } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'
import { Settings } from '../../src/model/settings.js'
import { createWall } from '../../src/model/wall.js'
import { createLiveHub } from '../../src/web/server/live-hub.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { masterList, row, status, tiny, tinyMaster } from '../support/tiny.js'
import { started } from '../web/support.js'
import { advance, createTestDependencies, createTestIo, runReport } from './support.js'

const AT = Date.parse('2026-02-12T20:00:00+05:30')
const streams = [tinyMaster, tiny('news'), tiny('deals')]

/** Answers at once; the deals of B fail, so that a run ends with 3. */
const transport: Transport = ({ url, body = '' }) => {
  const isMaster = url.endsWith('/master-data')
  return of(
    isMaster ? masterList('A', 'B', 'C') : url.endsWith('/deals') && body.includes('"B"') ? status(404) : row,
  )
}

const dependencies = (): Dependencies =>
  createTestDependencies(NEVER, {
    streams,
    loadSettings: ({ flags }) =>
      Settings.parse({ ...flags, urls: { static: 'http://provider.test' }, patience: '0s' }),
    createCollector: (options) => createCollector({ ...options, transport, random: () => 0.5 }),
    storage: ({ out }) => folder(out) as Pick<Storage, 'stored' | 'storeDocument'>,
  })

/** How a stream fails at each call: at once, or later as an event. */
const failures = ['no', 'throws', 'emits'] as const
type Failure = (typeof failures)[number]

const breakStream = (stream: ProcessIo['stdout'], how: Failure, code: string): ProcessIo['stdout'] => {
  const error = Object.assign(new Error('broken'), code === '' ? {} : { code })
  const write = (): boolean => {
    if (how === 'throws') throw error
    process.nextTick(() => stream.emit('error', error))
    return false
  }
  return how === 'no' ? stream : Object.assign(stream, { write })
}

interface Broken {
  readonly stdout: Failure
  readonly stderr: Failure
  readonly code: string
  readonly display: 'bars' | 'lines' | 'none' | 'a bug'
  readonly log: boolean
  readonly logFile: boolean
  readonly metricsFile: boolean
  readonly notify: boolean
  readonly quiet: boolean
}

const NONE: Broken = {
  stdout: 'no',
  stderr: 'no',
  code: '',
  display: 'none',
  log: false,
  logFile: false,
  metricsFile: false,
  notify: false,
  quiet: false,
}

/** A run with broken onlookers: its exit code and outputs, and what it said. */
const runWith = async (broken: Broken) => {
  const out = temporaryFolder()
  const aside = temporaryFolder()
  mkdirSync(join(aside, 'metrics.prom'))
  const test = createTestIo({ err: broken.display === 'a bug' ? { columns: 80 } : {}, now: AT })
  const stderr = breakStream(test.stderr, broken.stderr, broken.code)
  if (broken.display === 'a bug')
    Object.defineProperty(stderr, 'columns', {
      get: () => {
        throw new TypeError('a bug in the display')
      },
    })
  const io = {
    ...test,
    stdout: breakStream(test.stdout, broken.stdout, broken.code),
    stderr,
    env: process.env,
  }
  const args = [
    'run',
    '--out',
    out,
    '--as-of',
    '2026-02-12',
    '--progress',
    broken.display === 'a bug' ? 'bars' : broken.display,
    ...(broken.quiet ? ['--quiet'] : []),
    ...(broken.log ? ['--log-level', 'debug'] : []),
    ...(broken.logFile ? ['--log-file', '/dev/full'] : []),
    ...(broken.metricsFile ? ['--metrics-file', join(aside, 'metrics.prom')] : []),
    ...(broken.notify ? ['--notify', 'exit 7', '--notify-on', 'always'] : []),
  ]
  const code = await runProgram(
    args,
    { ...io, scheduler: { now: () => AT, schedule: asyncScheduler.schedule.bind(asyncScheduler) } },
    dependencies(),
  )
  const report = JSON.parse(
    String(await import('node:fs').then((fs) => fs.readFileSync(join(out, '.scripstream/report.json')))),
  ) as object
  return { ended: { code, outputs: hashOutputs(out) }, err: test.err.text(), report: JSON.stringify(report) }
}

describe('the onlookers of a run', () => {
  it('that fail at every call change neither its outputs nor its exit code', async () => {
    const { ended } = await runWith(NONE)
    expect(ended.code).toBe(3)
    expect(Object.keys(ended.outputs).length).toBeGreaterThan(5)
    const broken = fc.record<Broken>({
      stdout: fc.constantFrom(...failures),
      stderr: fc.constantFrom(...failures),
      code: fc.constantFrom('', 'ENOSPC', 'EBADF', 'EDQUOT', 'EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'),
      display: fc.constantFrom('bars', 'lines', 'none', 'a bug'),
      log: fc.boolean(),
      logFile: fc
        .constant(process.platform === 'linux')
        .chain((has) => (has ? fc.boolean() : fc.constant(false))),
      metricsFile: fc.boolean(),
      notify: fc.boolean(),
      quiet: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(broken, async (one) => {
        expect((await runWith(one)).ended).toEqual(ended)
      }),
      { numRuns: 25 },
    )
  })

  it('are named once each, on stderr at once and in the report', async () => {
    const full = await runWith({ ...NONE, stdout: 'throws', code: 'ENOSPC' })
    expect(full.err).toBe('warning: stdout cannot be written: the disk is full; the run goes on without it\n')
    const { report } = await runWith({ ...NONE, stderr: 'emits', code: 'EDQUOT', log: true })
    expect(report.split('stderr cannot be written: the disk quota is used up')).toHaveLength(2)
    const bug = await runWith({ ...NONE, display: 'a bug' })
    expect(bug.report).toContain('the progress display threw an error: a bug in the display')
  })

  it('may throw in a timer of the progress display', () => {
    for (const mode of ['bars', 'lines'] as const) {
      const { scheduler, stderr } = createTestIo({ err: { columns: 80 } })
      const wall = createWall()
      const stats = createRunStats()
      const progress = createRunProgress(stats, [])
      const display = createProgress(mode, {
        progress: () => progress,
        stream: stderr,
        scheduler,
        attempt: (action) => wall.attempt('the display', action),
      })
      const event = started(['market-news'])
      stats.record(event)
      display.update(event)
      stderr.write = () => {
        throw new Error('a bug')
      }
      expect(() => advance(scheduler, 6_000)).not.toThrow()
      expect(wall.notes()).toEqual(['the display threw an error: a bug'])
      wall.attempt('the end', display.end)
    }
  })

  it('may throw when the live file of the page is written or removed', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const out = temporaryFolder()
    mkdirSync(join(out, '.scripstream', 'live.json'), { recursive: true })
    writeFileSync(join(out, '.scripstream', 'live.json', 'x'), '')
    const io = createTestIo()
    const follower = followProgress({
      settings: Settings.parse({ out }),
      io,
      dependencies: createTestDependencies(),
    })
    const stats = createRunStats()
    const begun = started(['market-news'])
    stats.record(begun)
    follower.telemetry({ stats, limiters: () => [] })
    const running = timer(5_000)
      .pipe(
        concatMap(() => NEVER),
        follower.whileRunning(),
      )
      .subscribe()
    vi.advanceTimersByTime(3_000)
    expect(() => running.unsubscribe()).not.toThrow()
    expect(io.wall.notes()).toEqual([
      expect.stringMatching(/^the live file of the page threw an error: EISDIR/),
    ])
  })

  it('may throw when the page looks at the run', () => {
    const wall = createWall()
    const hub = createLiveHub(
      () => {
        throw new TypeError('state.streams is undefined')
      },
      { tick$: of(1, 2), wall },
    )
    const response = {
      writeHead: () => undefined,
      write: () => true,
      on: () => undefined,
      once: () => undefined,
    }
    expect(() => hub.open(response as never, undefined)).not.toThrow()
    expect(wall.notes()).toEqual(['the page of the run threw an error: state.streams is undefined'])
  })
})

describe('a command whose stdout cannot be written', () => {
  const type = async (how: Failure, ...args: readonly string[]) => {
    const io = createTestIo()
    const code = await runProgram(
      args,
      { ...io, stdout: breakStream(io.stdout, how, 'ENOSPC') },
      createTestDependencies(),
    )
    return { code, err: io.err.text() }
  }

  it.each(['throws', 'emits'] as const)('ends with 1 and one sentence if it %s', async (how) => {
    const expected = { code: 1, err: 'error: stdout cannot be written: the disk is full\n' }
    expect(await type(how, 'list')).toEqual(expected)
    expect(await type(how, '--version')).toEqual(expected)
  })

  it('stops a long answer', () => {
    const { stdout } = createTestIo()
    const guarded = guardStream(breakStream(stdout, 'throws', 'ENOSPC'), () => undefined)
    expect(guarded.destroyed).toBe(false)
    guarded.write('x')
    expect(guarded.destroyed).toBe(true)
  })
})

describe('a run that has ended before', () => {
  it('is not hindered either', async () => {
    const io = createTestIo()
    const event$ = of({ type: 'run-finished', at: 0, report: runReport() } as const)
    const run = { ...io, stdout: breakStream(io.stdout, 'emits', 'EBADF') }
    expect(await runProgram(['run', '--json'], run, createTestDependencies(event$))).toBe(0)
  })
})
