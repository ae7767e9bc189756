import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groupBy } from '../../../src/model/map.js'
import { readMarket } from '../../../src/show/market.js'
import { readWholeList } from '../../../src/show/whole-lists.js'
import { openFolder } from '../../show/support.js'
import { collected, duckdb, objectsOf } from '../support.js'

interface Candle {
  readonly day: string
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
}

type Json = Readonly<Record<string, unknown>>

/** The candles of a file, without SQL. */
const readCandles = (file: string): readonly Candle[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [time = 0, , high = 0, low = 0, close = 0, volume = 0] = line.split(',').map(Number)
      return { day: new Date((time + 19_800) * 1000).toISOString().slice(0, 10), high, low, close, volume }
    })

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The values of an average that starts as the plain one of the first values, and then moves by a part of each
 * difference.
 */
const smooth = (values: readonly number[], sessions: number, part: number): readonly number[] => {
  if (values.length < sessions) return []
  const all = [mean(values.slice(0, sessions))]
  for (const value of values.slice(sessions))
    all.push((all.at(-1) as number) + ((value - (all.at(-1) as number)) as number) * part)
  return all
}

const last = (values: readonly number[]): number | null => values.at(-1) ?? null

/** The indicators as their authors write them, step by step. */
const computeIndicators = (candles: readonly Candle[]) => {
  const pairs = candles.slice(1).map((now, index) => [now, candles[index] as Candle] as const)
  const wilder = (values: readonly number[]) => smooth(values, 14, 1 / 14)
  const ema = (sessions: number) =>
    last(
      smooth(
        candles.map(({ close }) => close),
        sessions,
        2 / (sessions + 1),
      ),
    )
  const gain = last(wilder(pairs.map(([now, before]) => Math.max(0, now.close - before.close))))
  const loss = last(wilder(pairs.map(([now, before]) => Math.max(0, before.close - now.close))))
  const ranges = wilder(
    pairs.map(([{ high, low }, { close }]) =>
      Math.max(high - low, Math.abs(high - close), Math.abs(low - close)),
    ),
  )
  const moves = pairs.map(([now, before]) => [now.high - before.high, before.low - now.low] as const)
  const plus = wilder(moves.map(([up, down]) => (up > down && up > 0 ? up : 0)))
  const minus = wilder(moves.map(([up, down]) => (down > up && down > 0 ? down : 0)))
  const index = plus.map((value, place) => {
    const [up, down] = [value, minus[place] as number].map(
      (one) => (100 * one) / (ranges[place] as number),
    ) as [number, number]
    return up + down === 0 ? 0 : (100 * Math.abs(up - down)) / (up + down)
  })
  return {
    wilder_rsi_14: gain === null || loss === null || gain + loss === 0 ? null : 100 - 100 / (1 + gain / loss),
    wilder_atr_14_inr: last(ranges),
    wilder_adx_14: last(wilder(index)),
    ema_20_inr: ema(20),
    ema_50_inr: ema(50),
    ema_200_inr: ema(200),
  }
}

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

/** What a stock adds to the breadth of its newest session. */
const computeBreadth = (candles: readonly Candle[], listedOn: string | undefined) => {
  const now = candles.at(-1) as Candle
  const before = candles.at(-2)
  const recent = candles.filter(({ day }) => day > addDays(now.day, -420))
  const weeks52 = candles.slice(0, -1).filter(({ day }) => day >= addDays(now.day, -364))
  const first = (recent[0] as Candle).day
  const isWhole = first <= addDays(now.day, -364) || first <= addDays(listedOn ?? first, 10)
  const isKnown = isWhole && weeks52.length > 0
  const isAbove = (sessions: number): boolean | undefined =>
    recent.length < sessions
      ? undefined
      : now.close - mean(recent.slice(-sessions).map(({ close }) => close)) > 1e-9 * now.close
  return {
    day: now.day,
    change: before && 100 * (now.close / before.close - 1),
    above: [20, 50, 200].map(isAbove),
    isHigh: isKnown && weeks52.every(({ high }) => high < now.high),
    isLow: isKnown && weeks52.every(({ low }) => low > now.low),
    turnover: (now.close * now.volume) / 1e7,
  }
}

const middle = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other)
  return mean([sorted[(sorted.length - 1) >> 1] as number, sorted[sorted.length >> 1] as number])
}

const summarize = (all: readonly ReturnType<typeof computeBreadth>[]) => {
  const changes = all.flatMap(({ change }) => change ?? [])
  const share = (place: number): number | null => {
    const known = all.flatMap(({ above }) => above[place] ?? [])
    return known.length === 0 ? null : (100 * known.filter(Boolean).length) / known.length
  }
  return {
    stocks: all.length,
    advances: changes.filter((change) => change > 0).length,
    declines: changes.filter((change) => change < 0).length,
    unchanged: changes.filter((change) => change === 0).length,
    median_change_pct: middle(changes),
    above_sma20_pct: share(0),
    above_sma50_pct: share(1),
    above_sma200_pct: share(2),
    new_highs: all.filter(({ isHigh }) => isHigh).length,
    new_lows: all.filter(({ isLow }) => isLow).length,
    turnover_cr: all.reduce((sum, { turnover }) => sum + turnover, 0),
  }
}

