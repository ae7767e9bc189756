import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { RunReport } from '../../../src/model/report.js'
import { createBrief } from '../../../src/show/brief.js'
import { readRunFacts } from '../../../src/show/freshness.js'
import { openMarketFolder } from '../../../src/show/index.js'
import { streams } from '../../../streams/registry.js'
import { duckdb, folderWith, objectsOf, rowsOf } from '../support.js'

const STOCKS = ['A', 'B', 'C', 'D', 'E'] as const
const FRIDAY = ['2026-01-28', '2026-01-29', '2026-01-30']
const SUNDAY = '2026-02-01'

const candlesOf = (days: readonly string[]): string =>
  [
    'Timestamp,Open,High,Low,Close,Volume',
    ...days.map((day) => `${Date.parse(`${day}T00:00:00+05:30`) / 1_000},10,11,9,10,100`),
    '',
  ].join('\n')

/** A folder whose last run was on a day, with the days of candles of each stock. */
const folderOf = (runDay: string, days: readonly (readonly string[])[]): string =>
  folderWith({
    '.scripstream/report.json': { run: 'a', asOf: `${runDay}T14:30:00.000Z`, scripts: {} },
    'master_isin_map.json': STOCKS.map((name, place) => ({
      Symbol: name,
      ISIN: `INE00${place}A01018`,
      Name: name,
      Sid: `${place}`,
      FnoFlag: 0,
    })),
    ...Object.fromEntries(
      STOCKS.map((name, place) => [`ohlcv_data/${name}.csv`, candlesOf(days[place] ?? [])]),
    ),
  })

const all = (days: readonly string[]): readonly (readonly string[])[] => STOCKS.map(() => days)
const REPORT = { run: 'a', outcome: 'complete', durationMs: 1, stocks: 5, scripts: {} }

const WEEKENDS = [
  { what: 'a Sunday with a session is that day', run: SUNDAY, days: all([...FRIDAY, SUNDAY]), day: SUNDAY },
  { what: 'a Sunday without one is the Friday', run: SUNDAY, days: all(FRIDAY), day: '2026-01-30' },
  {
    what: 'a Sunday after a session of Saturday is the Saturday',
    run: SUNDAY,
    days: all([...FRIDAY, '2026-01-31']),
    day: '2026-01-31',
  },
  {
    what: 'a Sunday on which two of five stocks have a candle is the Friday',
    run: SUNDAY,
    days: STOCKS.map((_, place) => (place < 2 ? [...FRIDAY, SUNDAY] : FRIDAY)),
    day: '2026-01-30',
  },
  {
    // gerrymanoim/exchange_calendars#471: a session on Saturday for a holiday on Monday that no list names.
    what: 'a Monday without a session after one on Saturday stays',
    run: '2026-02-02',
    days: all([...FRIDAY, '2026-01-31']),
    day: '2026-02-02',
  },
  { what: 'a Monday stays', run: '2026-02-02', days: all(FRIDAY), day: '2026-02-02' },
] as const

describe.skipIf(!duckdb)('the day of a run', () => {
  it.each(WEEKENDS)('on $what, in views and on the page', async ({ run, days, day }) => {
    const out = folderOf(run, days)
    expect(await rowsOf('select distinct day from screener', out)).toEqual([[day]])
    const folder = openMarketFolder({ root: out, exchange: 'NSE', streams })
    expect((await readRunFacts(folder)).toMarketDay(run)).toBe(day)
  })

  it('that is a session of a weekend ends the windows of deals, and is the newest session of the brief', async () => {
    const out = folderOf(SUNDAY, all([...FRIDAY, SUNDAY]))
    const deal = { sym: 'A', exch: 'NSE', deal: 'BULK', bs: 'B', cname: 'X', qty: 1_000_000, avgprice: 150 }
    writeFileSync(
      `${out}/bulk_block_deals.json`,
      JSON.stringify(['2026-01-26', SUNDAY].map((date) => ({ ...deal, date: `${date} 00:00:00` }))),
    )
    expect(
      await objectsOf(
        "select day, price_day, deals_7d, deals_net_7d_cr from screener where symbol = 'A'",
        out,
      ),
    ).toEqual([{ day: SUNDAY, price_day: SUNDAY, deals_7d: 2, deals_net_7d_cr: 30 }])
    const { newestSession } = await createBrief(out, {
      report: { ...REPORT, asOf: `${SUNDAY}T14:30:00.000Z` } as unknown as RunReport,
      runs: [],
      streams,
      failedRules: [],
      exchange: 'NSE',
      watchlist: {},
      findings: undefined,
      newestSession: '2026-01-30',
      isSimulated: false,
      unchecked: [],
    })
    expect(newestSession).toBe(SUNDAY)
  })
})

describe.skipIf(!duckdb)('sessions', () => {
  it('tells a day on which some stocks traded from a holiday and from a session', async () => {
    // Wednesday to Friday; Saturday of one stock, Sunday of all; nobody on Monday, two on Tuesday, all then.
    const days = STOCKS.map((_, place) => [
      ...FRIDAY,
      ...(place === 0 ? ['2026-01-31'] : []),
      SUNDAY,
      ...(place < 2 ? ['2026-02-03'] : []),
      '2026-02-04',
    ])
    const out = folderOf('2026-02-04', days)
    const rows = await rowsOf(
      "select day, kind, stocks from sessions where day >= '2026-01-30' order by day",
      out,
    )
    expect(rows).toEqual([
      ['2026-01-30', 'open', '5'],
      ['2026-01-31', 'partial', '1'],
      ['2026-02-01', 'special', '5'],
      ['2026-02-02', 'holiday', '0'],
      ['2026-02-03', 'partial', '2'],
      ['2026-02-04', 'open', '5'],
    ])
  })

  it('does not call the newest day a session while few stocks have its candle', async () => {
    const out = folderOf(SUNDAY, [[...FRIDAY, SUNDAY], ...all(FRIDAY).slice(1)])
    expect(await rowsOf('select day, kind from sessions order by day desc limit 2', out)).toEqual([
      [SUNDAY, 'partial'],
      ['2026-01-30', 'open'],
    ])
  })
})
