import { describe, expect, it } from 'vitest'
import { computeBound } from './harness/bound.js'
import { createSameRunCheck, findWrongFiles, findWrongRequests } from './harness/check.js'
import { type Figure, isMet, median } from './harness/figure.js'
import { parseOptions } from './options.js'
import {
  computeLatency,
  createBenchTimeline,
  FIRST_RUN_AT,
  fixed,
  logNormal,
  NEXT_RUN_AT,
} from './provider/conditions.js'
import { drawChart } from './report/chart.js'
import { mergeByKey, type ScalePoint } from './report/results.js'
import { formatMachines, formatTable } from './report/table.js'

const counts = { requests: 30, duplicates: 0, maxInFlight: 1, latencyMs: 1_500 }
const stats = { violations: [], cpuMicros: 0 }
const { stocks } = createBenchTimeline(30)(Date.parse(FIRST_RUN_AT))

describe('the bound', () => {
  it('is the sum of phase 1 plus the longest stream after it', () => {
    const once = { ...counts, requests: 1, latencyMs: 50 }
    const requested = {
      master: once,
      fundamental: counts,
      listing_dates: once,
      announcements: counts,
      ohlcv: counts,
    }
    expect(computeBound(requested, stocks, fixed(50))).toBeCloseTo(50 + (30 * 50) / 20 + 50 + (30 * 50) / 15)
  })

  it('counts the longer of the two requests of a filing', () => {
    const latency = logNormal(100)
    const longer = stocks.map(({ ISIN }) =>
      Math.max(computeLatency(latency, 'lodr', ISIN), computeLatency(latency, 'company_filings', ISIN)),
    )
    const wanted = longer.reduce((sum, ms) => sum + ms, 0) / 20
    expect(computeBound({ lodr: counts, company_filings: counts }, stocks, latency)).toBeCloseTo(wanted)
  })

  it('adds the index candles after the list of indices', () => {
    const requested = {
      indices: { ...counts, latencyMs: 50 },
      index_ohlcv: { ...counts, latencyMs: 194 * 50 },
    }
    expect(computeBound(requested, stocks, fixed(50))).toBeCloseTo(50 + (194 * 50) / 15)
  })
})

describe('the latency', () => {
  it('is the same for the same request, and has the given mean', () => {
    const all = createBenchTimeline(5_000)(Date.parse(FIRST_RUN_AT)).stocks.map(({ ISIN }) =>
      computeLatency(logNormal(100), 'news', ISIN),
    )
    expect(all[7]).toBe(
      computeLatency(
        logNormal(100),
        'news',
        createBenchTimeline(8)(Date.parse(FIRST_RUN_AT)).stocks[7]?.ISIN ?? '',
      ),
    )
    expect(all.reduce((sum, ms) => sum + ms, 0) / all.length).toBeCloseTo(100, -1)
    expect(Math.max(...all)).toBeGreaterThan(300)
  })
})

describe('the checks', () => {
  const endpoints = { news: counts }

  it('pass a run with one request for every stock', () =>
    expect(findWrongRequests({ ...stats, endpoints }, 30)).toEqual([]))

  it.each([
    ['too few', { requests: 29 }, '29 requests of news instead of 30'],
    ['one twice', { duplicates: 1 }, '1 repeated requests of news'],
    ['too many at once', { maxInFlight: 16 }, '16 requests of news at once instead of 15'],
  ])('report requests: %s', (_, wrong, said) => {
    expect(findWrongRequests({ ...stats, endpoints: { news: { ...counts, ...wrong } } }, 30)).toEqual([said])
  })

  it('report a request that the provider does not know', () => {
    expect(findWrongRequests({ ...stats, endpoints, violations: ['news: asks about no stock'] }, 30)).toEqual(
      ['news: asks about no stock'],
    )
  })

  it('report a missing file', () => {
    const folders = { company_filings: 24, market_news: 26, ohlcv_data: 30, 'ohlcv_data/indices': 194 }
    const outputs = { files: 0, bytes: 0, hash: '', folders }
    expect(findWrongFiles(outputs, 30)).toEqual([])
    expect(findWrongFiles({ ...outputs, folders: { ...folders, ohlcv_data: 29 } }, 30)).toEqual([
      '29 files in ohlcv_data instead of 30',
    ])
  })

  it('report two different runs of one configuration', () => {
    const same = createSameRunCheck()
    const outputs = { files: 1, bytes: 1, folders: {}, hash: 'a' }
    same('50 ms', outputs, { ...stats, endpoints })
    same('50 ms', outputs, { ...stats, endpoints })
    same('100 ms', { ...outputs, hash: 'b' }, { ...stats, endpoints })
    expect(() => same('50 ms', { ...outputs, hash: 'b' }, { ...stats, endpoints })).toThrow('differ')
    expect(() => same('50 ms', outputs, { ...stats, endpoints: {} })).toThrow('differ')
  })
})

