import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findDifference, isPartOf } from '../../src/engine/earlier-runs.js'
import { reuseReport } from '../../src/engine/ending.js'
import { planRun } from '../../src/engine/plan.js'
import { checkRegistry } from '../../src/engine/registry.js'
import { createIdentity, ROWS_VERSION } from '../../src/engine/run-identity.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import { toInstant } from '../../src/model/trading-day.js'
import { companyFilings } from '../../streams/company-filings.js'
import { marketNews } from '../../streams/market-news.js'
import { runReport, scriptReport } from '../cli/support.js'
import { itWithMarbles } from '../support/marbles.js'
import { tiny, tinyMaster } from '../support/tiny.js'

const { version: packageVersion } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string
}

const calendar = { holidays: new Set(['2026-02-16']), sessions: {} }
const { options: newsOptions } = marketNews
const { options: filingOptions } = companyFilings
const streams = [
  tinyMaster,
  tiny('news'),
  tiny('deals'),
  tiny('market-news', { options: newsOptions }),
  tiny('company-filings', { options: filingOptions }),
]
const digest = (
  changes: SettingsInput = {},
  more: { only?: string[]; symbols?: string[]; variant?: string } = {},
): string => {
  const settings = Settings.parse({ urls: { static: 'http://127.0.0.1:4000/static' }, ...changes })
  return createIdentity({ settings, plan: planRun(streams, settings, more), ...more }).configuration
}

/** Another value of each setting than the default. */
const OTHER: Required<SettingsInput> = {
  urls: { static: 'http://127.0.0.1:4001/static' },
  hosts: { static: { maxRate: 5 }, own: 'http://own.test' },
  exchange: 'BSE',
  out: './elsewhere',
  fetchOhlcv: false,
  history: false,
  lake: true,
  holidays: 'holidays.txt',
  sessions: { '2026-11-08': '18:00-19:15' },
  stale: 'fail',
  options: { 'market-news': { newsLimit: 7 } },
  retries: 9,
  patience: '1s',
  workers: { news: 3 },
  timeoutsMs: { news: 1 },
  headers: { 'x-key': 'secret' },
  with: ['news'],
  streams: ['own.js'],
  watchlists: { mine: ['A'] },
  watch: [{ name: 'all', query: 'from master' }],
  verify: { warnings: 1 },
  notify: 'true',
  notifyOn: 'always',
  notifySecret: 'a long secret',
  logFile: 'log',
  metricsFile: 'x.prom',
}

describe('a setting', () => {
  const shape = Object.entries(Settings.shape)
  const facts = new Map(shape.map(([name, schema]) => [name, schema.meta()]))

  it.each(shape.map(([name]) => name))('says with which value a run may be resumed: %s', (name) => {
    const { resume, description } = facts.get(name) ?? {}
    expect(['any', 'same', 'addresses', 'options']).toContain(resume)
    expect(description).toMatch(/./)
    const other = { [name]: OTHER[name as keyof SettingsInput] }
    expect(other[name], 'add another value to OTHER').toBeDefined()
    expect(digest(other) === digest(), name).toBe(resume === 'any')
  })

  it('of a stream must say so, too', () => {
    const declaring = (meta: Record<string, string>) => () =>
      checkRegistry([tinyMaster, tiny('own', { options: { limit: z.int().default(5).meta(meta) } })])
    expect(declaring({ description: 'records', resume: 'same' })).not.toThrow()
    expect(declaring({ description: 'records' })).toThrow(
      /^invalid stream "own": options\.limit: its meta needs a description, and resume/,
    )
    expect(declaring({ resume: 'any' })).toThrow(/^invalid stream "own": options\.limit: its meta needs/)
  })

  it('of a stream decides by its value, whether given or its default', () => {
    const [given, other] = [50, 51].map((newsLimit) => digest({ options: { 'market-news': { newsLimit } } }))
    expect(given).toBe(digest())
    expect(other).not.toBe(digest())
  })
})

