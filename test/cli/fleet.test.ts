import { concat, EMPTY, NEVER, type Observable, of, Subject } from 'rxjs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Dependencies } from '../../src/cli/dependencies.js'
import { fleetText } from '../../src/cli/fleet.js'
import { runProgram } from '../../src/cli/program.js'
import { createProgress } from '../../src/cli/terminal/progress.js'
import { width } from '../../src/cli/terminal/text.js'
import type { CollectorOptions } from '../../src/collector.js'
import type { Engine } from '../../src/engine/run.js'
import * as fleetDriver from '../../src/fleet/driver.js'
import type { FleetOptions, WorkerNews, WorkerOptions } from '../../src/fleet/index.js'
import * as fleetWorker from '../../src/fleet/worker.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress } from '../../src/model/progress.js'
import type { FleetState } from '../../src/model/report.js'
import { createRunStats } from '../../src/model/run-stats.js'
import {
  advance,
  createTestDependencies,
  createTestIo,
  playEvents,
  runReport,
  summaryLines,
  type TestIo,
} from './support.js'

const realFleet = { ...fleetDriver, ...fleetWorker }

const PLACE = ['--engine', 'redis://10.0.0.5', '--blobs', '/mnt/market']
const SECRET = 'hunter2'

const started: RunEvent = {
  type: 'run-started',
  at: 0,
  run: 'r1',
  asOf: 0,
  streams: [{ name: 'market-news', state: 'waiting' }],
}
const finished: RunEvent = { type: 'run-finished', report: runReport() }

/** A fake fleet, with the calls it received. */
const fleetOf = (news$: (options: WorkerOptions) => Observable<WorkerNews> = () => NEVER) => {
  const seen: {
    reached: FleetOptions[]
    engines: FleetOptions[]
    workers: WorkerOptions[]
    collectors: CollectorOptions[]
  } = {
    reached: [],
    engines: [],
    workers: [],
    collectors: [],
  }
  const engine: Engine = { begin: () => EMPTY }
  const fleet: Dependencies['fleet'] = async () => ({
    reachFleet: async (options) => void seen.reached.push(options),
    fleet: (options) => {
      seen.engines.push(options)
      return engine
    },
    workerName: () => 'here-1',
    fleetWorker: (options) => {
      seen.workers.push(options)
      return news$(options)
    },
  })
  return { seen, engine, fleet }
}

const typed = async (
  args: readonly string[],
  changes: Partial<Dependencies> = {},
  env: NodeJS.ProcessEnv = {},
) => {
  const io = createTestIo({ env })
  const code = await runProgram(args, io, createTestDependencies(of(started, finished), changes))
  return { code, out: io.out.text(), err: io.err.text() }
}

