import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isRow, type Row } from '../../src/model/row.js'
import type { Finding } from '../../src/verify/finding.js'
import { temporaryFolder } from '../support/folders.js'
import { copyOf, type OutputFolder, outputFolder, runInto, verified } from './support.js'

type Candle = readonly number[]

const clean = temporaryFolder()
/** The finding about a folder before anything is planted, by all that it says. */
const known = new Set<string>()
/** Stocks that trade at usual prices, largest first. */
let symbols: readonly string[] = []

const [DEALS, MASTER, RESULTS] = [
  'bulk_block_deals.json',
  'master_data_response.json',
  'fundamental_data.json',
]
const [ASM, GSM, UPPER, UPCOMING] = [
  'nse_asm_list.json',
  'nse_gsm_list.json',
  'upper_circuit_stocks.json',
  'upcoming_corporate_actions.json',
]
const WITNESSED_DAYS = 20
/** Documents may be of the time of the run, which is not that of its data. */
const FUTURE = '2031-05-01'

const isoDay = ([time = 0]: Candle): string => new Date((time + 19_800) * 1_000).toISOString().slice(0, 10)

/** The files of the exchange say what the candles say. */
const writeDailyFiles = (folder: OutputFolder): void => {
  const rows = new Map<string, Row[]>()
  for (const { Symbol: name } of folder.rows('master_isin_map.json'))
    for (const candle of folder.candles(String(name)).slice(-WITNESSED_DAYS)) {
      const [OPEN_PRICE, HIGH_PRICE, LOW_PRICE, CLOSE_PRICE, TTL_TRD_QNTY] = candle.slice(1).map(String)
      const row = { SYMBOL: name, SERIES: 'EQ', OPEN_PRICE, HIGH_PRICE, LOW_PRICE, CLOSE_PRICE, TTL_TRD_QNTY }
      rows.set(isoDay(candle), [...(rows.get(isoDay(candle)) ?? []), { ...row, LAST_PRICE: CLOSE_PRICE }])
    }
  mkdirSync(join(folder.path, 'exchange_daily'))
  for (const [day, own] of rows) folder.putRows(`exchange_daily/${day}.json`, own)
}

beforeAll(async () => {
  await runInto(clean, { stocks: 16 })
  const folder = outputFolder(clean)
  writeDailyFiles(folder)
  folder.forget()
  const isUsual = (candles: readonly Candle[]): boolean =>
    candles.length > 600 &&
    candles.every(
      ([, , , , close = 0, volume = 0]) => close > 40 && close < 4_500 && close * volume > 1_100_000,
    )
  symbols = folder
    .rows('master_isin_map.json')
    .map(({ Symbol: symbol }) => String(symbol))
    .filter((symbol) => isUsual(folder.candles(symbol).slice(-620)))
  expect(symbols.length).toBeGreaterThan(2)
  for (const one of (await verified(folder)).findings) known.add(textOf(one))
})

const textOf = ({ check, symbol, day, detail }: Finding): string =>
  `${check} ${symbol ?? ''} ${day ?? ''} ${detail}`

/** What a fault changes of one stock; its day, if the finding has one. */
type Plant = (folder: OutputFolder, symbol: string) => string | undefined

interface Fault {
  readonly fault: string
  readonly check?: Finding['check']
  readonly detail: RegExp
  readonly plant: Plant
}

/** Changes some of the candles of a stock, counted from the end; the day of the first of them. */
const inCandles =
  (from: number, count: number, change: (candle: Candle, before: Candle) => Candle): Plant =>
  (folder, symbol) => {
    const all = folder.candles(symbol)
    const start = all.length - from
    folder.putCandles(
      symbol,
      all.map((candle, index) =>
        index >= start && index < start + count ? change(candle, all[index - 1] ?? candle) : candle,
      ),
    )
    return isoDay(all[start] ?? [])
  }

const round = (value: number): number => Math.round(value * 100) / 100
const times =
  (by: number) =>
  (candle: Candle): Candle =>
    candle.map((value, column) => (column > 0 && column < 5 ? round(value * by) : value))
const exchanged = ([time = 0, open = 0, high = 0, low = 0, close = 0, volume = 0]: Candle): Candle => [
  time,
  close,
  high,
  low,
  open,
  volume,
]
const cut = ([time = 0, open = 0, , , close = 0, volume = 0]: Candle): Candle => [
  time,
  open,
  Math.max(open, close),
  Math.min(open, close),
  close,
  volume,
]
const rounded = (candle: Candle): Candle =>
  candle.map((value, column) => (column > 0 && column < 5 ? Math.round(value) : value))
