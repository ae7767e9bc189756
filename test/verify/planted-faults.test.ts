import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../src/model/row.js'
import { checkNames, type Finding } from '../../src/verify/finding.js'
import { temporaryFolder } from '../support/folders.js'
import { copyOf, type OutputFolder, outputFolder, runInto, verified } from './support.js'

type Candles = readonly (readonly number[])[]

const clean = temporaryFolder()

const DAY_S = 86_400
const [DEALS, MASTER, RESULTS, ACTIONS] = [
  'bulk_block_deals.json',
  'master_data_response.json',
  'fundamental_data.json',
  'history_corporate_actions.json',
]

const symbolsOf = (folder: OutputFolder): readonly string[] =>
  folder.rows('master_isin_map.json').map(({ Symbol: symbol }) => String(symbol))
const indicesOf = (folder: OutputFolder): readonly string[] =>
  folder
    .rows('all_indices_list.json')
    .flatMap(({ Sym }) =>
      existsSync(join(folder.path, `ohlcv_data/indices/${Sym}.csv`)) ? `indices/${Sym}` : [],
    )
const isoDay = (time: number): string => new Date((time + 19_800) * 1_000).toISOString().slice(0, 10)
const round = (value: number): number => Math.round(value * 100) / 100
const scaled = (candle: readonly number[], by: number): number[] =>
  candle.map((value, column) => (column > 0 && column < 5 ? value * by : value))
const at = (all: Candles, index: number): readonly number[] => all.at(index) as readonly number[]

/**
 * A market: in the newest 300 sessions, all stocks and indices move together, by up to 5 % a session, besides
 * what each does alone.
 */
const moveTogether = (folder: OutputFolder, names: readonly string[]): void => {
  for (const name of names) {
    const all = folder.candles(name)
    const level = ([time = 0]: readonly number[]): number => 0.95 + 0.05 * random(Math.floor(time / DAY_S))
    folder.putCandles(
      name,
      all.map((candle, index) =>
        index < all.length - 300 ? candle : scaled(candle, level(candle)).map(round),
      ),
    )
  }
}

/** The same of a seed, from 0 to 1. */
const random = (seed: number): number => (Math.imul(seed, 2_654_435_761) >>> 0) / 2 ** 32

/**
 * Lists that say of each stock and index what its candles and results say: those of the simulator are drawn
 * by chance.
 */
const makeConsistent = (folder: OutputFolder): void => {
  const symbols = symbolsOf(folder)
  const candles = new Map(symbols.map((symbol) => [symbol, folder.candles(symbol)]))
  const closeOf = (symbol: string, index: number): number =>
    Number(at(candles.get(symbol) as Candles, index)[4])
  folder.putRows(
    DEALS,
    symbols.flatMap((sym) =>
      (candles.get(sym) as Candles).slice(-8, -2).map(([time = 0, , high = 0, low = 0]) => ({
        date: `${isoDay(time)} 00:00:00`,
        exch: 'NSE',
        sym,
        deal: 'BULK',
        bs: 'B',
        cname: 'FUND 1',
        qty: 1_000,
        avgprice: round((high + low) / 2),
      })),
    ),
  )
  const results = new Map(
    folder.rows(RESULTS).map((row) => [row.Symbol, (row.incomeStat_cq as Row | undefined)?.NET_PROFIT]),
  )
  folder.putRows(
    MASTER,
    folder.rows(MASTER).map((row) => {
      const own = candles.get(String(row.Sym)) as Candles
      const [time = 0, , , , close = 0, volume] = at(own, -1)
      const before = own.findLast(([then = 0]) => then <= time - 365 * DAY_S)
      const [now = 0, , , , year = 0] = String(results.get(row.Sym)).split('|').map(Number)
      const growth = year === 0 || Number.isNaN(now) ? null : ((now - year) / Math.abs(year)) * 100
      const change = before === undefined ? null : (close / Number(before[4]) - 1) * 100
      return { ...row, volume, PricePerchng1year: change, YoYLastQtrlyProfitGrowth: growth }
    }),
  )
  folder.putRows(
    'advanced_indicator_data.json',
    folder.rows('advanced_indicator_data.json').map((row) => {
      const own = (candles.get(String(row.Symbol)) as Candles).slice(-5)
      return {
        ...row,
        SMA: [
          {
            Indicator: '5-SMA',
            Value: round(own.reduce((sum, candle) => sum + Number(candle[4]), 0) / 5),
            Action: '',
          },
        ],
      }
    }),
  )
  folder.putRows(
    'upper_circuit_stocks.json',
    symbols.slice(0, 4).map((symbol) => ({
      Symbol: symbol,
      LTP: closeOf(symbol, -1),
      ChangePercent: (closeOf(symbol, -1) / closeOf(symbol, -2) - 1) * 100,
    })),
  )
  folder.putRows('lower_circuit_stocks.json', [])
  folder.putRows(
    'complete_price_bands.json',
    symbols.map((symbol, rank) => ({ Symbol: symbol, Series: 'EQ', Band: rank === 0 ? 'No Band' : '20' })),
  )
  folder.putRows('incremental_price_bands.json', [])
  folder.putRows(
    'all_indices_list.json',
    folder.rows('all_indices_list.json').map((row) => {
      try {
        const own = folder.candles(`indices/${row.Sym}`)
        const [before, now] = [Number(at(own, -2)[4]), Number(at(own, -1)[4])]
        return { ...row, Ltp: now, Pchange: now - before }
      } catch {
        return row
      }
    }),
  )
  folder.forget()
}

