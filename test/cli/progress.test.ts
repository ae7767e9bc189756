import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createProgress,
  type ProgressDisplay,
  type ProgressMode,
  resolveMode,
} from '../../src/cli/terminal/progress.js'
import { width } from '../../src/cli/terminal/text.js'
import type { RunEvent, StreamStart } from '../../src/model/event.js'
import { createRunProgress, type RunProgress, type StreamForecast } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'
import { createRecorder, type RecorderOptions } from './screen.js'
import { advance, createTestIo, runReport, type TestIo } from './support.js'

interface Show {
  readonly io: TestIo
  readonly progress: ProgressDisplay
  readonly run: RunProgress
  readonly handle: (...events: RunEvent[]) => void
}

const show = (
  mode: Exclude<ProgressMode, 'auto'>,
  err: RecorderOptions,
  { forecasts = [] }: { forecasts?: readonly StreamForecast[] } = {},
): Show => {
  const io = createTestIo({ err })
  const stats = createRunStats()
  const run = createRunProgress(stats, forecasts)
  const progress = createProgress(mode, {
    progress: () => run,
    stream: io.stderr,
    scheduler: io.scheduler,
    attempt: (act) => act(),
  })
  const handle = (...events: RunEvent[]): void => {
    for (const event of events) {
      stats.record(event)
      if (event.type !== 'requested') progress.update(event)
    }
  }
  return { io, progress, run, handle }
}

const started = (...streams: (string | StreamStart)[]): RunEvent => ({
  type: 'run-started',
  at: 0,
  run: 'r',
  asOf: 0,
  streams: streams.map((stream) =>
    typeof stream === 'string' ? { name: stream, state: 'waiting' } : stream,
  ),
})
const begun = (stream: string, total: number, at = 0): RunEvent[] => [
  { type: 'stream-started', at, stream },
  { type: 'items-known', stream, total },
]
const settled = (stream: string, times: number, status: 'success' | 'rate_limit' = 'success'): RunEvent[] =>
  Array.from({ length: times }, (_, index) => [
    { type: 'requested' as const, stream },
    { type: 'item-finished' as const, stream, item: `S${index}`, status },
  ]).flat()
const ended = (stream: string, at: number, error?: string): RunEvent[] => [
  ...(error === undefined ? [345, 12_000] : []).map((bytes) => ({ type: 'stored' as const, stream, bytes })),
  {
    type: 'stream-finished',
    at,
    stream,
    outcome: error === undefined ? 'success' : 'failed',
    ...(error === undefined ? {} : { error }),
  },
]

/** A run in the middle: one stream of every kind. */
const middle: readonly RunEvent[] = [
  started(
    'master-data',
    'listing-dates',
    'market-news',
    'incremental-price-bands',
    { name: 'all-ohlcv', state: 'disabled' },
    'all-indices',
  ),
  ...begun('master-data', 1),
  ...settled('master-data', 1),
  ...ended('master-data', 1_500),
  ...begun('listing-dates', 1, 1_500),
  ...ended(
    'listing-dates',
    2_000,
    'dns: getaddrinfo ENOTFOUND archive.example.invalid, which is the long name of a host',
  ),
  ...begun('market-news', 2_775, 2_000),
  ...settled('market-news', 1_000),
  ...settled('market-news', 12, 'rate_limit'),
  { type: 'rate-limited', stream: 'market-news' },
  { type: 'retried', stream: 'market-news' },
  { type: 'stream-started', at: 2_000, stream: 'all-indices' },
]

beforeEach(() => {
  vi.stubEnv('FORCE_COLOR', undefined)
  vi.stubEnv('NO_COLOR', undefined)
})
afterEach(() => vi.unstubAllEnvs())