const volumeTimes =
  (by: number) =>
  (candle: Candle): Candle =>
    candle.map((value, column) => (column === 5 ? value * by : value))

/** Adds a deal at the price of the newest candle but one. */
const deal =
  (change: (candle: Candle) => Row, isDated = true): Plant =>
  (folder, symbol) => {
    const candle = folder.candles(symbol).at(-2) ?? []
    const { date, ...more }: Row = { date: `${isoDay(candle)} 00:00:00`, ...change(candle) }
    const usual = { exch: 'NSE', sym: symbol, deal: 'BULK', bs: 'B', cname: 'FUND 1', qty: 100 }
    folder.putRows(DEALS, [...folder.rows(DEALS), { ...usual, avgprice: candle[4], date, ...more }])
    return isDated ? isoDay(candle) : undefined
  }

/** Changes the row of a stock in a list; adds one if it has none. */
const inList =
  (file: string, key: string, change: (row: Row) => Row): Plant =>
  (folder, symbol) => {
    const rows = folder.rows(file)
    const own = rows.find((row) => row[key] === symbol) ?? { ...rows[0], [key]: symbol }
    folder.putRows(file, [...rows.filter((row) => row !== own), { ...own, ...change(own) }])
    return undefined
  }

/** Changes figures of a stock by their names, period by period. */
const inFigures = (table: string, change: (name: string, periods: readonly string[]) => readonly string[]) =>
  inList(RESULTS, 'Symbol', ({ [table]: figures }) => ({
    [table]: Object.fromEntries(
      Object.entries(isRow(figures) ? figures : {}).map(([name, values]) => [
        name,
        change(name, String(values).split('|')).join('|'),
      ]),
    ),
  }))
const newest = (table: string, figure: string, value: (now: number) => unknown) =>
  inFigures(table, (name, [now = '', ...before]) => [
    name.toUpperCase() === figure ? String(value(Number(now))) : now,
    ...before,
  ])

const inDocument =
  (toFile: (symbol: string) => string, list: string, change: Row): Plant =>
  (folder, symbol) => {
    const document = JSON.parse(folder.text(toFile(symbol)))
    document[list][0] = { ...document[list][0], ...change }
    folder.put(toFile(symbol), JSON.stringify(document))
    return undefined
  }

const action = (change: Row): Plant =>
  inList(UPCOMING, 'Sym', () => ({ CorpAct: [{ ActType: 'DIVIDEND', ExDate: '2026-03-02', ...change }] }))

/** A stock of the list is in the other one, too. */
const inBoth: Plant = (folder, symbol) => {
  for (const [file, Stage] of [
    [ASM, 'LTASM - I (13)'],
    [GSM, 'GSM - 0 (99)'],
  ] as const)
    folder.putRows(file, [
      ...folder.rows(file).filter((row) => row.Symbol !== symbol),
      { Symbol: symbol, Stage },
    ])
  return undefined
}