/** Stocks of the folder by what they are good for. */
const stocks = { free: '', dear: '', old: '', other: '', b: '', c: '', index: '' }

beforeAll(async () => {
  await runInto(clean, { stocks: 16 })
  const folder = outputFolder(clean)
  moveTogether(folder, [...symbolsOf(folder), ...indicesOf(folder)])
  makeConsistent(folder)
  const all = symbolsOf(folder)
  const trades = (symbol: string): boolean =>
    folder
      .candles(symbol)
      .slice(-10)
      .every(([, , , , close = 0, volume = 0]) => close * volume > 200_000)
  const usual = all.slice(5).filter((symbol) => folder.candles(symbol).length > 1_500 && trades(symbol))
  const [b = '', c = '', other = '', old = ''] = usual
  const dear =
    all.slice(1).find(
      (symbol) =>
        trades(symbol) &&
        folder
          .candles(symbol)
          .slice(-30)
          .every(([, , , , close = 0]) => close > 120),
    ) ?? ''
  const index = indicesOf(folder).find((name) => folder.candles(name).length > 300)
  Object.assign(stocks, { free: all[0], dear, old, other, b, c, index })
})

interface Fault {
  readonly fault: string
  readonly check: Finding['check']
  readonly detail?: RegExp
  /** Whether it has one finding: no other check takes the stock for one without candles, for example. */
  readonly isAlone?: true
  /** Plants it; the stocks or files that a finding may name. */
  readonly plant: (folder: OutputFolder) => readonly string[]
}

type Name = keyof typeof stocks

const inCandles =
  (name: Name, to: (all: Candles) => Candles) =>
  (folder: OutputFolder): readonly string[] => {
    folder.putCandles(stocks[name], to(folder.candles(stocks[name])))
    return [stocks[name].replace('indices/', '')]
  }

const inRows =
  (file: string, to: (rows: readonly Row[]) => readonly Row[], ...named: readonly Name[]) =>
  (folder: OutputFolder): readonly string[] => {
    folder.putRows(file, to(folder.rows(file)))
    return [file, ...named.map((name) => stocks[name])]
  }

const swapped =
  (one: Name, other: Name) =>
  (folder: OutputFolder): readonly string[] => {
    const [first, second] = [folder.candles(stocks[one]), folder.candles(stocks[other])]
    folder.putCandles(stocks[one], second)
    folder.putCandles(stocks[other], first)
    return [stocks[one], stocks[other]]
  }

const openAt = (
  [time = 0, , high = 0, low = 0, ...rest]: readonly number[],
  open: number,
): readonly number[] => [time, open, Math.max(high, open), Math.min(low, open), ...rest]

/** Candles before an ex-date as they were, times a factor that they should have been divided by. */
const unadjusted =
  (name: Name, note: string, by: number) =>
  (folder: OutputFolder): readonly string[] => {
    const all = folder.candles(stocks[name])
    const from = all.length - 100
    folder.putCandles(
      stocks[name],
      all.map((candle, index) =>
        index < from
          ? scaled(candle, by)
          : index === from
            ? openAt(candle, Number(all[from - 1]?.[4]))
            : candle,
      ),
    )
    const action = { ActType: 'BONUS', ExDate: isoDay(Number(all[from]?.[0])), Note: note }
    folder.putRows(ACTIONS, [...folder.rows(ACTIONS), { Sym: stocks[name], CorpAct: [action] }])
    return [stocks[name]]
  }

