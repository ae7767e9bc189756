import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addDays, addMonths } from '../../../src/model/trading-day.js'
import { collected, duckdb, folderWith, objectsOf } from '../support.js'

interface Day {
  readonly day: string
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
}

type Json = Readonly<Record<string, never>>

const readJson = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), 'utf8'))

/** The candles of a file, without SQL. */
const readDays = (file: string): readonly Day[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [time = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = line.split(',').map(Number)
      return {
        day: new Date((time + 19_800) * 1000).toISOString().slice(0, 10),
        open,
        high,
        low,
        close,
        volume,
      }
    })

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Columns of the screener for one stock, computed from the raw files alone. */
const compute = (out: string, { Symbol: symbol, ISIN }: { Symbol: string; ISIN: string }) => {
  const days = readDays(join(out, 'ohlcv_data', `${symbol}.csv`))
  const last = days.at(-1) as Day
  const ago = (sessions: number): Day | undefined => days.at(-1 - sessions)
  const tail = (sessions: number, end = days.length): readonly Day[] | null =>
    end >= sessions ? days.slice(end - sessions, end) : null
  const daysBefore = (days: number): string =>
    new Date(Date.parse(last.day) - days * 86_400_000).toISOString().slice(0, 10)
  const [, listed] =
    new RegExp(`^${symbol},.*?,(\\d\\d-\\w{3}-\\d{4}),`, 'm').exec(
      readFileSync(join(out, 'nse_equity_list.csv'), 'utf8'),
    ) ?? []
  const from = [
    daysBefore(364),
    ...(listed === undefined
      ? ['9999']
      : [addDays(new Date(`${listed} UTC`).toISOString().slice(0, 10), 10)]),
  ]
  const year = from.some((day) => (days[0] as Day).day <= day)
    ? days.filter(({ day }) => day >= daysBefore(364))
    : null
  const closeAgo = (months: number) => days.filter(({ day }) => day <= addMonths(last.day, -months)).at(-1)
  const [quarterAgo, yearAgo] = [closeAgo(3), closeAgo(12)]
  const before = tail(20, days.length - 1)
  const seven = tail(7)
  const deals = (readJson(out, 'bulk_block_deals.json') as Json[]).filter(
    ({ sym, date }) => sym === symbol && String(date).slice(0, 10) > '2026-02-05',
  )
  const { incomeStat_cq: quarters } =
    (readJson(out, 'fundamental_data.json') as Json[]).find((row) => row.ISIN === ISIN) ?? ({} as Json)
  const figures = (key: string): readonly number[] =>
    String(quarters?.[key] ?? '')
      .split('|')
      .map(Number)
  const [profit, , , , earlier] = figures('NET_PROFIT')
  const fall = (high: number): number => (last.close / high - 1) * 100
  const trueRanges = days.slice(-14).map(({ high, low }, index) => {
    const { close } = days[days.length - 15 + index] ?? { close: Number.NaN }
    return Math.max(high - low, Math.abs(high - close), Math.abs(low - close))
  })
  const atr = days.length > 14 ? mean(trueRanges) : null
  return {
    isin: ISIN,
    price_day: last.day,
    close_inr: last.close,
    change_pct: fall(ago(1)?.close ?? Number.NaN),
    return_3m_pct: quarterAgo ? fall(quarterAgo.close) : null,
    return_1y_pct: yearAgo ? fall(yearAgo.close) : null,
    from_high_52w_pct: year && fall(Math.max(...year.map(({ high }) => high))),
    from_high_all_pct: fall(Math.max(...days.map(({ high }) => high))),
    rvol: before && last.volume / mean(before.map(({ volume }) => volume)),
    sma_200_inr: tail(200) && mean((tail(200) ?? []).map(({ close }) => close)),
    adr_20_pct: tail(20) && 100 * (mean((tail(20) ?? []).map(({ high, low }) => high / low)) - 1),
    atr_14_inr: atr,
    nr7:
      seven &&
      Number(Math.min(...seven.slice(0, 6).map(({ high, low }) => high - low)) > last.high - last.low),
    breakout_20: before && Number(last.close > Math.max(...before.map(({ high }) => high))),
    net_profit_q0_cr: profit !== undefined && quarters !== undefined ? profit : null,
    net_profit_yoy_pct:
      quarters !== undefined && earlier !== undefined && earlier > 0
        ? ((profit as number) / earlier - 1) * 100
        : null,
    deals_7d: deals.length,
    deals_net_7d_cr:
      deals.reduce(
        (sum, { bs, qty, avgprice }) => sum + (bs === 'B' ? 1 : -1) * Number(qty) * Number(avgprice),
        0,
      ) / 1e7,
  }
}