/** Lets all pending microtasks run. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a run with a fleet', () => {
  const collecting = (testFleet: ReturnType<typeof fleetOf>): Partial<Dependencies> => ({
    fleet: testFleet.fleet,
    createCollector: (options) => {
      testFleet.seen.collectors.push(options)
      return {
        events: () => playEvents(of(started, finished), options.telemetry),
        run: () => EMPTY,
        stream: () => EMPTY,
      }
    },
  })

  test('uses the fleet engine with its own version', async () => {
    const testFleet = fleetOf()
    expect(await typed(['run', ...PLACE], collecting(testFleet))).toMatchObject({ code: 0 })
    const options = {
      address: 'redis://10.0.0.5',
      blobs: '/mnt/market',
      allowVolatile: false,
      version: '1.2.3',
    }
    expect(testFleet.seen.engines).toEqual([options])
    expect(testFleet.seen.reached).toEqual([options])
    expect(testFleet.seen.collectors.map(({ engine }) => engine)).toEqual([testFleet.engine])
  })

  test('reads the address and the folder from the environment; flags take precedence', async () => {
    const testFleet = fleetOf()
    const env = { SCRIPSTREAM_ENGINE: 'redis://10.0.0.9', SCRIPSTREAM_BLOBS: '/srv/blobs' }
    expect(await typed(['run'], collecting(testFleet), env)).toMatchObject({ code: 0, err: '' })
    await typed(['run', '--blobs', '/else'], collecting(testFleet), env)
    await typed(['run', ...PLACE, '--allow-volatile'], collecting(testFleet), env)
    expect(
      testFleet.seen.engines.map(({ address, blobs, allowVolatile }) => [address, blobs, allowVolatile]),
    ).toEqual([
      ['redis://10.0.0.9', '/srv/blobs', false],
      ['redis://10.0.0.9', '/else', false],
      ['redis://10.0.0.5', '/mnt/market', true],
    ])
  })

  test('uses no fleet if only the folder is in the environment', async () => {
    const testFleet = fleetOf()
    expect(await typed(['run'], collecting(testFleet), { SCRIPSTREAM_BLOBS: '/srv/blobs' })).toMatchObject({
      code: 0,
    })
    expect(testFleet.seen.engines).toEqual([])
    expect(testFleet.seen.collectors.map(({ engine }) => engine)).toEqual([undefined])
  })

  test('starts only if Redis is reachable', async () => {
    const testFleet = fleetOf()
    const dependencies = collecting(testFleet)
    const fleet = async () => ({ ...(await testFleet.fleet()), reachFleet: realFleet.reachFleet })
    const { code, out, err } = await typed(['run', '--engine', 'redis://127.0.0.1:1', '--blobs', 'x'], {
      ...dependencies,
      fleet,
    })
    expect([code, out]).toEqual([2, ''])
    expect(err).toBe(
      'error: Redis at redis://127.0.0.1:1 cannot be used (127.0.0.1:1 refuses connections): check that it runs, and that address and password are right\n',
    )
    expect(testFleet.seen.collectors).toEqual([])
  })

  test('lists its workers in the report', async () => {
    const fleet: FleetState = {
      workers: [{ name: 'a', items: 3, perSecond: 1.5, isThere: true }],
      stalled: 0,
    }
    const event$ = of<RunEvent[]>(started, { type: 'run-finished', report: runReport({ fleet }) })
    const io = createTestIo()
    expect(
      await runProgram(
        ['run', ...PLACE, '--json'],
        io,
        createTestDependencies(event$, { fleet: fleetOf().fleet }),
      ),
    ).toBe(0)
    expect(JSON.parse(io.out.text())).toMatchObject({ fleet })
  })
})

describe.each(['run', 'worker'])('%s', (command) => {
  const real = { fleet: () => Promise.resolve(realFleet) }

  test.each([
    [
      'no folder',
      ['--engine', 'redis://h'],
      '--engine: a fleet needs a folder shared by all machines; add --blobs, or set SCRIPSTREAM_BLOBS',
    ],
    ['no engine', ['--blobs', 'x'], '--blobs: needs a fleet; add --engine, or set SCRIPSTREAM_ENGINE'],
    [
      'no fleet at all',
      ['--allow-volatile'],
      '--allow-volatile: needs a fleet; add --engine, or set SCRIPSTREAM_ENGINE',
    ],
    [
      'an empty engine',
      ['--engine', '', '--blobs', 'x'],
      '--engine: the address is empty; give redis://host:6379, or leave it out to run on this machine only',
    ],
  ])('rejects %s', async (_, args, message) => {
    expect(await typed([command, ...args], real)).toEqual({ code: 2, out: '', err: `error: ${message}\n` })
  })

  test.each([`http://:${SECRET}@h`, `redis://:${SECRET}@h/x`, SECRET])(
    'shows the address format without echoing %s',
    async (engine) => {
      const { code, out, err } = await typed([command, '--engine', engine, '--blobs', 'x'], real)
      expect(code).toBe(2)
      expect(err).toContain('use redis://host:6379, or redis://user:password@host:6379/0?prefix=nse')
      expect(out + err).not.toContain(SECRET)
    },
  )

  test('names the missing packages and how to install them', async () => {
    vi.resetModules()
    vi.doMock('node:module', async (original) => ({
      ...(await original<typeof import('node:module')>()),
      createRequire: () => (name: string) => {
        throw new Error(`Cannot find module '${name}'`)
      },
    }))
    onTestFinished(() => {
      vi.doUnmock('node:module')
      vi.resetModules()
    })
    const { code, err } = await typed([command, ...PLACE], {
      fleet: async () => ({
        ...(await import('../../src/fleet/driver.js')),
        ...(await import('../../src/fleet/worker.js')),
      }),
    })
    // The class of the error is another one where modules are loaded anew, so its code is not looked at here.
    expect(code).not.toBe(0)
    expect(err).toContain('a fleet needs two packages that are not installed: npm install bullmq@6 ioredis@6')
  })
})

describe('the password of a fleet', () => {
  const args = ['run', '--engine', `redis://u:${SECRET}@10.0.0.5:6379`, '--blobs', '/mnt/market']

  test('is not in the resume command of a run that was stopped at once', async () => {
    const io = createTestIo()
    void runProgram(args, io, createTestDependencies(concat(of(started), NEVER), { fleet: fleetOf().fleet }))
    await settled()
    io.signal$.next('SIGINT')
    io.signal$.next('SIGINT')
    expect(io.err.text()).toContain(
      "To resume: scripstream run --engine 'redis://…@10.0.0.5:6379' --blobs /mnt/market\n",
    )
    expect(io.err.text()).not.toContain(SECRET)
  })

  test.each([[[]], [['--json']]])('is not in the report of a run that failed %j', async (more) => {
    const event$ = of<RunEvent[]>(started, {
      type: 'run-finished',
      report: runReport({ outcome: 'failed', error: 'no list' }),
    })
    const io = createTestIo()
    expect(
      await runProgram([...args, ...more], io, createTestDependencies(event$, { fleet: fleetOf().fleet })),
    ).toBe(1)
    const all = io.out.text() + io.err.text()
    expect(all).toContain('no list')
    expect(all).not.toContain(SECRET)
  })
})

describe('a worker', () => {
  const working = async (args: readonly string[] = []) => {
    const news$ = new Subject<WorkerNews>()
    const testFleet = fleetOf(() => news$)
    const io: TestIo = createTestIo()
    const code = runProgram(
      ['worker', ...PLACE, ...args],
      io,
      createTestDependencies(EMPTY, { fleet: testFleet.fleet }),
    )
    while (!news$.observed) await settled()
    return { news$, testFleet, io, code }
  }

  test('prints its fleet, and its finished items at the end', async () => {
    const { news$, io, code } = await working()
    news$.next({ type: 'joined', name: 'here-1', shown: 'redis://10.0.0.5' })
    news$.next({ type: 'run', run: 'r1' })
    news$.next({ type: 'item-finished', stream: 'market-news' })
    expect(io.err.text()).toBe(
      'here-1 works for the fleet at redis://10.0.0.5; press Ctrl+C to stop.\nWorking for run r1.\n',
    )
    news$.complete()
    expect(await code).toBe(0)
    expect(io.err.text()).toMatch(/\n1 item finished since this worker joined\n$/)
  })

  test('takes its name and concurrency from flags', async () => {
    const { testFleet } = await working(['--name', 'east', '--concurrency', '5', '--allow-volatile'])
    expect(testFleet.seen.workers).toMatchObject([
      { name: 'east', concurrency: 5, allowVolatile: true, version: '1.2.3', address: 'redis://10.0.0.5' },
    ])
  })

  test('finishes its active items after a signal and ends with 0', async () => {
    const { news$, testFleet, io, code } = await working()
    const stops: unknown[] = []
    testFleet.seen.workers[0]?.stop?.subscribe((signal) => stops.push(signal))
    io.signal$.next('SIGTERM')
    expect(stops).toEqual(['SIGTERM'])
    expect(io.err.text()).toMatch(/^Stopping: active items finish first/)
    news$.complete()
    expect(await code).toBe(0)
    expect(io.exits).toEqual([])
  })

  test('ends at once with 130 on a second signal', async () => {
    const { io } = await working()
    io.signal$.next('SIGINT')
    io.signal$.next('SIGINT')
    expect(io.exits).toEqual([130])
  })

  test('names a misspelt variable', async () => {
    const io = createTestIo({ env: { SCRIPSTREAM_HEADER: '{}' } })
    void runProgram(['worker', ...PLACE], io, createTestDependencies(EMPTY, { fleet: fleetOf().fleet }))
    await settled()
    expect(io.err.text()).toContain('SCRIPSTREAM_HEADERS')
  })
})

const member = (name: string, perSecond = 41.3, isThere = true) => ({
  name,
  items: 1_234,
  perSecond,
  isThere,
})
const nobody: FleetState = { workers: [], stalled: 0 }
const three: FleetState = { workers: [member('a'), member('b', 0.4), member('c', 9, false)], stalled: 1 }
const fifty: FleetState = {
  workers: Array.from({ length: 50 }, (_, index) => member(`machine-${index}`, 10)),
  stalled: 0,
}

const elsewhere = { build: '0.1.0+new', workers: ['a (0.1.0+old)', 'b (0.0.9)'] }
const OTHERS =
  '2 workers of another build, install the same on both: a (0.1.0+old), b (0.0.9); driver 0.1.0+new'

describe('the line of a fleet', () => {
  test.each([
    [undefined, ''],
    [nobody, 'no worker: start "scripstream worker" with this --engine and --blobs'],
    [
      { workers: [member('gone', 3, false)], stalled: 0 },
      'no worker: start "scripstream worker" with this --engine and --blobs',
    ],
    [{ workers: [member('a', 0)], stalled: 0 }, '1 worker, a 0/s'],
    [three, '2 workers 42/s, 1 item reassigned, a 41/s, b 0.4/s'],
    [
      fifty,
      `50 workers 500/s, ${Array.from({ length: 8 }, (_, index) => `machine-${index} 10/s`).join(', ')}, 42 more`,
    ],
    [{ workers: [member('a\u001b[2J')], stalled: 0 }, expect.not.stringContaining('\u001b')],
    [{ ...nobody, others: elsewhere }, OTHERS],
    [{ workers: [member('a', 0)], stalled: 0, others: elsewhere }, `1 worker, a 0/s, ${OTHERS}`],
    [
      { ...nobody, others: { ...elsewhere, workers: ['a\u001b[2J (1.0)'] } },
      expect.not.stringContaining('\u001b'),
    ],
  ])('lists the active workers of %j', (state, text) => expect(fleetText(state, ', ')).toEqual(text))

  const shown = (mode: 'bars' | 'lines', columns: number | undefined, fleet: FleetState) => {
    const io = createTestIo({ err: columns === undefined ? {} : { columns } })
    const stats = createRunStats()
    const progress = createRunProgress(stats, [])
    const display = createProgress(mode, {
      progress: () => progress,
      stream: io.stderr,
      scheduler: io.scheduler,
      attempt: (act) => act(),
    })
    for (const event of [started, { type: 'fleet', at: 0, fleet } as const]) {
      stats.record(event)
      display.update(event)
    }
    advance(io.scheduler, 6_000)
    display.end({ keep: true })
    return mode === 'bars' ? io.err.screen() : io.err.text().split('\n')
  }

  test.each([80, 200])('is above the whole run, within %i columns', (columns) => {
    for (const fleet of [nobody, three, fifty]) {
      const lines = shown('bars', columns, fleet)
      const index = lines.findIndex((line) => line.includes('worker'))
      expect(lines[index + 1]).toContain('0 of 1 stream')
      expect(width(lines[index] ?? '')).toBeLessThan(columns)
    }
  })

  test('ends with an ellipsis if there is no room', () => {
    expect(shown('bars', 80, fifty).find((line) => line.includes('worker'))).toMatch(
      /^ {2}50 workers 500\/s · .*…$/,
    )
  })

  test('is complete if there is room', () => {
    expect(shown('bars', 80, nobody)).toContain(`  ${fleetText(nobody, '')}`)
    expect(shown('bars', 200, fifty).join('\n')).toContain('machine-7 10/s · 42 more')
    expect(shown('bars', 80, three).join('\n')).toContain(
      '  2 workers 42/s · 1 item reassigned · a 41/s · b 0.4/s',
    )
  })

  test('ends each plain line', () => {
    expect(shown('lines', undefined, three).join('\n')).toMatch(
      /; 2 workers 42\/s, 1 item reassigned, a 41\/s, b 0\.4\/s$/m,
    )
    expect(shown('lines', undefined, nobody).join('\n')).toMatch(/; no worker: /)
  })
})

describe('the summary of a run with a fleet', () => {
  const sectionOf = (fleet: FleetState | undefined): string[] => {
    const lines = summaryLines(runReport(fleet === undefined ? {} : { fleet }))
    const begin = lines.indexOf('Fleet')
    return begin < 0 ? [] : lines.slice(begin, lines.indexOf('', begin))
  }

  test('lists the items of each worker', () => {
    expect(sectionOf(three)).toEqual([
      'Fleet',
      'a: 1,234 items, 41/s',
      'b: 1,234 items, 0.4/s',
      'c: 1,234 items, 9.0/s, gone',
      '1 item reassigned from lost or stalled workers',
    ])
  })

  test('lists workers of another build', () => {
    expect(
      sectionOf({ ...three, others: elsewhere })
        .join(' ')
        .replace(/\s+/g, ' '),
    ).toContain(OTHERS)
  })

  test('has no section without a fleet', () => expect(sectionOf(undefined)).toEqual([]))
})