/** The values of a figure table by item and year. */
const unpack = (
  table: unknown,
): readonly (readonly [month: string | undefined, item: string, value: number])[] => {
  if (table === null || typeof table !== 'object') return []
  const { YEAR: months = '', ...items } = table as Readonly<Record<string, string>>
  return Object.entries(items).flatMap(([item, text]) =>
    // The provider fills some records up with an item without values.
    text === ''
      ? []
      : text
          .split('|')
          .map(
            (value, place) =>
              [months.split('|')[place] || undefined, item.toLowerCase(), Number(value)] as const,
          ),
  )
}

/** Every seventh stock did not trade for some sessions, and every ninth misses every other one. */
const leaveOutSessions = (out: string): void => {
  const symbols = JSON.parse(readFileSync(join(out, 'master_isin_map.json'), 'utf8')) as readonly Json[]
  for (const [place, { Symbol: symbol }] of symbols.entries()) {
    const file = join(out, 'ohlcv_data', `${symbol}.csv`)
    if (!existsSync(file)) continue
    const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\n')
    const kept =
      place % 7 === 3
        ? lines.slice(0, -(place % 5) - 1)
        : place % 9 === 5
          ? lines.filter((_, index) => (lines.length - index) % 2 === 1)
          : lines
    writeFileSync(file, `${[head, ...kept].join('\n')}\n`)
  }
}

const nameDay = (month: string | undefined): string | null =>
  month === undefined
    ? null
    : new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(4)), 0)).toISOString().slice(0, 10)

const captured = process.env.SCRIPSTREAM_CAPTURED