describe('the figures', () => {
  const figure: Figure = { name: 'wall', unit: 's', values: [3, 1, 2], goal: 2 }

  it('compare their median with a goal from below or above', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5])
    expect([
      isMet(figure),
      isMet({ ...figure, goal: 1.9 }),
      isMet({ ...figure, goal: 2.1, atLeast: true }),
    ]).toEqual([true, false, false])
  })

  it('are printed with those of before, if there are any', () => {
    expect(formatTable([figure])).toContain('| wall | 2 s | 1 – 3 | 3 | ≤ 2 s | met |')
    expect(formatTable([figure], [{ ...figure, values: [9] }])).toContain(
      '| wall | 9 s | 2 s | 1 – 3 | 3 | ≤ 2 s | met |',
    )
  })

  it('are marked if most others were measured on another machine', () => {
    const figures = [
      { ...figure, name: 'one', machine: 'small' },
      ...['two', 'three'].map((name) => ({ ...figure, name, machine: 'large' })),
    ]
    expect(formatTable(figures)).toMatch(/\| one¹ \|.*\n\| two \|.*\n\| three \|/)
    expect(formatMachines(figures)).toBe('Measured on large; rows with ¹ on small.')
  })

  it('replace earlier figures of the same name', () => {
    expect(mergeByKey(['a1', 'b1'], ['b2', 'c2'], (text) => text.charAt(0))).toEqual(['a1', 'b2', 'c2'])
  })
})

it('draws every point within its panel', () => {
  const point = (count: number, wallS: number): ScalePoint => {
    const rest = { runs: 1, boundS: 0.5, cpuS: 1, peakRssMb: count / 10, requests: 1, outputMb: 1 }
    return { stocks: count, latencyMs: 50, wallS, ...rest }
  }
  const circles = [...drawChart([point(100, 0.6), point(1_000, 70)]).matchAll(/cx="(.*?)" cy="(.*?)"/g)]
  expect(circles).toHaveLength(4)
  for (const [, x, y] of circles)
    expect([Number(x) >= 56, Number(x) <= 364, Number(y) >= 44, Number(y) <= 296]).not.toContain(false)
})

it('uses the next trading day for the next daily run', () => {
  expect(createBenchTimeline(0)(Date.parse(NEXT_RUN_AT)).tradingDays('2026-02-12', '2026-02-28')).toEqual([
    '2026-02-12',
    '2026-02-13',
  ])
})

it('parses the command line, and names what is wrong in it', () => {
  expect(parseOptions(['--only', 'full,cold', '--runs', '3', '--before'])).toMatchObject({
    only: ['full', 'cold'],
    runs: 3,
    write: 'before',
  })
  expect(parseOptions(['scale', '--stocks', '1,3'])).toMatchObject({
    command: 'scale',
    runs: 1,
    factors: [1, 3],
    latenciesMs: [5, 50, 200],
  })
  expect(parseOptions(['budget'])).toMatchObject({
    command: 'budget',
    runs: 3,
    against: undefined,
    trouble: { latencyMs: 0 },
  })
  expect(parseOptions(['turns', '--against', 'v1', '--latencies', '0'])).toMatchObject({
    against: 'v1',
    trouble: { latencyMs: 0 },
  })
  expect(() => parseOptions(['--runs', 'many'])).toThrow('many is not a number')
  expect(() => parseOptions(['scales'])).toThrow('unknown command: scales')
  expect(() => parseOptions(['--quick', '--write'])).toThrow('--quick cannot be combined with --write')
})