const faults: readonly Fault[] = [
  {
    fault: '20 sessions 8 % higher',
    check: 'witness',
    detail: /^its closes on 20 days .* are 1\.08 times those of the exchange$/,
    plant: inCandles(20, 20, times(1.08)),
  },
  {
    fault: '10 sessions 4 % lower, and right again',
    check: 'witness',
    detail: /^its closes on 10 days .* are 0\.96 times those of the exchange$/,
    plant: inCandles(15, 10, times(0.96)),
  },
  {
    fault: 'one close 3 % higher',
    check: 'witness',
    detail: /^the close is .*; the exchange has /,
    plant: inCandles(6, 1, times(1.03)),
  },
  {
    fault: 'doubled volumes',
    check: 'witness',
    detail: /^its volumes on 8 days .* are 2 times those of the exchange$/,
    plant: inCandles(12, 8, volumeTimes(2)),
  },
  {
    fault: 'highs and lows that are wider for two weeks',
    check: 'witness',
    detail: /^highs or lows differ .* on 10 days /,
    plant: inCandles(15, 10, ([time = 0, open = 0, high = 0, low = 0, ...rest]) => [
      time,
      open,
      round(high * 1.03),
      round(low * 0.97),
      ...rest,
    ]),
  },
  {
    fault: 'open and close exchanged',
    check: 'impossible-candles',
    detail: /^open and close as if they were exchanged on each of \d+ sessions /,
    plant: (folder, symbol) => {
      inCandles(500, 400, exchanged)(folder, symbol)
      return undefined
    },
  },
  {
    fault: 'prices in whole rupees',
    check: 'impossible-candles',
    detail: /^prices in whole rupees on each of /,
    plant: (folder, symbol) => {
      inCandles(200, 60, rounded)(folder, symbol)
      return undefined
    },
  },
  {
    fault: 'high and low cut to open and close',
    check: 'impossible-candles',
    detail: /^no price above or below both open and close on each of /,
    plant: (folder, symbol) => {
      inCandles(200, 60, cut)(folder, symbol)
      return undefined
    },
  },
  {
    fault: 'a deal at ten times the price',
    detail: /^a deal at ₹ /,
    plant: deal(([, , , , close = 0]) => ({ avgprice: close * 10 })),
  },
  {
    fault: 'a deal at a tenth of the price',
    detail: /^a deal at ₹ /,
    plant: deal(([, , , , close = 0]) => ({ avgprice: close / 10 })),
  },
  {
    fault: 'a deal of a hundred times the volume',
    detail: /^a deal of .* shares; /,
    plant: deal((candle) => ({ qty: Number(candle[5]) * 100 })),
  },
  {
    fault: 'a deal that neither buys nor sells',
    detail: /^side: |^bs: "X" is none of/,
    plant: deal(() => ({ bs: 'X' }), false),
  },
  { fault: 'a deal of no shares', detail: /^qty: 0 is below 1/, plant: deal(() => ({ qty: 0 }), false) },
  {
    fault: 'a deal of half a share',
    detail: /^quantity: 10.5 has a fraction/,
    plant: deal(() => ({ qty: 10.5 }), false),
  },
  {
    fault: 'a deal without a price',
    detail: /^avgprice: 0 is below/,
    plant: deal(() => ({ avgprice: 0 }), false),
  },
  {
    fault: 'a deal of the future',
    detail: /^date: 2031-05-01 is after /,
    plant: deal(() => ({ date: `${FUTURE} 00:00:00` }), false),
  },
  {
    fault: 'a deal of no day',
    detail: /^date: 2026-02-31 is no day/,
    plant: deal(() => ({ date: '2026-02-31' }), false),
  },
  {
    fault: 'a stage without a text',
    detail: /^Stage: "" is none of/,
    plant: inList(ASM, 'Symbol', () => ({ Stage: '' })),
  },
  {
    fault: 'an unknown stage',
    detail: /^Stage: "VERY BAD" is none of/,
    plant: inList(GSM, 'Symbol', () => ({ Stage: 'VERY BAD' })),
  },
  { fault: 'two lists that exclude each other', detail: /^it is in nse_asm_list.json, too/, plant: inBoth },
  {
    fault: 'an ex-date that does not exist',
    detail: /^ex_date: 2026-13-45 is no day/,
    plant: action({ ExDate: '2026-13-45' }),
  },
  {
    fault: 'a record date that does not exist',
    detail: /^record_date: 2026-02-30 is no day/,
    plant: action({ RecDate: '2026-02-30' }),
  },
  {
    fault: 'a holding above 100 %',
    detail: /^PROMOTER of sHp: 165 is above 100/,
    plant: newest('sHp', 'PROMOTER', () => 165),
  },
  { fault: 'a holding below 0', detail: /^FII of sHp: -3 is below 0/, plant: newest('sHp', 'FII', () => -3) },
  {
    fault: 'holdings of more than the whole',
    detail: /^sHp: .* is the sum of its newest figures, not 100/,
    plant: newest('sHp', 'PUBLIC', (now) => Math.min(99, now + 20)),
  },
  {
    fault: 'negative sales',
    detail: /^SALES of incomeStat_cq: -5 is below 0/,
    plant: newest('incomeStat_cq', 'SALES', () => -5),
  },
  {
    fault: 'sales in another unit',
    detail: /^SALES of incomeStat_cq: .* times the median of the four before/,
    plant: newest('incomeStat_cq', 'SALES', (now) => now * 10_000),
  },
  {
    fault: 'a profit in another unit',
    detail: /^NET_PROFIT of incomeStat_cy: .* times the median/,
    plant: newest('incomeStat_cy', 'NET_PROFIT', (now) => now * 10_000),
  },
  {
    fault: 'a quarter of the future',
    detail: /^YEAR of incomeStat_cq: 202612 is after /,
    plant: newest('incomeStat_cq', 'YEAR', () => '202612'),
  },
  {
    fault: 'a quarter that repeats the one before',
    detail: /^incomeStat_cq: .* repeats the period before/,
    plant: inFigures('incomeStat_cq', (name, all) =>
      /^year$/i.test(name) ? all : [all[1] ?? '', ...all.slice(1)],
    ),
  },
  {
    fault: 'negative assets',
    detail: /^TOTAL_ASSETS of bs_c: -1 is below 0/,
    plant: newest('bs_c', 'TOTAL_ASSETS', () => -1),
  },
  {
    fault: 'a balance sheet of the future',
    detail: /^YEAR of bs_c: 202703 is after /,
    plant: newest('bs_c', 'YEAR', () => '202703'),
  },
  {
    fault: 'a negative market capitalisation',
    detail: /^Mcap: -1 is below 0/,
    plant: inList(MASTER, 'Sym', () => ({ Mcap: -1 })),
  },
  {
    fault: 'a flag of no meaning',
    detail: /^FnoFlag: 7 is above 1/,
    plant: inList(MASTER, 'Sym', () => ({ FnoFlag: 7 })),
  },
  {
    fault: 'a negative volume of the day',
    detail: /^volume: -9 is below 0/,
    plant: inList(MASTER, 'Sym', () => ({ volume: -9 })),
  },
  {
    fault: 'the name of another company',
    detail: / have one name, .*, and other issuers$/,
    plant: (folder, symbol) => {
      const name = folder.rows(MASTER).find(({ Sym }) => Sym === symbols[0])?.DispSym
      return inList(MASTER, 'Sym', () => ({ DispSym: name }))(folder, symbol)
    },
  },
  {
    fault: 'a limit without a price',
    detail: /^LTP: 0 is below/,
    plant: inList(UPPER, 'Symbol', () => ({ LTP: 0 })),
  },
  {
    fault: 'a negative volume at the limit',
    detail: /^Volume: -1 is below 0/,
    plant: inList(UPPER, 'Symbol', () => ({ Volume: -1 })),
  },
  {
    fault: 'news of the future',
    detail: /^PublishDate: 2031-05-01 is after /,
    plant: inDocument((symbol) => `market_news/${symbol}_news.json`, 'News', {
      PublishDate: Date.parse(FUTURE),
    }),
  },
  {
    fault: 'a filing of the future',
    detail: /^news_date: 2031-05-01 is after /,
    plant: inDocument((symbol) => `company_filings/${symbol}_filings.json`, 'data', {
      news_date: `${FUTURE} 09:00:00`,
    }),
  },
  {
    fault: 'an announcement of the future',
    detail: /^date: 2031-05-01 is after /,
    plant: inList('all_company_announcements.json', 'Symbol', () => ({ date: `${FUTURE} 09:00:00` })),
  },
]