describe('bars', () => {
  test('show every selected stream and a total, at 80 columns', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(...middle)
    advance(io.scheduler, 12_000)
    expect(io.err.screen()).toEqual([
      '✔ master-data             ██████████         1/1               1.5s',
      '✖ listing-dates           failed: dns: getaddrinfo ENOTFOUND archive.example.i…',
      '▸ market-news             ███░░░░░░░ 1,012/2,775   101/s   18s left  12 lost',
      '· incremental-price-bands waiting',
      '▸ all-indices             ░░░░░░░░░░',
      '  36 % · 1,013/2,776 items · 14s left · 2 of 5 streams · 1 failed · 12 lost',
      '',
    ])
  })

  test('mark a stream that lost items', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(
      started('market-news'),
      ...begun('market-news', 2),
      ...settled('market-news', 1),
      ...settled('market-news', 1, 'rate_limit'),
    )
    handle({ type: 'stream-finished', at: 1_000, stream: 'market-news', outcome: 'partial' })
    advance(io.scheduler, 1_000)
    expect(io.err.screen()[0]).toMatch(/^! market-news .* 2\/2 .* 1 lost$/)
  })

  test('show longer bars at 200 columns', () => {
    const { io, handle } = show('bars', { columns: 200 })
    handle(...middle)
    advance(io.scheduler, 12_000)
    const bar = (full: number): string => '█'.repeat(full) + '░'.repeat(40 - full)
    expect(io.err.screen()).toEqual([
      `✔ master-data             ${bar(40)}         1/1               1.5s`,
      '✖ listing-dates           failed: dns: getaddrinfo ENOTFOUND archive.example.invalid, which is the long name of a host',
      `▸ market-news             ${bar(14)} 1,012/2,775   101/s   18s left  12 lost`,
      '· incremental-price-bands waiting',
      `▸ all-indices             ${bar(0)}`,
      '  36 % · 1,013/2,776 items · 14s left · 2 of 5 streams · 12s · 1 failed · 12 lost · 1 x 429 · 1,013 requests',
      '',
    ])
  })

  test.each([20, 40, 50, 60, 79, 80, 100, 149, 150, 300])('never reach the last of %i columns', (columns) => {
    const { io, handle } = show('bars', { columns })
    handle(...middle)
    advance(io.scheduler, 12_000)
    for (const line of io.err.screen()) expect(width(line)).toBeLessThan(columns)
  })

  test('show only running streams and the total if not all lines fit', () => {
    const { io, handle } = show('bars', { columns: 80, rows: 6 })
    handle(...middle)
    advance(io.scheduler, 12_000)
    expect(io.err.screen().map((line) => line.slice(0, 20))).toEqual([
      '▸ market-news       ',
      '▸ all-indices       ',
      '  36 % · 1,013/2,776',
      '',
    ])
  })

  test('show only the total on a terminal of two rows', () => {
    const { io, handle } = show('bars', { columns: 80, rows: 2 })
    handle(...middle)
    advance(io.scheduler, 12_000)
    expect(io.err.screen()).toHaveLength(2)
  })

  test('never show more finished items than the total', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(started('market-news'), ...begun('market-news', 3), ...settled('market-news', 5))
    advance(io.scheduler, 1_000)
    expect(io.err.screen()[0]).toBe('▸ market-news ██████████████████████████     3/3   5.0/s  finishing')
  })

  test('redraw at most ten times a second', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(started('market-news'), ...begun('market-news', 5_000))
    for (let at = 10; at <= 1_000; at += 10) {
      handle(...settled('market-news', 5))
      advance(io.scheduler, at)
    }
    expect(io.err.text().split('market-news').length - 1).toBeLessThanOrEqual(11)
  })

  test('replace the earlier lines after the terminal became narrower', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(started('market-news', 'all-indices'), ...begun('market-news', 10))
    advance(io.scheduler, 100)
    io.err.resize(40)
    const before = io.err.text().length
    advance(io.scheduler, 200)
    // The terminal has wrapped the line with the bar and the last one; the other one is short.
    expect(io.err.text().slice(before).startsWith('\x1b[1G\x1b[5A\x1b[0J')).toBe(true)
  })

  test('name the paused hosts with reason and time, and hide the remaining time during a long pause', () => {
    const { io, handle } = show('bars', { columns: 80 })
    const news: StreamStart = { name: 'market-news', state: 'waiting', hosts: ['news'] }
    handle(
      started(news, { ...news, name: 'all-ohlcv', hosts: ['ticks'] }),
      ...begun('market-news', 40),
      ...begun('all-ohlcv', 40),
    )
    handle(...settled('market-news', 10), ...settled('all-ohlcv', 10))
    advance(io.scheduler, 10_000)
    handle({ type: 'host-paused', at: 10_000, hosts: ['news'], why: 'refuses', since: 0, until: 18_000 })
    handle({
      type: 'host-paused',
      at: 10_000,
      hosts: ['static', 'sheet'],
      why: 'down',
      since: 9_000,
      until: 12_000,
    })
    advance(io.scheduler, 11_000)
    expect(io.err.screen().slice(0, -1)).toEqual([
      '▸ market-news ██████░░░░░░░░░░░░░░░░░░░░   10/40   1.0/s   waits 7s',
      '▸ all-ohlcv   ██████░░░░░░░░░░░░░░░░░░░░   10/40   0.9/s   30s left',
      '  news: rate limited, wait 7s · static and sheet: down for 2s, next try in 1s',
      '  25 % · 20/80 items · 30s left · 0 of 2 streams · 11s · 20 requests',
    ])
    advance(io.scheduler, 17_000)
    expect(io.err.screen().at(-2)).toBe('  25 % · 20/80 items · 0 of 2 streams · 17s · 20 requests')
    handle(
      { type: 'host-resumed', at: 17_500, hosts: ['news'] },
      { type: 'host-resumed', at: 17_500, hosts: ['static', 'sheet'] },
    )
    handle(...settled('market-news', 1))
    advance(io.scheduler, 17_600)
    expect(io.err.screen().slice(-3)).toEqual([
      expect.stringContaining('left'),
      '  26 % · 21/80 items · 40s left · 0 of 2 streams · 18s · 21 requests',
      '',
    ])
  })

  test.each([
    [80, 24],
    [60, 20],
    [60, 24],
  ])(
    'end with the whole run at %i columns and %i rows, with 16 streams and two paused hosts',
    (columns, rows) => {
      const { io, handle } = show('bars', { columns, rows })
      const names = Array.from({ length: 16 }, (_, index) => `all-of-the-streams-${index}`)
      handle(
        started(...names),
        ...names.flatMap((name) => [
          ...begun(name, 2_775),
          ...settled(name, 250),
          ...settled(name, 3, 'rate_limit'),
        ]),
      )
      const held = {
        type: 'host-paused',
        at: 0,
        why: 'down',
        since: 0,
        until: 300_000,
        giveUpAt: 300_000,
      } as const
      handle({ ...held, hosts: ['news', 'static'] }, { ...held, hosts: ['ticks'] })
      advance(io.scheduler, 5_000)
      const lines = io.err.screen().slice(0, -1)
      expect(lines.length).toBeLessThan(rows)
      expect(lines.at(-1)).toMatch(/^ {2}9 % · 4,048\/44,400 items · .*48 lost/)
      expect(lines.at(-2)).toMatch(/ticks: down for 5s, next try in 4m55s/)
    },
  )

  test('drop paused hosts whose streams have all ended', () => {
    const { io, handle } = show('bars', { columns: 80 })
    const news: StreamStart = { name: 'market-news', state: 'waiting', hosts: ['news'] }
    handle(started(news, 'all-ohlcv'), ...begun('market-news', 1))
    handle({ type: 'host-paused', at: 0, hosts: ['news'], why: 'down', since: 0, until: 9_000 })
    advance(io.scheduler, 100)
    expect(io.err.screen().join('\n')).toContain('news: down')
    handle({ type: 'stream-finished', at: 200, stream: 'market-news', outcome: 'partial' })
    advance(io.scheduler, 300)
    expect(io.err.screen().join('\n')).not.toContain('news: down')
  })

  test('exclude the items of a resumed run from the rate', () => {
    const { io, handle } = show('bars', { columns: 80 })
    const inPlace = settled('market-news', 900).map((event) => ({ ...event, isTakenOver: true }))
    handle(started('market-news'), ...begun('market-news', 1_000), ...inPlace, ...settled('market-news', 10))
    advance(io.scheduler, 10_000)
    expect(io.err.screen()[0]).toContain(' 910/1,000   1.0/s 1m30s left')
    handle(...ended('market-news', 10_000))
    advance(io.scheduler, 10_100)
    expect(io.err.screen()[0]).toContain(' 910/1,000   1.0/s        10s')
  })

  test('name what is done after the last item', () => {
    const { io, handle } = show('bars', { columns: 80 })
    handle(started('market-news'), ...begun('market-news', 1), ...settled('market-news', 1))
    handle({ type: 'stream-finished', at: 1_000, stream: 'market-news', outcome: 'success' })
    handle({ type: 'step', at: 1_000, step: 'recording the day' })
    advance(io.scheduler, 2_000)
    expect(io.err.screen()).toEqual([
      '✔ market-news ██████████████████████████     1/1               1.0s',
      '  100 % · 1/1 item · recording the day · 1 of 1 stream · 2.0s · 1 request',
      '',
    ])
  })

  test('disappear at the end', () => {
    const { io, progress, handle } = show('bars', { columns: 80 })
    handle(...middle)
    progress.end()
    progress.end()
    advance(io.scheduler, 60_000)
    expect(io.err.screen()).toEqual([''])
  })

  test('stay in their last state with keep', () => {
    const { io, progress, handle } = show('bars', { columns: 80 })
    handle(
      started('market-news'),
      ...begun('market-news', 1),
      ...settled('market-news', 1),
      ...ended('market-news', 400),
    )
    progress.end({ keep: true })
    expect(io.err.screen()[0]).toMatch(/^✔ market-news .*1\/1/)
  })

  test('move below permanent lines', () => {
    const { io, progress, handle } = show('bars', { columns: 80 })
    handle(started('market-news'))
    progress.writeAbove('a log line\n')
    expect(io.err.screen()).toEqual([
      'a log line',
      '· market-news waiting',
      '  0 % · 0 items · 0 of 1 stream · 0.0s · 0 requests',
      '',
    ])
  })

  test('write nothing for a run that never starts', () => {
    const { io, progress } = show('bars', { columns: 80 })
    advance(io.scheduler, 1_000)
    progress.end({ keep: true })
    expect(io.err.text()).toBe('')
  })

  test('are coloured if the terminal supports it', () => {
    const { io, handle } = show('bars', { columns: 80, colours: true })
    handle(started('market-news'))
    expect(io.err.text()).toContain('\x1b[2m· \x1b[22m')
  })
})