describe.skipIf(!duckdb)('a plain script, from the files alone, computes the same', () => {
  let [out, remove] = ['', (): void => undefined]
  let [stocks, candles]: [readonly Json[], ReadonlyMap<unknown, readonly Candle[]>] = [[], new Map()]
  beforeAll(async () => {
    if (captured === undefined) {
      ;({ out, remove } = await collected(60, 300))
      leaveOutSessions(out)
    } else out = captured
    stocks = readJson('master_isin_map.json')
    // Where the views adjust prices, the script starts from theirs: another test compares these.
    const adjusted = await objectsOf('select distinct symbol from candles_adjusted where factor <> 1', out)
    const changed = new Set(adjusted.map(({ symbol }) => symbol))
    candles = new Map(
      stocks.flatMap(({ Symbol: symbol }) => {
        try {
          return changed.has(symbol) ? [] : [[symbol, readCandles(join(out, 'ohlcv_data', `${symbol}.csv`))]]
        } catch {
          return []
        }
      }),
    )
    expect(candles.size).toBeGreaterThan(stocks.length / 2)
  })
  afterAll(() => remove())

  const readJson = (file: string): readonly Json[] => JSON.parse(readFileSync(join(out, file), 'utf8'))

  /** Numbers to nine digits. */
  const round = (value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(9)) : (value ?? null)

  it('indicators of all stocks', async () => {
    const rows = new Map((await objectsOf('from screener', out)).map((row) => [row.symbol, row]))
    const seen = new Set<string>()
    for (const [symbol, own] of candles) {
      for (const [name, value] of Object.entries(computeIndicators(own))) {
        expect(round(rows.get(symbol)?.[name]), `${symbol} ${name}`).toBe(round(value))
        if (value !== null) seen.add(name)
      }
    }
    expect(seen.size).toBe(6)
  })

  it('the breadth of the newest session: of the market, of its sectors, on the page and in lists', async () => {
    const screener = await objectsOf('from screener', out)
    const adjusted = groupBy(
      await objectsOf(
        'select symbol, day, high, low, close, volume from candles_adjusted where symbol in (select symbol from candles_adjusted where factor <> 1) order by day',
        out,
      ),
      ({ symbol }) => String(symbol),
    )
    const listings = new Map(
      readFileSync(join(out, 'nse_equity_list.csv'), 'utf8')
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(','))
        .map(([symbol = '', , , day = '']) => [symbol, addDays(`${day} UTC`, 0)] as const),
    )
    const all = screener.flatMap(({ symbol, sector }) => {
      const own =
        candles.get(symbol) ?? (adjusted.get(String(symbol)) as unknown as readonly Candle[] | undefined)
      return own === undefined || own.length === 0
        ? []
        : [{ symbol, sector, ...computeBreadth(own, listings.get(String(symbol))) }]
    })
    const days = [...groupBy([...candles.values()].flat(), ({ day }) => day)]
    const most = Math.max(...days.map(([, { length }]) => length))
    const session = days
      .flatMap(([day, { length }]) => (2 * length >= most ? day : []))
      .sort()
      .at(-1)
    const traded = all.filter(({ day }) => day === session)
    expect(traded.length).toBeLessThan(all.length)
    const rows = await objectsOf(
      `from breadth where day = (select max(day) from breadth where level = 'market')`,
      out,
    )
    const pick = (row: Json | undefined, like: Json) =>
      Object.fromEntries(Object.keys(like).map((key) => [key, round(row?.[key])]))
    const check = (row: Json | undefined, of: Parameters<typeof summarize>[0], name: string): void => {
      const expected = summarize(of)
      expect(pick(row, expected), name).toEqual(pick(expected, expected))
    }
    const market = rows.find(({ level }) => level === 'market')
    check(market, traded, 'market')
    const sectors = groupBy(traded, ({ sector }) => String(sector ?? 'no sector'))
    expect(rows.filter(({ level }) => level === 'sector')).toHaveLength(sectors.size)
    for (const [sector, of] of sectors)
      check(
        rows.find(({ level, name }) => level === 'sector' && name === sector),
        of,
        String(sector),
      )
    for (const figure of ['stocks', 'advances', 'declines', 'unchanged', 'new_highs', 'new_lows'])
      expect(
        rows.reduce((sum, row) => sum + (row.level === 'sector' ? Number(row[figure]) : 0), 0),
        figure,
      ).toBe(market?.[figure])

    const folder = openFolder(out)
    const { breadth } = await readMarket(folder)
    expect([breadth.about.day, breadth.listed, breadth.traded]).toEqual([
      session,
      screener.length,
      traded.length,
    ])
    const shown = {
      advances: breadth.advances,
      declines: breadth.declines,
      unchanged: breadth.unchanged,
      new_highs: breadth.newHighs,
      new_lows: breadth.newLows,
      above_sma50_pct: breadth.above50Pct,
      above_sma200_pct: breadth.above200Pct,
      median_change_pct: breadth.medianChangePct,
      turnover_cr: breadth.turnoverCr,
    }
    expect(pick(shown, shown)).toEqual(pick(market, shown))
    const list = await readWholeList(folder, 'sectors')
    const listed = list?.rows.map((cells) =>
      Object.fromEntries(list.columns.map(({ name }, place) => [name, cells[place]])),
    )
    expect(listed).toHaveLength(sectors.size)
    for (const row of listed ?? []) {
      const like = rows.find(({ level, name }) => level === 'sector' && name === (row.sector ?? 'no sector'))
      const numbers = Object.fromEntries(
        Object.entries(row).map(([name, text]) => [name, text && Number(text)]),
      )
      const figures = summarize([])
      expect(pick(numbers, figures), String(row.sector)).toEqual(pick(like, figures))
    }
  })

  it('returns after all deals', async () => {
    const rows = await objectsOf('select * from deals_returns order by all', out)
    const deals = readJson('bulk_block_deals.json')
    expect(rows).toHaveLength(deals.length)
    const [isKnown, isAhead] = [new Set<number>(), new Set<number>()]
    for (const row of rows) {
      const own = candles.get(row.symbol)
      if (own === undefined) continue
      const base = own.findLastIndex(({ day }) => day <= String(row.day))
      for (const sessions of [1, 5, 20, 60]) {
        const [from, to] = [own[base]?.close, own[base + sessions]?.close]
        const value = from === undefined || to === undefined ? null : (to / from - 1) * 100
        expect(row[`return_${sessions}d_pct`] ?? null, `${row.symbol} ${row.day} ${sessions}`).toEqual(
          value === null ? null : expect.closeTo(value, 6),
        )
        ;(value === null ? isAhead : isKnown).add(sessions)
      }
    }
    expect([isKnown.has(1), isAhead.has(60)]).toEqual([true, true])
  })

  it.each([
    ['years', 'incomeStat_cy', 'incomeStat_sy'],
    ['balance_sheet', 'bs_c', 'bs_s'],
  ] as const)('all rows of %s', async (table, consolidated, standalone) => {
    const expected = readJson('fundamental_data.json').flatMap((record) =>
      [consolidated, standalone].flatMap((field) =>
        unpack(record[field]).map(([month, item, value]) =>
          [
            record.Symbol,
            nameDay(month),
            field === consolidated ? 'consolidated' : 'standalone',
            item,
            value,
          ].join(),
        ),
      ),
    )
    const rows = await objectsOf(`select symbol, day, basis, item, value from ${table}`, out)
    expect(rows.map((row) => Object.values(row).join()).sort()).toEqual(expected.sort())
    expect(rows.length).toBeGreaterThan(100)
  })
})
