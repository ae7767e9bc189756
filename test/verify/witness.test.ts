import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dayToNumber, readCandleFile } from '../../src/market/candle-file.js'
import { createDaySet } from '../../src/market/series-days.js'
import { type ExchangeTrade, readExchangeTrades } from '../../src/market/witness.js'
import { toInstant } from '../../src/model/trading-day.js'
import { getRecent } from '../../src/verify/candle-series.js'
import { findStreamFiles } from '../../src/verify/output-files.js'
import { verifyRecords } from '../../src/verify/record-checks.js'
import { createStockIndex } from '../../src/verify/stray-records.js'
import { findContradictions } from '../../src/verify/witness.js'
import { exchangeDaily } from '../../streams/exchange-daily.js'
import { temporaryFolder } from '../support/folders.js'

const DAYS = ['2026-02-05', '2026-02-06', '2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12'] as const
const TODAY = DAYS[5]
const SYMBOLS = Array.from({ length: 20 }, (_, place) => `S${place}`)
const truth = (symbol: string, day: string): ExchangeTrade => {
  const close = 100 + Number(symbol.slice(1)) + DAYS.indexOf(day as (typeof DAYS)[number])
  return { close, last: close, high: close, low: close, volume: 1_000 }
}

type Candle = Pick<ExchangeTrade, 'close' | 'volume'>
interface Folder {
  readonly candle?: (symbol: string, day: string) => Candle | undefined
  readonly trade?: (symbol: string, day: string) => ExchangeTrade | undefined
  readonly actions?: Readonly<Record<string, { readonly on: string; readonly factors: readonly number[] }>>
}

const verify = ({ candle = truth, trade = truth, actions = {} }: Folder) => {
  const stocks = SYMBOLS.map((symbol) => {
    const lines = DAYS.flatMap((day) => {
      const found = candle(symbol, day)
      const close = found?.close
      return found === undefined
        ? []
        : [`${toInstant(day) / 1_000},${close},${close},${close},${close},${found.volume}\n`]
    })
    const { candles } = readCandleFile(Buffer.from(`Timestamp,Open,High,Low,Close,Volume\n${lines.join('')}`))
    return {
      symbol,
      file: `ohlcv_data/${symbol}.csv`,
      recent: getRecent(candles),
      days: createDaySet(candles) as NonNullable<ReturnType<typeof createDaySet>>,
    }
  })
  const known = Object.entries(actions).map(
    ([symbol, { on, factors }]) => [symbol, [{ kind: 'split', day: dayToNumber(on), factors }]] as const,
  )
  const trades = new Map(
    DAYS.map((day) => [
      day,
      new Map(
        SYMBOLS.flatMap((symbol) =>
          trade(symbol, day) ? [[symbol, trade(symbol, day) as ExchangeTrade]] : [],
        ),
      ),
    ]),
  )
  return findContradictions({ stocks, actions: new Map(known), trades }).map(
    ({ severity, symbol = 'market', day, detail }) => `${severity} ${symbol} ${day} ${detail}`,
  )
}

/** Changes one stock on the newest day. */
const only =
  <T>(symbol: string, change: (trade: ExchangeTrade) => T | undefined) =>
  (one: string, day: string): ExchangeTrade | T | undefined =>
    one === symbol && day === TODAY ? change(truth(one, day)) : truth(one, day)