describe('the configuration of a run', () => {
  it.each([
    ['workers', { workers: { news: 3 } }],
    ['patience', { retries: 9, patience: '1s', timeoutsMs: { news: 1 } }],
    ['headers', { headers: { 'x-key': 'secret' } }],
    ['the folder', { out: './elsewhere' }],
  ])('is the same with other %s', (_, changes) => {
    expect(digest(changes)).toBe(digest())
  })

  it.each([
    ['exchange', { exchange: 'BSE' }, {}],
    ['number of news', { options: { 'market-news': { newsLimit: 7 } } }, {}],
    ['way to treat filings that are there', { options: { 'company-filings': { forceUpdate: false } } }, {}],
    ['address', { urls: { static: 'http://127.0.0.1:4001/static' } }, {}],
    ['path in an address', { urls: { static: 'http://127.0.0.1:4000/other' } }, {}],
    ['choice of streams', {}, { only: ['news'] }],
    ['choice of stocks', {}, { symbols: ['A'] }],
    ['embedded provider', {}, { variant: '50 simulated stocks' }],
  ])('is another one with another %s', (_, changes, more) => {
    expect(digest(changes, more)).not.toBe(digest())
  })

  it('is the same for a simulator on another port, and for stocks in another order', () => {
    const variant = '50 simulated stocks'
    const elsewhere = { urls: { static: 'http://127.0.0.1:4001/static' } }
    expect(digest(elsewhere, { variant })).toBe(digest({}, { variant }))
    expect(digest({}, { symbols: ['B', 'a', 'A'] })).toBe(digest({}, { symbols: ['A', 'b'] }))
  })
})

describe('an unfinished run', () => {
  const runTime = Date.parse('2026-02-12T20:00:00+05:30')
  const recordAt = (asOf: number, configuration = 'c') => ({ run: 'r', asOf, configuration })

  it.each([
    ['later that evening', runTime + 3_600_000, false, undefined],
    ['at the last moment of its day in India', Date.parse('2026-02-12T23:59:59.999+05:30'), false, undefined],
    [
      'at midnight in India, before the next opening',
      Date.parse('2026-02-13T00:00:00+05:30'),
      false,
      undefined,
    ],
    ['when the next session opens', Date.parse('2026-02-13T09:15:00+05:30'), false, 'instant'],
    ['as of the very instant', runTime, true, undefined],
    ['as of another instant', runTime + 1, true, 'instant'],
  ])('wanted again %s: continued or not', (_, asOf, isInstantGiven, expected) => {
    expect(findDifference(recordAt(runTime), { record: recordAt(asOf), isInstantGiven, calendar })).toBe(
      expected,
    )
  })

  it.each([
    ['before the end of the session', '12:00', '15:29', undefined],
    ['before the opening', '08:50', '12:00', undefined],
    ['at its end', '12:00', '15:30', 'session'],
    ['in the evening', '12:00', '20:05', 'session'],
    ['in the evening, of the early morning', '08:50', '20:05', 'session'],
    ['after its end', '15:31', '20:05', undefined],
  ])('of a time of its day is given up %s', (_, began, wanted, reason) => {
    const [asOf, now] = [began, wanted].map((time) => toInstant('2026-02-12', time)) as [number, number]
    expect(findDifference(recordAt(asOf), { record: recordAt(now), isInstantGiven: false, calendar })).toBe(
      reason,
    )
    const part = { ...recordAt(now), settings: 's', streams: [], configuration: 'd' }
    expect(isPartOf(part, { ...recordAt(asOf), settings: 's', streams: [] }, calendar)).toBe(
      reason === undefined,
    )
  })

  it.each([
    ['before its end', '19:14', undefined],
    ['after its end', '19:15', 'session'],
  ])('of a special session is given up %s', (_, time, reason) => {
    const special = { holidays: new Set(['2026-02-12']), sessions: { '2026-02-12': '18:00-19:15' } }
    const [asOf, now] = ['18:05', time].map((one) => toInstant('2026-02-12', one)) as [number, number]
    expect(
      findDifference(recordAt(asOf), { record: recordAt(now), isInstantGiven: false, calendar: special }),
    ).toBe(reason)
  })

  it.each([
    ['configuration', { configuration: 'd' }, 'selection'],
    ['configuration and other settings', { configuration: 'd', settings: 's' }, 'settings'],
    ['version', { version: '9.9' }, 'version'],
  ])('of another %s is not resumed', (_, changes, reason) => {
    expect(
      findDifference(recordAt(runTime), {
        record: { ...recordAt(runTime), ...changes },
        isInstantGiven: false,
        calendar,
      }),
    ).toBe(reason)
  })

  it('has the version of the package, without the patch', () => {
    expect(packageVersion).toMatch(new RegExp(`^${ROWS_VERSION}\\.\\d`))
  })
})