const shift = (days: number) => (all: Candles) =>
  all.map(([time = 0, ...rest]) => [time + days * DAY_S, ...rest])
/** Each candle has the values of the session before. */
const late = (all: Candles): Candles =>
  all.slice(1).map(([time = 0], index) => [time, ...at(all, index).slice(1)])
const lateBut = (count: number) => (all: Candles) => [...late(all.slice(0, -count)), ...all.slice(-count)]
const earlyBut = (count: number) => (all: Candles) => {
  const start = all.length - count
  return all.map((candle, index) =>
    index < start - 1 ? [Number(candle[0]), ...at(all, index + 1).slice(1)] : candle,
  )
}
const times = (by: number) => (all: Candles) => all.map((candle) => scaled(candle, by))
/** The candles from a place on, counted from the end, with the closes and volumes of the first of them. */
const still = (from: number, count: number, columns: readonly number[]) => (all: Candles) => {
  const start = all.length - from
  return all.map((candle, index) =>
    index > start && index < start + count
      ? candle.map((value, column) => (columns.includes(column) ? Number(all[start]?.[column]) : value))
      : candle,
  )
}
const copied = (from: number, count: number) => (all: Candles) => {
  const start = all.length - from
  return all.map((candle, index) =>
    index >= start && index < start + count
      ? [Number(candle[0]), ...at(all, index - count).slice(1)]
      : candle,
  )
}
/** High and low follow a close that was moved. */
const moved = (index: number, by: number) => (all: Candles) => all.with(index, scaled(at(all, index), by))
const half = (all: Candles): Candles => all.slice(all.length / 2)