const findPlanted = async (folder: OutputFolder): Promise<readonly Finding[]> =>
  (await verified(folder)).findings.filter((one) => !known.has(textOf(one)))

const expectFound = (found: readonly Finding[], fault: Fault, symbol: string, day: string | undefined) => {
  const { check = 'impossible-values', detail } = fault
  const own = found.find((one) => one.symbol === symbol && one.check === check && detail.test(one.detail))
  expect(own, `${fault.fault} of ${symbol} in ${found.map(textOf).join('\n')}`).toBeDefined()
  if (day !== undefined) expect(own?.day).toBe(day)
}

/** Lists beside the candles contradict what was planted, too: they name the stock. */
const others = (found: readonly Finding[], planted: readonly string[]): readonly string[] =>
  found.filter(({ symbol = '' }) => !planted.includes(symbol)).map(textOf)

describe('a value that is wrong', () => {
  it.each(faults)('$fault: is found for its stock and day, and no other', async (fault) => {
    const folder = copyOf(clean)
    const symbol = symbols[1] ?? ''
    const day = fault.plant(folder, symbol)
    const found = await findPlanted(folder)
    expectFound(found, fault, symbol, day)
    expect(others(found, [symbol])).toEqual([])
    expect(found.length).toBeLessThanOrEqual(2)
  })

  it.each([0, 1, 2, 3, 4, 5, 6, 7])('and one of another kind are both found (pair %i)', async (seed) => {
    const folder = copyOf(clean)
    const [one, other] = [symbols[1] ?? '', symbols[2] ?? '']
    const [first, second] = [faults[seed] as Fault, faults[8 + seed * 4] as Fault]
    const days = [first.plant(folder, one), second.plant(folder, other)]
    const found = await findPlanted(folder)
    expectFound(found, first, one, days[0])
    expectFound(found, second, other, days[1])
    expect(others(found, [one, other])).toEqual([])
  })
})