describe('candles and the files of the exchange', () => {
  it.each<{ what: string; folder: Folder; found: readonly string[] }>([
    { what: 'nothing where both agree', folder: {}, found: [] },
    {
      what: 'nothing where closes differ as two ways to close a day do',
      folder: {
        candle: (symbol, day) => ({ ...truth(symbol, day), close: truth(symbol, day).close * 1.004 }),
      },
      found: [],
    },
    {
      what: 'a close of one stock',
      folder: { candle: only('S5', (trade) => ({ ...trade, close: 111.1 })) },
      found: ['warning S5 2026-02-12 the close is 111.1; the exchange has 110'],
    },
    {
      what: 'a volume of one stock',
      folder: { candle: only('S5', (trade) => ({ ...trade, volume: 10_000 })) },
      found: ['warning S5 2026-02-12 the volume is 10,000; the exchange has 1,000'],
    },
    {
      what: 'a stock without a candle',
      folder: { candle: only('S5', () => undefined) },
      found: ['warning S5 2026-02-12 no candle; the exchange has a close of 110 and a volume of 1,000'],
    },
    {
      what: 'a candle of a stock that did not trade',
      folder: { trade: only('S5', () => undefined) },
      found: ['warning S5 2026-02-12 a volume of 1,000; the exchange has no trade'],
    },
    {
      what: 'nothing of a stock that the files name only after it has changed its symbol',
      folder: { trade: (symbol, day) => (symbol === 'S5' && day !== TODAY ? undefined : truth(symbol, day)) },
      found: [],
    },
    {
      what: 'a session that all stocks lack',
      folder: { candle: (symbol, day) => (day === TODAY ? undefined : truth(symbol, day)) },
      found: [
        'error market 2026-02-12 stocks lack a candle, though the exchange has their trades: 20 of 20 stocks, S0, S1, S2, S3, S4, S5, S6, S7, S8, S9 and 10 more; S0: no candle; the exchange has a close of 105 and a volume of 1,000',
      ],
    },
    {
      what: 'prices of all stocks on one day, which are a tenth',
      folder: {
        candle: (symbol, day) => ({
          ...truth(symbol, day),
          close: truth(symbol, day).close / (day === TODAY ? 10 : 1),
        }),
      },
      found: [
        'error market 2026-02-12 closes differ from those of the exchange: 20 of 20 stocks, S0, S1, S2, S3, S4, S5, S6, S7, S8, S9 and 10 more; S0: the close is 10.5; the exchange has 105',
      ],
    },
  ])('have $what', ({ folder, found }) => expect(verify(folder)).toEqual(found))

  it('may differ by the factor of a later split, and by no other', () => {
    const candle = (symbol: string, day: string) => {
      const { close, volume } = truth(symbol, day)
      return symbol === 'S5' && day !== TODAY ? { close: close / 5, volume: volume * 5 } : { close, volume }
    }
    expect(verify({ candle, actions: { S5: { on: TODAY, factors: [5, 1 / 5] } } })).toEqual([])
    const span = 'on 5 days from 2026-02-05 to 2026-02-11 are 0.2 times those of the exchange'
    const unknown = [`info S5 2026-02-05 its closes ${span}, as by a split or bonus that no list has`]
    expect(verify({ candle, actions: { S5: { on: DAYS[0], factors: [5, 1 / 5] } } })).toEqual(unknown)
    expect(verify({ candle, actions: { S5: { on: TODAY, factors: [2, 1 / 2] } } })).toEqual(unknown)
  })

  /** Changes the candles of stocks from one day to another. */
  const changed =
    (symbols: readonly string[], change: (trade: ExchangeTrade) => ExchangeTrade, to: string = TODAY) =>
    (symbol: string, day: string): ExchangeTrade =>
      symbols.includes(symbol) && day >= DAYS[1] && day <= to
        ? change(truth(symbol, day))
        : truth(symbol, day)
  const times = (by: number) => (trade: ExchangeTrade) => ({ ...trade, close: trade.close * by })

  it.each<{ what: string; candle: NonNullable<Folder['candle']>; found: readonly string[] }>([
    {
      what: 'of a stock that is 8 % higher for days',
      candle: changed(['S5'], times(1.08)),
      found: [
        'warning S5 2026-02-06 its closes on 5 days from 2026-02-06 to 2026-02-12 are 1.08 times those of the exchange',
      ],
    },
    {
      what: 'of one that was higher by what no action has, and is no longer',
      candle: changed(['S5'], times(1.08), DAYS[4]),
      found: [
        'warning S5 2026-02-06 its closes on 4 days from 2026-02-06 to 2026-02-11 are 1.08 times those of the exchange',
      ],
    },
    {
      what: 'of one whose factor varies',
      candle: changed(['S5'], ({ close, ...rest }) => ({ ...rest, close: close + (close % 2 ? 5 : 20) })),
      found: [
        'warning S5 2026-02-06 closes differ from those of the exchange on 5 days from 2026-02-06 to 2026-02-12; on 2026-02-06, the close is 126; the exchange has 106',
      ],
    },
    {
      what: 'of many stocks on the same days, once and by their names',
      candle: changed(['S3', 'S4', 'S5', 'S6', 'S7'], (trade) => ({ ...trade, volume: 2_000 })),
      found: [
        'error market 2026-02-06 volumes differ from those of the exchange on 5 days from 2026-02-06 to 2026-02-12: 5 of 20 stocks, S3, S4, S5, S6, S7; S3: the volume is 2,000; the exchange has 1,000',
      ],
    },
  ])('have one finding $what', ({ candle, found }) => expect(verify({ candle })).toEqual(found))

  it('may have a wider range on single days, and not on several', () => {
    const trade = (symbol: string, day: string): ExchangeTrade => ({
      ...truth(symbol, day),
      high: 1.05 * truth(symbol, day).close,
    })
    const on =
      (until: string): NonNullable<Folder['trade']> =>
      (symbol, day) =>
        symbol === 'S5' && day <= until ? trade(symbol, day) : truth(symbol, day)
    expect(verify({ trade: on(DAYS[1]) })).toEqual([])
    expect(verify({ trade: on(DAYS[2]) })).toEqual([
      'warning S5 2026-02-05 highs or lows differ from those of the exchange on 3 days from 2026-02-05 to 2026-02-09; on 2026-02-05, the candle reaches from 105 to 105; the exchange has 105 to 110.25',
    ])
  })

  it('are compared by the series of shares', () => {
    const rows = [
      { SYMBOL: 'A', SERIES: 'GS', CLOSE_PRICE: '9', LAST_PRICE: '9', TTL_TRD_QNTY: '1' },
      { SYMBOL: 'A', SERIES: 'BE', CLOSE_PRICE: '10', LAST_PRICE: '11', TTL_TRD_QNTY: '12' },
      { SYMBOL: 'B', SERIES: 'EQ', CLOSE_PRICE: null },
    ]
    expect([...readExchangeTrades(rows)]).toMatchObject([['A', { close: 10, last: 11, volume: 12 }]])
    // A stock that has only partly paid shares, or another series of its own; never warrants or bonds.
    const further = [
      ['A', 'E1'],
      ['PP', 'X1'],
      ['S', 'IT'],
      ['W', 'W1'],
      ['N', 'N2'],
      ['G', 'GS'],
    ].map(([SYMBOL, SERIES]) => ({ SYMBOL, SERIES, CLOSE_PRICE: '5', LAST_PRICE: '5', TTL_TRD_QNTY: '1' }))
    const trades = readExchangeTrades([...rows, ...further])
    expect([...trades].map(([symbol, { close }]) => `${symbol} ${close}`).sort()).toEqual([
      'A 10',
      'PP 5',
      'S 5',
    ])
    expect([...readExchangeTrades('no list')]).toEqual([])
  })
})

it.each([
  { exchange: 'NSE', days: [TODAY] },
  { exchange: 'BSE', days: [] },
])('reads the files of the exchange for $exchange: $days', async ({ exchange, days }) => {
  const out = temporaryFolder()
  mkdirSync(join(out, 'exchange_daily'))
  writeFileSync(
    join(out, `exchange_daily/${TODAY}.json`),
    JSON.stringify([{ SYMBOL: 'S0', SERIES: 'EQ', CLOSE_PRICE: '100' }]),
  )
  const files = await findStreamFiles(out, [exchangeDaily], { exchange, items: [] })
  const { trades } = await verifyRecords(out, files, {
    listed: createStockIndex([]),
    exchange,
    report: undefined,
  })
  expect([...trades.keys()]).toEqual(days)
})