const faults: readonly Fault[] = [
  {
    fault: 'candles that stand still for 5 sessions',
    check: 'repeated-candles',
    plant: inCandles('b', still(200, 5, [1, 2, 3, 4, 5])),
  },
  {
    fault: 'the newest candle, 5 times',
    check: 'repeated-candles',
    plant: inCandles('c', still(5, 5, [1, 2, 3, 4, 5])),
  },
  {
    fault: 'one close and volume for 6 sessions',
    check: 'repeated-candles',
    plant: inCandles('old', still(90, 6, [2, 3, 4, 5])),
  },
  {
    fault: 'one price for 5 sessions',
    check: 'repeated-candles',
    plant: inCandles('dear', still(5, 5, [1, 2, 3, 4])),
  },
  { fault: 'last week, repeated', check: 'repeated-candles', plant: inCandles('b', copied(5, 5)) },
  {
    fault: 'a week of years ago, repeated',
    check: 'repeated-candles',
    plant: inCandles('c', copied(1_000, 5)),
  },
  { fault: 'four sessions, repeated', check: 'repeated-candles', plant: inCandles('old', copied(4, 4)) },
  {
    fault: 'an index times 1.5',
    check: 'recorded-values',
    detail: /^its candles do not fit the list of indices, at a factor of 1.5$/,
    plant: inCandles('index', times(1.5)),
  },
  { fault: 'an index divided by 10', check: 'recorded-values', plant: inCandles('index', times(0.1)) },
  { fault: 'an index a session late', check: 'recorded-values', plant: inCandles('index', late) },
  { fault: 'an index a day late', check: 'shifted-series', plant: inCandles('index', shift(1)) },
  { fault: 'half a history', check: 'short-histories', plant: inCandles('old', half) },
  {
    fault: 'all of a history but its last year',
    check: 'short-histories',
    plant: inCandles('b', (all) => all.slice(-250)),
  },
  {
    fault: 'a series a day late',
    check: 'shifted-series',
    detail: /^its candles are one day late: /,
    isAlone: true,
    plant: inCandles('b', shift(1)),
  },
  {
    fault: 'a series a day early',
    check: 'shifted-series',
    detail: /^its candles are one day early: /,
    isAlone: true,
    plant: inCandles('c', shift(-1)),
  },
  { fault: 'values a session late', check: 'recorded-values', plant: inCandles('old', late) },
  {
    fault: 'values a session late but for the newest 30',
    check: 'shifted-series',
    detail:
      /^its candles have the values of the session before: it moves one session later than the market$/m,
    plant: inCandles('b', lateBut(30)),
  },
  {
    fault: 'values a session early but for the newest 30',
    check: 'shifted-series',
    detail: /^its candles have the values of the session after: /m,
    plant: inCandles('c', earlyBut(30)),
  },
  {
    fault: 'values a session late but for the newest 30 of all stocks',
    check: 'shifted-series',
    detail: /^6 of 6 indices have the values of another session than the median stock: /,
    plant: (folder) => {
      for (const symbol of symbolsOf(folder)) folder.putCandles(symbol, lateBut(30)(folder.candles(symbol)))
      return ['']
    },
  },
  { fault: 'one close 25 % higher', check: 'large-moves', plant: inCandles('b', moved(-60, 1.25)) },
  {
    fault: 'one close 25 % higher of a stock without band',
    check: 'large-moves',
    plant: inCandles('free', moved(-60, 1.25)),
  },
  { fault: 'the newest close 25 % lower', check: 'large-moves', plant: inCandles('c', moved(-1, 0.75)) },
  {
    fault: 'all closes since a day 25 % higher',
    check: 'large-moves',
    plant: inCandles('old', (all) =>
      all.map((candle, index) => (index < all.length - 80 ? candle : scaled(candle, 1.25))),
    ),
  },
  {
    fault: 'a series times 10',
    check: 'recorded-values',
    detail: /the deals, at a factor of (?:10|9\.\d+); .*the indicators, at a factor of 10$/,
    plant: inCandles('b', times(10)),
  },
  { fault: 'a series divided by 10', check: 'recorded-values', plant: inCandles('c', times(0.1)) },
  { fault: 'a series 25 % higher', check: 'recorded-values', plant: inCandles('old', times(1.25)) },
  {
    fault: 'two stocks swapped',
    check: 'recorded-values',
    detail: / and those of .+ its own: they are swapped/,
    plant: swapped('b', 'c'),
  },
  {
    fault: 'two others swapped',
    check: 'recorded-values',
    detail: / and those of .+ its own: they are swapped/,
    plant: swapped('old', 'other'),
  },
  {
    fault: 'a bonus of 1:5 without adjustment',
    check: 'unadjusted-actions',
    detail: / with the bonus of /,
    plant: unadjusted('b', '1:5', 1.2),
  },
  {
    fault: 'a bonus of 1:5, adjusted as 5:1',
    check: 'large-moves',
    plant: unadjusted('other', '1:5', 1 / 6),
  },
  {
    fault: 'a band of 0.5 %',
    check: 'price-bands',
    detail: /^its band is "0.5"; known are 2, 5, /m,
    plant: inRows(
      'complete_price_bands.json',
      (rows) => rows.map((row) => (row.Symbol === stocks.b ? { ...row, Band: '0.5' } : row)),
      'b',
    ),
  },
  {
    fault: 'results of two stocks swapped',
    check: 'recorded-values',
    detail: /^its results fit .+ they are swapped$/m,
    plant: inRows(
      RESULTS,
      (rows) => {
        const of = (symbol: unknown): unknown => rows.find((row) => row.Symbol === symbol)?.incomeStat_cq
        const swap = new Map([
          [stocks.b, stocks.c],
          [stocks.c, stocks.b],
        ])
        return rows.map((row) =>
          swap.has(String(row.Symbol)) ? { ...row, incomeStat_cq: of(swap.get(String(row.Symbol))) } : row,
        )
      },
      ...(['b', 'c'] as const),
    ),
  },
  { fault: 'deals twice', check: 'duplicate-records', plant: inRows(DEALS, (rows) => [...rows, ...rows]) },
]

describe('a folder whose lists agree', () => {
  it('has no findings, and nothing that could not be compared', async () => {
    const { findings, notes } = await verified(outputFolder(clean))
    expect(findings).toEqual([])
    expect(notes.filter((note) => note.startsWith('recorded values'))).toEqual([])
  })

  it('has 33 faults to plant, of every check that looks at prices and lists alone', () => {
    expect(faults).toHaveLength(33)
    expect(faults.every(({ check }) => checkNames.includes(check))).toBe(true)
  })

  it.each(faults)(
    'with $fault has findings about that, and no others',
    async ({ plant, check, detail = /./, isAlone = false }) => {
      const folder = copyOf(clean)
      const named = plant(folder)
      const { findings } = await verified(folder)
      const own = findings.filter((finding) => finding.check === check && finding.severity !== 'info')
      expect(own).not.toEqual([])
      expect(own.map((finding) => finding.detail).join('\n')).toMatch(detail)
      const others = findings.filter(
        ({ symbol = '', file = '' }) => !named.includes(symbol) && !named.includes(file),
      )
      expect(others).toEqual([])
      expect(findings.length).toBeLessThanOrEqual(isAlone ? 1 : 4)
    },
  )
})