describe.skipIf(!duckdb)('the screener', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(60, 300))
  })
  afterAll(() => remove())

  it('equals what a plain script computes from the files, for all stocks', async () => {
    const stocks = readJson(out, 'master_isin_map.json') as { Symbol: string; ISIN: string }[]
    const expected = stocks.map((stock) => compute(out, stock))
    const names = Object.keys(expected[0] ?? {})
    const rows = await objectsOf(`select ${names.join(', ')} from screener`, out)
    const byIsin = new Map(rows.map((row) => [row.isin, row]))
    expect(rows).toHaveLength(60)
    let compared = 0
    for (const row of expected) {
      for (const [name, value] of Object.entries(row)) {
        const actual = byIsin.get(row.isin)?.[name]
        compared += 1
        if (typeof value === 'number') expect(actual, `${row.isin} ${name}`).toBeCloseTo(value, 6)
        else expect(actual, `${row.isin} ${name}`).toBe(value)
      }
    }
    expect(compared).toBe(60 * names.length)
    // Of each column, some stocks have a value, and the history of some is too short for a year.
    for (const name of names)
      expect(
        expected.some((row) => row[name as keyof typeof row] !== null),
        name,
      ).toBe(true)
  })

  it('has stocks without candles, with NULL', async () => {
    const stock = { Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Sid: '1', FnoFlag: 0 }
    const few = folderWith({ 'master_isin_map.json': [stock] })
    expect(await objectsOf('select symbol, close_inr, sma_5_inr, nr7, deals_7d from screener', few)).toEqual([
      { symbol: 'A', close_inr: null, sma_5_inr: null, nr7: null, deals_7d: null },
    ])
    expect(readdirSync(few)).toEqual(['master_isin_map.json'])
  })

  it('has nothing of old candles, apart from the columns about the whole history', async () => {
    const { Symbol: symbol } = readJson(out, 'master_isin_map.json')[0]
    const sql = `from screener where symbol = '${symbol}'`
    const file = join(out, 'ohlcv_data', `${symbol}.csv`)
    const lines = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      lines.replace(/^\d+/gm, (time) => String(Number(time) - 500 * 86_400)),
    )
    const [old = {}] = await objectsOf(sql, out)
    rmSync(file)
    const [none = {}] = await objectsOf(sql, out)
    writeFileSync(file, lines)
    expect(Object.keys(old).filter((name) => old[name] !== none[name])).toEqual([
      'sessions',
      'first_day',
      'high_all_inr',
      'high_all_day',
      'low_all_inr',
    ])
  })

  it('has no RSI of candles that are all equal, and no range and no direction', async () => {
    const times = Array.from({ length: 40 }, (_, place) => Date.parse('2026-01-01') / 1000 + place * 86_400)
    const flat = folderWith({
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Sid: '1', FnoFlag: 0 }],
      'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${times.map((time) => `${time},9,9,9,9,1\n`).join('')}`,
    })
    expect(
      await objectsOf('select columns(c -> starts_with(c, $$wilder$$)), ema_20_inr from screener', flat),
    ).toEqual([
      {
        wilder_rsi_14: null,
        wilder_atr_14_inr: 0,
        wilder_atr_14_pct: 0,
        wilder_adx_14: 0,
        ema_20_inr: 9,
      },
    ])
  })
})

describe.skipIf(!duckdb)('returns since results', () => {
  const line = (day: string, close: number): string =>
    `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${close},${close},${close},${close},10`
  const report = { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} }
  // 7 and 8 February are a weekend.
  const candles = ['2026-02-05', '2026-02-06', '2026-02-09', '2026-02-10'].map((day, index) =>
    line(day, 100 + 10 * index),
  )

  it.each([
    ['during the session count from the close before', '2026-02-06 15:29:59', '2026-02-05', 10, 30],
    [
      'at the end of the session count from its close',
      '2026-02-06 15:30:00',
      '2026-02-06',
      (120 / 110 - 1) * 100,
      (130 / 110 - 1) * 100,
    ],
    [
      'on a weekend count from Friday',
      '2026-02-07 10:00:00',
      '2026-02-06',
      (120 / 110 - 1) * 100,
      (130 / 110 - 1) * 100,
    ],
    ['without a later session are NULL', '2026-02-10 16:00:00', '2026-02-10', null, null],
    ['long after the last session are NULL', '2026-02-28 16:00:00', null, null, null],
  ])('%s', async (_, filed, base, first, since) => {
    const filing = {
      news_date: filed,
      caption: 'x',
      descriptor: 'Financial Results',
      file_url: '',
      isin: 'INE009A01021',
    }
    const later = { ...filing, news_date: '2026-03-20 10:00:00', descriptor: 'Newspaper Publication' }
    const old = { ...filing, news_date: '2025-11-10 10:00:00' }
    const out = folderWith({
      '.scripstream/report.json': report,
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Sid: '1', FnoFlag: 0 }],
      'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${candles.join('\n')}\n`,
      'company_filings/A_filings.json': { code: 0, data: [later, filing, old] },
    })
    const [row] = await objectsOf(
      'select results_at, results_base_day, results_day_return_pct r, return_since_results_pct s from screener',
      out,
    )
    expect(row?.results_at).toBe(filed)
    expect(row?.results_base_day).toBe(base)
    for (const [actual, value] of [
      [row?.r, first],
      [row?.s, since],
    ])
      if (value === null) expect(actual).toBeNull()
      else expect(actual).toBeCloseTo(value as number, 9)
  })
})
