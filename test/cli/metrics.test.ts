import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { concat, defer, EMPTY, NEVER, type Observable, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { temporaryFolder } from '../support/folders.js'
import { advance, createTestDependencies, createTestIo, playEvents, runReport } from './support.js'

const started: RunEvent = {
  type: 'run-started',
  at: 0,
  run: 'r1',
  asOf: 0,
  streams: [{ name: 'market-news', state: 'waiting' }],
}
const finished: RunEvent = { type: 'run-finished', report: runReport() }

/** Runs the command on a folder; its collector emits the events, also to its telemetry. */
const run = async (
  event$: Observable<RunEvent>,
  args: readonly string[],
  { out = temporaryFolder(), io = createTestIo() } = {},
) => {
  const dependencies = createTestDependencies(EMPTY, {
    storage: (settings) => folder(settings.out),
    createCollector: ({ telemetry }) => {
      return { events: () => playEvents(event$, telemetry), run: () => EMPTY, stream: () => EMPTY }
    },
  })
  const code = await runProgram(['run', '--out', out, '--progress', 'none', ...args], io, dependencies)
  return { code, out, err: io.err.text() }
}

const sampleIn = (metrics: string, name: string): string | undefined =>
  metrics
    .split('\n')
    .find((line) => line.startsWith(`scripstream_${name}`))
    ?.split(' ')[1]

const outcomeIn = (metrics: string): string | undefined =>
  /run_outcome\{outcome="(\w+)",.*\} 1/.exec(metrics)?.[1]

describe('the file of metrics', () => {
  const runTo = async (event$: Observable<RunEvent>, options?: Parameters<typeof run>[2]) => {
    const file = join(temporaryFolder(), 'run.prom')
    const result = await run(event$, ['--metrics-file', file], options)
    return { ...result, metrics: readFileSync(file, 'utf8') }
  }

  it('has the metrics of the run and not those of the process, with the folder as a label', async () => {
    const { code, err, out, metrics } = await runTo(of(started, finished))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(metrics).toContain(`\nscripstream_run_duration_seconds{folder="${out}"} 12\n`)
    expect(outcomeIn(metrics)).toBe('complete')
    expect(
      metrics.split('\n').filter((line) => line !== '' && !/^(# (HELP|TYPE) )?scripstream_/.test(line)),
    ).toEqual([])
    expect(metrics.endsWith('\n')).toBe(true)
  })

  it.each([
    [
      'failed, with a report',
      concat(
        of(started),
        throwError(() => new Error('disk full')),
      ),
      1,
      'failed',
    ],
    ['could not start', throwError(() => new UsageError('no addresses')), 2, 'failed'],
  ])('says that a run %s, and when the last one succeeded', async (_, event$, exitCode, outcome) => {
    const out = temporaryFolder()
    mkdirSync(join(out, '.scripstream'))
    const entries = [
      runReport(),
      runReport({ finishedAt: '2026-02-13T14:30:12.000Z' }),
      runReport({ outcome: 'partial', finishedAt: '2026-02-14T14:30:12.000Z' }),
    ].map((report) => JSON.stringify(toRunLogEntry(report, {})))
    writeFileSync(join(out, '.scripstream/runs.ndjson'), `${entries.join('\n')}\n`)
    const { code, metrics } = await runTo(event$, { out })
    expect(code).toBe(exitCode)
    expect(outcomeIn(metrics)).toBe(outcome)
    expect(sampleIn(metrics, 'last_success_timestamp_seconds{')).toBe(
      String(Date.parse('2026-02-13T14:30:12Z') / 1_000),
    )
  })

  it('says that a run was interrupted', async () => {
    const io = createTestIo()
    const event$ = concat(
      of(started),
      defer(() => {
        queueMicrotask(() => {
          io.signal$.next('SIGTERM')
          advance(io.scheduler, 10_000)
        })
        return NEVER
      }),
    )
    const { code, metrics } = await runTo(event$, { io })
    expect(code).toBe(143)
    expect(outcomeIn(metrics)).toBe('interrupted')
  })

  it('that cannot be written at the end is a warning, and the exit code stays', async () => {
    const place = join(temporaryFolder(), 'gone')
    mkdirSync(place)
    const removed$ = defer(() => {
      rmSync(place, { recursive: true })
      writeFileSync(place, '')
      return of(started, finished)
    })
    const { code, err } = await run(removed$, ['--metrics-file', join(place, 'run.prom')])
    expect(code).toBe(0)
    expect(err).toContain(`warning: the metrics file ${join(place, 'run.prom')} was not written: `)
  })

  it('is readable for node_exporter, as the umask says', async () => {
    const file = join(temporaryFolder(), 'run.prom')
    await run(of(started, finished), ['--metrics-file', file])
    expect(statSync(file).mode & 0o777).toBe(0o666 & ~process.umask())
  })
})