describe('a part of a run', () => {
  const runTime = Date.parse('2026-02-12T20:00:00+05:30')
  const whole = {
    run: 'r',
    asOf: runTime,
    configuration: 'c',
    settings: 's',
    streams: ['master-data', 'news', 'deals'],
    chosen: {},
  }
  const part = { ...whole, asOf: runTime + 60_000, configuration: 'd', streams: ['master-data', 'news'] }

  it.each([
    ['fewer streams', part, whole, true],
    ['some stocks', { ...part, streams: whole.streams, chosen: { symbols: ['A'] } }, whole, true],
    ['the same run again', { ...part, configuration: 'c' }, whole, false],
    ['other settings', { ...part, settings: 't' }, whole, false],
    ['another stream', { ...part, streams: ['candles'] }, whole, false],
    ['an earlier instant', { ...part, asOf: runTime - 1 }, whole, false],
    ['the next day', { ...part, asOf: runTime + 86_400_000 }, whole, false],
    ['a run of some stocks itself', part, { ...whole, chosen: { symbols: ['A'] } }, false],
    ['a run of some items itself', part, { ...whole, chosen: { pairs: { news: ['A'] } } }, false],
    ['a run of another version', part, { ...whole, version: '9.9' }, false],
    [
      'a run without the digest of its settings',
      part,
      { run: 'r', asOf: runTime, configuration: 'c' },
      false,
    ],
  ])('is recognized by its stocks and streams: %s', (_, wanted, other, expected) => {
    expect(isPartOf(wanted, other, calendar)).toBe(expected)
  })
})

describe('a run whose files are up to date', () => {
  itWithMarbles('reports the complete run with zero time, zero requests and every item adopted', (m) => {
    const items = { success: 3, empty: 2, skipped: 1, rate_limit: 0, error: 0 }
    const news = scriptReport({
      durationMs: 9_000,
      requests: 7,
      retries: 2,
      rateLimited: 1,
      items,
      takenOver: 1,
      files: 3,
      bytes: 30,
    })
    const report = runReport({
      finishedAt: '2026-02-12T14:31:00.000Z',
      durationMs: 60_000,
      scripts: { news },
    })
    const times = {
      startedAt: Date.parse('2026-02-12T15:00:00Z'),
      finishedAt: Date.parse('2026-02-12T15:00:00.070Z'),
    }
    m.expect(reuseReport(report, times)).toBeObservable('(a|)', {
      a: {
        type: 'run-finished',
        report: {
          ...report,
          startedAt: '2026-02-12T15:00:00.000Z',
          finishedAt: '2026-02-12T15:00:00.070Z',
          durationMs: 70,
          finishedBefore: '2026-02-12T14:31:00.000Z',
          scripts: {
            news: { ...news, durationMs: 0, requests: 0, retries: 0, rateLimited: 0, takenOver: 6 },
          },
        },
      },
    })
  })
})