describe('lines', () => {
  test('print the state every five seconds, and the outcome of each stream', () => {
    const { io, handle } = show('lines', {})
    handle(...middle)
    advance(io.scheduler, 5_000)
    handle(...settled('market-news', 1_763))
    advance(io.scheduler, 9_999)
    handle(...ended('market-news', 10_000))
    advance(io.scheduler, 10_000)
    expect(io.err.text().split('\n')).toEqual([
      'master-data: done, 1/1 item in 1.5s, 2 files (12 kB)',
      'listing-dates: failed: dns: getaddrinfo ENOTFOUND archive.example.invalid, which is the long name of a host',
      '36 %, 1,013/2,776 items, 2 of 5 streams, 5.0s, 1 failed, 12 lost, 1 x 429, 1,013 requests',
      'market-news: done, 2,775/2,775 items in 8.0s, 12 lost, 2 files (12 kB)',
      '99 %, 2,776/2,776 items, 3 of 5 streams, 10s, 1 failed, 12 lost, 1 x 429, 2,776 requests',
      '',
    ])
  })

  test('name each step after the last item once', () => {
    const { io, progress, run, handle } = show('lines', {})
    handle(started('market-news'), ...begun('market-news', 1), ...settled('market-news', 1))
    advance(io.scheduler, 14_000)
    handle({ type: 'stream-finished', at: 14_000, stream: 'market-news', outcome: 'success' })
    handle({ type: 'step', at: 14_000, step: 'recording the day' })
    advance(io.scheduler, 29_000)
    handle({ type: 'run-finished', report: runReport() })
    run.announce('writing market.duckdb')
    advance(io.scheduler, 44_000)
    progress.end()
    expect(io.err.text().split('\n')).toEqual([
      '100 %, 1/1 item, writing files, 0 of 1 stream, 5.0s, 1 request',
      'market-news: done, 1/1 item in 14s',
      '100 %, 1/1 item, recording the day, 1 of 1 stream, 15s, 1 request',
      '100 %, 1/1 item, writing market.duckdb, 1 of 1 stream, 30s, 1 request',
      '',
    ])
  })

  test('name the paused hosts', () => {
    const { io, handle } = show('lines', {})
    const news: StreamStart = { name: 'market-news', state: 'waiting', hosts: ['news'] }
    handle(started(news), ...begun('market-news', 40), ...settled('market-news', 10))
    handle({ type: 'host-paused', at: 0, hosts: ['news'], why: 'pages', since: 0, until: 7_000 })
    advance(io.scheduler, 5_000)
    expect(io.err.text()).toBe(
      '25 %, 10/40 items, 0 of 1 stream, 5.0s, 10 requests; news: sends HTML instead of data, wait 2s\n',
    )
  })

  test('stop with the run', () => {
    const { io, progress, handle } = show('lines', {})
    handle(started('market-news'))
    progress.end()
    advance(io.scheduler, 60_000)
    expect(io.err.text()).toBe('')
  })
})

describe('none', () => {
  test('writes only the lines of others', () => {
    const { io, progress, handle } = show('none', { columns: 80 })
    handle(...middle)
    progress.writeAbove('a log line\n')
    progress.end({ keep: true })
    advance(io.scheduler, 60_000)
    expect(io.err.text()).toBe('a log line\n')
  })
})

describe('auto', () => {
  const terminal = createRecorder({ columns: 80 }).stream
  const pipe = createRecorder().stream

  test.each([
    ['a terminal', terminal, {}, 'bars'],
    ['a terminal with CI=false', terminal, { CI: 'false' }, 'bars'],
    ['a pipe', pipe, {}, 'lines'],
    ['a build server', terminal, { CI: 'true' }, 'lines'],
    ['a dumb terminal', terminal, { TERM: 'dumb' }, 'lines'],
  ] as const)('resolves for %s', (_, stream, env, mode) =>
    expect(resolveMode('auto', stream, env)).toBe(mode),
  )

  test('is ignored if a mode is given', () => expect(resolveMode('bars', pipe, { CI: '1' })).toBe('bars'))
})
