import { execFileSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { EVENING, fakeProvider, SETTINGS, stockNamed } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { STOCKS, type Trying, tryRun } from './support.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const completeRun = async (options: Omit<Trying, 'out'> = {}): Promise<string> => {
  const out = temporaryFolder()
  expect((await tryRun({ out, ...options })).report?.outcome).toBe('complete')
  return out
}

/** Every file, those about the run among them, by what changes when it is written. */
const datesIn = (folder: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => {
      const { ino, size, mtimeMs } = statSync(join(folder, name))
      return [name, name === '.scripstream' ? ino : [ino, size, mtimeMs]]
    }),
  )

describe('a run that is complete', () => {
  it('is reused by the next run of the same instant, without a request or a changed file', async () => {
    const out = await completeRun()
    const before = datesIn(out)
    const { requests, events } = await tryRun({ out })
    expect(requests).toEqual([])
    expect(events.map(({ type }) => type)).toEqual(['run-finished'])
    expect(datesIn(out)).toEqual(before)
    expect(Object.keys(before)).toContain('.scripstream/report.json')
  })

  it('is reused any number of times, however much later', async () => {
    const out = await completeRun()
    for (const now of [EVENING, EVENING + DAY, EVENING + 1_000 * DAY]) {
      expect((await tryRun({ out, now, asOf: EVENING })).requests).toEqual([])
    }
    const noon = EVENING - 8 * 60 * MINUTE
    const inSession = await completeRun({ asOf: noon })
    expect((await tryRun({ out: inSession, asOf: noon })).requests).toEqual([])
  })

  it('is reported again, with zero requests and all items adopted', async () => {
    const out = temporaryFolder()
    const first = (await tryRun({ out })).report
    const now = EVENING + 10 * MINUTE
    const { report } = await tryRun({ out, now, asOf: EVENING })
    const at = new Date(now).toISOString()
    expect(report).toMatchObject({
      startedAt: at,
      finishedAt: at,
      durationMs: 0,
      finishedBefore: first?.finishedAt,
    })
    const facts = ({ run, asOf, outcome, stocks }: NonNullable<typeof report>) => ({
      run,
      asOf,
      outcome,
      stocks,
    })
    expect(report && facts(report)).toEqual(first && facts(first))
    for (const [name, script] of Object.entries(first?.scripts ?? {})) {
      const takenOver = Object.values(script.items).reduce((sum, items) => sum + items, 0)
      const nothing = { durationMs: 0, requests: 0, retries: 0, rateLimited: 0 }
      expect(report?.scripts[name]).toEqual({ ...script, ...nothing, takenOver })
    }
    expect(report?.scripts['market-news']?.takenOver).toBe(STOCKS.length)
  })

  const changes: readonly (readonly [string, (path: string) => void])[] = [
    ['deleted', (path) => rmSync(path)],
    ['cut', (path) => truncateSync(path, statSync(path).size - 1)],
    ['changed', (path) => writeFileSync(path, 'mine')],
    ['touched', (path) => utimesSync(path, EVENING / 1_000, EVENING / 1_000 + 1)],
  ]
  const files = [
    'master_isin_map.json',
    'fundamental_data.json',
    'company_filings/BETA_filings.json',
    'ohlcv_data/DELTA.csv',
    '.scripstream/report.json',
  ]
  // Each way of changing a file, and each kind of file.
  const [file = ''] = files
  it.each([
    ...changes.map(([how, change]) => ({ file, how, change })),
    ...files.slice(1).map((file) => ({ file, how: 'deleted', change: (path: string) => rmSync(path) })),
  ])('is not reused once $file was $how', async ({ file, change }) => {
    const out = await completeRun()
    change(join(out, file))
    const { requests, events, report } = await tryRun({ out })
    expect(requests[0]).toBe('fetchdt all')
    expect(events[0]).toMatchObject({ type: 'run-started', changed: file })
    expect(report?.outcome).toBe('complete')
  })

  it('is reused after a copy by tar, which keeps no fractions of seconds', async () => {
    const [out, copy] = [await completeRun({ asOf: EVENING - 123 }), temporaryFolder()]
    execFileSync('tar', ['--format=ustar', '-cf', join(copy, 'all.tar'), '-C', out, '.'])
    execFileSync('tar', ['-xf', join(copy, 'all.tar'), '-C', copy])
    const path = join(copy, 'master_isin_map.json')
    expect([
      statSync(join(out, 'master_isin_map.json')).mtimeMs % 1_000,
      statSync(path).mtimeMs % 1_000,
    ]).toEqual([877, 0])
    expect((await tryRun({ out: copy, asOf: EVENING - 123 })).requests).toEqual([])
    utimesSync(path, EVENING / 1_000 - 2, EVENING / 1_000 - 2)
    expect((await tryRun({ out: copy, asOf: EVENING - 123 })).requests[0]).toBe('fetchdt all')
  })

  it('downloads deleted files again', async () => {
    const out = await completeRun()
    const expected = hashOutputs(out)
    for (const file of [
      'market_news/ALPHA_news.json',
      'all_company_announcements.json',
      'ohlcv_data/BETA.csv',
    ])
      rmSync(join(out, file))
    await tryRun({ out })
    expect(hashOutputs(out)).toEqual(expected)
    expect((await tryRun({ out })).requests).toEqual([])
  })

  it('is reused together with the files that it did not change', async () => {
    const out = await completeRun()
    const again = await tryRun({ out, fresh: true })
    expect(again.report?.scripts['all-ohlcv']?.items.skipped).toBe(STOCKS.length)
    rmSync(join(out, 'ohlcv_data', 'GAMMA.csv'))
    expect((await tryRun({ out })).requests).toContain('getDataH GAMMA')
  })

  it('is reused despite foreign files', async () => {
    const out = await completeRun()
    const others = ['notes.txt', 'market_news/notes.txt', 'fundamental_data.json']
    for (const file of others) writeFileSync(join(out, file), 'mine')
    await tryRun({ out, only: ['market-news'] })
    for (const file of others) writeFileSync(join(out, file), 'changed')
    expect((await tryRun({ out, only: ['market-news'] })).requests).toEqual([])
  })

  it.each([
    ['other streams', { only: ['market-news'] }],
    ['other stocks', { symbols: ['ALPHA', 'GAMMA'] }],
    ['another embedded provider', { variant: '4 simulated stocks' }],
    ['another instant', { asOf: EVENING - 1 }],
    ['no instant, in the next session', { now: EVENING + DAY }],
    ['--fresh', { fresh: true }],
    [
      '--record-late, which records what it did not',
      { asOf: EVENING - 7 * 24 * 60 * MINUTE, recordLate: true },
    ],
    ['--accept shrink, which drops what a complete run retained', { accept: ['shrink'] as const }],
  ])('is not reused by a run with %s', async (_, options) => {
    const out = await completeRun('recordLate' in options ? { asOf: options.asOf } : {})
    const { requests, events } = await tryRun({ out, ...options })
    expect(requests[0]).toBe('fetchdt all')
    expect(events[0]).not.toHaveProperty('changed')
  })

  it('is reused by a run with --record-late that is not of an earlier session', async () => {
    const out = await completeRun()
    expect((await tryRun({ out, recordLate: true })).requests).toEqual([])
  })

  const at = (time: string): number => Date.parse(`2026-02-12T${time}+05:30`)
  it.each([
    ['at once', '15:30:00', '15:30:00', true],
    ['before the data is published', '15:30:00', '17:59:59.999', true],
    ['once the data is published', '15:30:00', '18:00:00', false],
    ['in the evening', '18:00:00', '23:59:59', true],
    ['in the session', '15:29:59.999', '15:40:00', false],
    ['by a clock that was set back', '20:00:00', '19:59:59', false],
  ])('is reused or not by a run without an instant: %s', async (_, first, then, expected) => {
    const out = await completeRun({ now: at(first) })
    expect((await tryRun({ out, now: at(then) })).requests.length === 0).toBe(expected)
  })

  it('is reused until the next session opens, also on a weekend', async () => {
    const out = await completeRun({ now: at('23:50:00') })
    const opening = at('09:15:00') + DAY
    expect((await tryRun({ out, now: opening - 1 })).requests).toEqual([])
    expect((await tryRun({ out, now: opening })).requests).not.toEqual([])
    const only = ['market-news']
    const beforeWeekend = await completeRun({ now: at('20:00:00') + DAY, only })
    for (const days of [2, 3])
      expect((await tryRun({ out: beforeWeekend, only, now: at('20:00:00') + days * DAY })).requests).toEqual(
        [],
      )
  })

  it('is not reused if its instant, the end of today, was in the future', async () => {
    const asOf = at('23:59:59')
    const out = await completeRun({ now: EVENING, asOf })
    expect((await tryRun({ out, now: asOf, asOf })).requests[0]).toBe('fetchdt all')
    expect((await tryRun({ out, now: asOf, asOf })).requests).toEqual([])
  })

  it('is discarded once another run has fetched its master list', async () => {
    const out = await completeRun()
    const complete = join(out, '.scripstream', 'full-run.json')
    const nothingYet = await tryRun({ out, fresh: true, hangs: () => true })
    expect(nothingYet.requests).toEqual(['fetchdt all'])
    expect(existsSync(complete)).toBe(true)
    await tryRun({ out, fresh: true, hangs: (request) => request !== 'fetchdt all' })
    expect(existsSync(complete)).toBe(false)
  })

  it('does not hide a later interrupted run, which is resumed', async () => {
    const out = await completeRun()
    await tryRun({
      out,
      fresh: true,
      hangs: (request) => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental'),
    })
    const { requests, events } = await tryRun({ out })
    expect(events[0]).toMatchObject({ isContinued: true })
    expect(requests).toContain('getLiveNews GAMMA')
    expect(requests).not.toContain('getLiveNews ALPHA')
    expect((await tryRun({ out })).requests).toEqual([])
  })

  it('is ignored beside the record of an unfinished run, as after a kill in between', async () => {
    const out = await completeRun()
    const { events } = await tryRun({ out: temporaryFolder() })
    const [{ run, asOf }] = events as unknown as [{ run: string; asOf: number }]
    writeFileSync(
      join(out, '.scripstream', 'run.json'),
      JSON.stringify({ run, asOf, configuration: 'of another' }),
    )
    expect((await tryRun({ out })).requests[0]).toBe('fetchdt all')
  })

  it.each([
    ['nothing', () => ''],
    ['its beginning', (text: string) => text.slice(0, 100)],
    ['an array', () => '[]'],
    ['no report', (text: string) => text.replace('"report"', '"other"')],
    ['no scripts in it', (text: string) => text.replace('"scripts"', '"other"')],
    ['no outputs', (text: string) => text.replace('"outputs":[', '"other":[')],
  ])('is not reused if its record is %s', async (_, spoil) => {
    const out = await completeRun()
    const path = join(out, '.scripstream', 'full-run.json')
    const text = readFileSync(path, 'utf8')
    expect(spoil(text)).not.toBe(text)
    writeFileSync(path, spoil(text))
    expect((await tryRun({ out })).requests[0]).toBe('fetchdt all')
  })
})

describe('a run that is not complete', () => {
  it.each([
    ['partial', { fails: (request: string) => request === 'getLiveNews BETA' }],
    ['failed', { stocks: [] }],
  ])('but %s is not reused', async (outcome, options) => {
    const out = await completeRun()
    const { report } = await tryRun({ out, fresh: true, ...options })
    expect(report?.outcome).toBe(outcome)
    expect((await tryRun({ out })).requests[0]).toBe('fetchdt all')
  })
})

describe('a complete run in memory', () => {
  it('is not reused', async () => {
    const provider = fakeProvider(() => ({ data: ['ALPHA'].map(stockNamed) }))
    const collector = createQuickCollector({
      settings: SETTINGS,
      storage: memory(),
      transport: provider.send,
      clock: () => EVENING,
    })
    for (const _ of [1, 2])
      expect(
        (await lastValueFrom(collector.run({ asOf: EVENING, only: ['master-data'] }))).scripts['master-data']
          ?.requests,
      ).toBe(1)
  })
})
