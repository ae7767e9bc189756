import { existsSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { journalsIn, STOCKS, tryRun } from './support.js'

/** Requests that hang: none of the first phase, without which the later phases would not start. */
const later = (request: string): boolean => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental')

const golden = async (): Promise<Readonly<Record<string, string>>> => {
  const out = temporaryFolder()
  const { report } = await tryRun({ out })
  expect(report?.outcome).toBe('complete')
  return hashOutputs(out)
}

describe('an unfinished run', () => {
  it('is resumed: only missing items are requested, and the files equal those of an uninterrupted run', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, hangs: later })
    expect(first.report).toBeUndefined()
    expect(existsSync(join(out, 'all_company_announcements.json'))).toBe(false)
    const second = await tryRun({ out })
    expect(second.requests.filter((request) => !later(request))).toEqual([])
    expect(second.requests.length).toBeGreaterThan(0)
    expect(second.events[0]).toMatchObject({
      type: 'run-started',
      isContinued: true,
      run: (first.events[0] as { run: string }).run,
    })
    expect(second.report?.outcome).toBe('complete')
    expect(hashOutputs(out)).toEqual(await golden())
    expect(existsSync(join(out, '.scripstream', 'run.json'))).toBe(false)
    expect(journalsIn(out)).toEqual([])
  })

  it.each([
    ['19:30', false],
    ['20:30', true],
  ])('requests what it stored before it was published again after that: %s', async (time, again) => {
    const out = temporaryFolder()
    const only = ['bulk-block-deals', 'market-news', 'all-ohlcv']
    const deal = {
      date: '2026-02-11 00:00:00',
      sym: 'ALPHA',
      qty: 1,
      avgprice: 2,
      bs: 'B',
      cname: 'X',
      exch: 'NSE',
      deal: 'BULK',
    }
    const answers = (name: string) => (name.startsWith('deal') ? { data: [deal], totalcount: 1 } : undefined)
    const at = (hour: string) => ({ out, only, answers, now: toInstant('2026-02-12', hour) })
    await tryRun({ ...at('18:30'), hangs: later })
    const { requests, events, report } = await tryRun(at(time))
    expect(events[0]).toMatchObject({ isContinued: true })
    expect(requests.some((request) => request.startsWith('deal'))).toBe(again)
    expect(report?.scripts['all-ohlcv']?.takenOver).toBe(2)
  })

  it('is included in the report of the run that resumes it', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    const { report } = await tryRun({ out })
    const whole = await tryRun({ out: temporaryFolder() })
    const facts = (scripts = {}): unknown =>
      Object.entries(scripts as NonNullable<typeof report>['scripts']).map(
        ([name, { items, files, bytes }]) => ({
          name,
          items,
          files,
          bytes,
        }),
      )
    expect(facts(report?.scripts)).toEqual(facts(whole.report?.scripts))
    expect(report?.scripts['master-data']?.takenOver).toBe(1)
    expect(report?.scripts['fundamental-data']?.takenOver).toBe(4)
    expect(report?.scripts['market-news']?.takenOver).toBe(2)
  })

  it.each([
    ['another configuration', { only: ['market-news'] }],
    ['other stocks', { symbols: ['ALPHA', 'GAMMA'] }],
    ['another requested instant', { asOf: EVENING - 1_000 }],
    ['--fresh', { fresh: true }],
  ])('is not resumed with %s', async (_, options) => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    const { requests, events } = await tryRun({ out, ...options })
    expect(requests[0]).toBe('fetchdt all')
    expect(events[0]).not.toHaveProperty('isContinued')
  })

  it('is not resumed on another day', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    const record = join(out, '.scripstream', 'run.json')
    const written = JSON.parse(readFileSync(record, 'utf8')) as { asOf: number }
    writeFileSync(record, JSON.stringify({ ...written, asOf: written.asOf - 86_400_000 }))
    expect((await tryRun({ out })).requests[0]).toBe('fetchdt all')
  })

  it('is not resumed after the end of the session in which it began, and that is said', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, hangs: later, now: toInstant('2026-02-12', '12:00') })
    const { run } = first.events[0] as { run: string }
    const noon = await tryRun({ out, hangs: later, now: toInstant('2026-02-12', '15:29') })
    expect(noon.events[0]).toMatchObject({ run, isContinued: true })
    const { requests, events, report } = await tryRun({ out, now: toInstant('2026-02-12', '20:05') })
    expect(events[0]).toMatchObject({ type: 'run-started', givenUp: { run, reason: 'session' } })
    expect(requests).toHaveLength((await tryRun({ out: temporaryFolder() })).requests.length)
    expect([report?.outcome, report?.asOf]).toEqual(['complete', '2026-02-12T14:35:00.000Z'])
  })

  it('requests an item again if its file is missing or has another size', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: (request) => later(request) || request === 'getLiveNews BETA' })
    truncateSync(join(out, 'market_news', 'ALPHA_news.json'), 10)
    const { requests } = await tryRun({ out })
    expect(requests).toContain('getLiveNews ALPHA')
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('retains every record if the master list is fetched again in another order', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    const turned = [...STOCKS].reverse()
    const { report, requests } = await tryRun({ out, stocks: turned })
    expect(requests[0]).toBe('fetchdt all')
    expect(report).toMatchObject({ outcome: 'complete', scripts: { 'fundamental-data': { takenOver: 4 } } })
    const whole = temporaryFolder()
    await tryRun({ out: whole, stocks: turned })
    expect(hashOutputs(out)).toEqual(hashOutputs(whole))
  })

  it('is named when another run replaces it', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, hangs: later })
    const { events } = await tryRun({ out, fresh: true })
    const { run } = first.events[0] as { run: string }
    expect(events[0]).toMatchObject({ type: 'run-started', givenUp: { run, reason: 'fresh' } })
  })

  it('starts from scratch if another version of the package began it, and names the reason', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    const path = join(out, '.scripstream', 'run.json')
    const record = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ ...record, version: '0.0' }))
    const { events, requests } = await tryRun({ out })
    expect(events[0]).toMatchObject({ type: 'run-started', givenUp: { run: record.run, reason: 'version' } })
    expect(requests[0]).toBe('fetchdt all')
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('starts from scratch if its record is unreadable', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: later })
    writeFileSync(join(out, '.scripstream', 'run.json'), '{"run"')
    expect((await tryRun({ out })).requests[0]).toBe('fetchdt all')
    expect(hashOutputs(out)).toEqual(await golden())
  })
})

describe('a second run over the same answers', () => {
  it('changes no file, not even a date', async () => {
    const out = temporaryFolder()
    await tryRun({ out })
    const files = Object.keys(hashOutputs(out))
    for (const file of files) utimesSync(join(out, file), 1, 1)
    await tryRun({
      out,
      fresh: true,
      only: ['fundamental-data', 'new-announcements', 'market-news', 'company-filings'],
    })
    expect(files.filter((file) => statSync(join(out, file)).mtimeMs !== 1_000)).toEqual([])
  })
})
