import { lastValueFrom, of, throwError } from 'rxjs'
import { expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../../src/collector.js'
import { perStock } from '../../src/engine/define-stream.js'
import type { Log } from '../../src/engine/event-bus.js'
import { HttpError, StorageError } from '../../src/model/errors.js'
import type { RunReport } from '../../src/model/report.js'
import { temporaryFolder } from '../support/folders.js'
import { itWithMarbles } from '../support/marbles.js'
import { masterList, row, status, tiny, tinyCollector, tinyMaster } from '../support/tiny.js'

interface Line {
  readonly level: string
  readonly message: string
  readonly [field: string]: unknown
}

const recordLog = (): { readonly log: Log; readonly lines: Line[] } => {
  const lines: Line[] = []
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push({ level, message, ...fields })
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

itWithMarbles(
  'names the run on every line and the stream where a line is about one; the last lines have durations and counts',
  (m) => {
    const { log, lines } = recordLog()
    const answers = (call: string) => (call === 'news B' ? of(status(404)) : m.cold('1s (r|)', { r: row }))
    tinyCollector(m, { streams: [tiny('news')], answers, log })
      .run()
      .subscribe()
    m.flush()
    const runs = new Set(lines.map(({ run }) => run))
    expect(runs).toEqual(new Set([expect.stringMatching(/^1970/)]))
    expect(lines.filter(({ stream }) => stream === undefined).map(({ message }) => message)).toEqual([
      'run-started',
      'run-finished',
    ])
    expect(lines.filter(({ level }) => level !== 'debug')).toMatchObject([
      { level: 'info', message: 'stream-finished', stream: 'master-data', outcome: 'success', requests: 1 },
      { level: 'warn', message: 'item-finished', stream: 'news', item: 'B', code: 'http_404' },
      {
        level: 'warn',
        message: 'stream-finished',
        stream: 'news',
        outcome: 'partial',
        durationMs: 1_000,
        requests: 3,
        retries: 0,
        rateLimited: 0,
        degraded: 0,
        files: 2,
        items: { success: 2, http_404: 1 },
      },
      {
        level: 'warn',
        message: 'run-finished',
        outcome: 'partial',
        durationMs: 1_000,
        stocks: 3,
        requests: 4,
        files: 3,
        items: { success: 3, http_404: 1 },
        streams: { success: 1, partial: 1 },
      },
    ])
    const news = lines.find(({ message, stream }) => message === 'stream-finished' && stream === 'news')
    expect(Object.values(news ?? {})).not.toContain(undefined)
  },
)

for (const [outcome, stocks, failure, expected] of [
  ['complete', ['A'], undefined, { level: 'info', message: 'run-finished' }],
  [
    'failed',
    [],
    undefined,
    { level: 'error', message: 'run-finished', error: expect.stringContaining('master-data failed') },
  ],
  [
    'without a report',
    ['A'],
    new Error('a bug'),
    { level: 'error', message: 'run-failed', error: 'the work of news failed at A: a bug' },
  ],
  [
    'by the storage',
    ['A'],
    new StorageError('disk full'),
    { level: 'error', message: 'run-failed', code: 'storage', error: 'disk full' },
  ],
] as const)
  itWithMarbles(`has the level of the outcome on the last line of a run that ended ${outcome}`, (m) => {
    const { log, lines } = recordLog()
    const work = perStock(() => throwError(() => failure ?? new HttpError(404)))
    const streams = [failure ? tiny('news', { work }) : tiny('news')]
    tinyCollector(m, {
      streams,
      stocks,
      answers: (call) => of(call.startsWith('master') ? status(404) : row),
      log,
    })
      .run()
      .subscribe({ error: () => undefined })
    m.flush()
    expect(lines.at(-1)).toMatchObject({ ...expected, run: expect.any(String) })
    expect(lines.filter(({ message }) => message.startsWith('run-f'))).toHaveLength(1)
  })

itWithMarbles('of a logger that throws ends no run and is a note in the report, of no stream', (m) => {
  const throws = (): never => {
    throw new Error('the pipe is closed')
  }
  const reports: RunReport[] = []
  tinyCollector(m, {
    streams: [tiny('news')],
    log: { debug: throws, info: throws, warn: throws, error: throws },
  })
    .run()
    .subscribe((report) => reports.push(report))
  m.flush()
  expect(reports.map(({ outcome, notes }) => [outcome, notes])).toEqual([
    ['complete', ['the log of this run threw an error: the pipe is closed']],
  ])
  expect(Object.values(reports[0]?.scripts ?? {}).flatMap(({ problems }) => problems)).toEqual([])
})

it('is one log, with one failure, of a run that does what is left of an earlier one', async () => {
  const { log, lines } = recordLog()
  const asOf = Date.parse('2026-02-12T20:00:00+05:30')
  const answers = [status(404), row, status(404)]
  let isBroken = false
  const work = tiny('news').work
  const collector = createCollector({
    settings: { urls: { static: 'http://provider.test' } },
    streams: [
      tinyMaster,
      tiny('news', {
        work: {
          ...work,
          each: (...args) => (isBroken ? throwError(() => new Error('a bug')) : work.each(...args)),
        },
      }),
    ],
    storage: folder(temporaryFolder()),
    transport: ({ url }) => of(url.endsWith('/news') ? (answers.shift() ?? row) : masterList('A', 'B')),
    log,
    clock: () => asOf + 60_000,
  })
  expect((await lastValueFrom(collector.run({ asOf }))).outcome).toBe('partial')
  lines.length = 0
  isBroken = true
  await expect(lastValueFrom(collector.run({ asOf }))).rejects.toThrow('a bug')
  expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'run-failed', run: expect.any(String) },
  ])
})

itWithMarbles('gives winston, which drops a text behind an object, the text first', (m) => {
  const calls: (readonly unknown[])[] = []
  const write = (...args: readonly unknown[]): void => void calls.push(args)
  const log = { debug: write, info: write, warn: write, error: write, transports: [] } as Log
  tinyCollector(m, { streams: [tiny('news')], log })
    .run()
    .subscribe()
  m.flush()
  expect(calls.at(-1)).toEqual(['run-finished', expect.objectContaining({ outcome: 'complete' })])
})
