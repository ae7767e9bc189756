import { describe, expect, it } from 'vitest'
import { duckdb, objectsOf } from '../support.js'
import { before, DAYS, ISIN, type ListedAction, market, PRICES } from './one-stock.js'

// What users of other collectors reported about their data, planted here. The number is that of their issue.

const judge = (out: string) =>
  objectsOf(
    "select kind, factor, is_applied, amount_inr, reason from adjustments order by day, kind = 'dividend'",
    out,
  )

const readCloses = async (out: string, column = 'close'): Promise<readonly number[]> =>
  (await objectsOf(`select ${column} as c from candles_adjusted order by day`, out)).map(({ c }) => Number(c))

const expectCloses = async (out: string, closes: readonly number[], column?: string): Promise<void> => {
  const read = await readCloses(out, column)
  expect(read.map((close) => Math.round(close * 1e6) / 1e6)).toEqual(
    closes.map((close) => Math.round(close * 1e6) / 1e6),
  )
}

interface Case {
  readonly what: string
  readonly closes: readonly number[]
  readonly actions: readonly ListedAction[]
  readonly factor: number
}

describe.skipIf(!duckdb)('a series without a jump is made of', () => {
  const cases: readonly Case[] = [
    // iexg/IEX-API#485: the list had the split two sessions before the share traded without it.
    {
      what: 'a split that the list has a session early',
      closes: before(4, 2),
      actions: [['SPLIT', DAYS[3], '1:2']],
      factor: 2,
    },
    // BennyThadikaran/BseIndiaApi#8: one new share for five held ones, told as 5:1.
    {
      what: 'a bonus whose terms are in the other order',
      closes: before(4, 1.2),
      actions: [['BONUS', DAYS[4], '5:1']],
      factor: 1.2,
    },
    // pratik141/nsedt#35: a bonus 1:3 moves the price by a quarter, less than a bad day may.
    {
      what: 'a small bonus',
      closes: before(4, 4 / 3),
      actions: [['BONUS', DAYS[4], '1:3']],
      factor: 4 / 3,
    },
    // BennyThadikaran/eod2#262: 1402 to 66, a bonus and a split of one day.
    {
      what: 'a bonus and a split of one day',
      closes: before(4, 20),
      actions: [
        ['BONUS', DAYS[4], '1:1'],
        ['SPLIT', DAYS[4], '1:10'],
      ],
      factor: 20,
    },
    // ranaroussi/yfinance#1531: the provider divides twice, which looks like a consolidation.
    {
      what: 'a split that was divided twice',
      closes: before(4, 0.2),
      actions: [['SPLIT', DAYS[4], '2:10']],
      factor: 0.2,
    },
    // iexg/IEX-API#160: 31 shares for 1000.
    {
      what: 'a consolidation with odd terms',
      closes: before(4, 0.031),
      actions: [['CONSOLIDATION', DAYS[4], '1000:31']],
      factor: 0.031,
    },
  ]
  it.each(cases)('$what', async ({ closes, actions, factor }) => {
    const out = market(closes, actions)
    await expectCloses(out, PRICES)
    expect((await objectsOf('select product(factor) as f from adjustments', out))[0]?.f).toBeCloseTo(
      factor,
      9,
    )
  })
})

describe.skipIf(!duckdb)('prices stay as they are stored, and it is said why', () => {
  // ranaroussi/yfinance#2660: a price that doubled in days is no split.
  it('where a share doubled on the day of a bonus that the provider had applied', async () => {
    const out = market(before(4, 0.5), [['BONUS', DAYS[4], '1:1']])
    expect(await judge(out)).toMatchObject([{ is_applied: null, reason: 'another move in the candles' }])
    await expectCloses(out, before(4, 0.5))
  })

  // NSEDownload/NSEDownload#12: the first numbers of the text were taken for a factor.
  it.each(['3 : 10@ PREMIUM RS 220 PER SHARE', '1 : 13@ PREMIUM RS 30/'])(
    'at rights with a price in their text: %s',
    async (note) => {
      const out = market(before(4, 1.1), [['RIGHTS', DAYS[4], note]])
      expect(await judge(out)).toEqual([
        { kind: 'rights', factor: null, is_applied: null, amount_inr: null, reason: 'price unknown' },
      ])
      await expectCloses(out, before(4, 1.1))
    },
  )

  // alphaville76/sharadar_db_bundle#25: a dividend of the first session has no price before it, and one above
  // the price made a factor below zero.
  it.each([
    ['of the first session', DAYS[0], '5'],
    ['above the price', DAYS[4], '250'],
  ] as const)('at a dividend %s', async (_, day, amount) => {
    const out = market(PRICES, [['DIVIDEND', day, amount]])
    expect(await judge(out)).toMatchObject([{ kind: 'dividend', factor: null, reason: expect.anything() }])
    await expectCloses(out, PRICES, 'close_total_return')
  })
})

describe.skipIf(!duckdb)('a dividend', () => {
  // codereverser/casparser#21: eight decimals, per unit.
  it('is read with all its decimals', async () => {
    expect(await judge(market(PRICES, [['DIVIDEND', DAYS[4], 'Rs.0.88540900 per unit']]))).toMatchObject([
      { amount_inr: 0.885409 },
    ])
  })

  it('and other actions have NULL for terms that the provider does not know', async () => {
    const out = market(PRICES, [['BUYBACK', DAYS[4], 'NA']])
    expect(await objectsOf("select kind, detail from events where kind = 'corporate action'", out)).toEqual([
      { kind: 'corporate action', detail: null },
    ])
    expect(await objectsOf('select action, terms from actions_unique', out)).toEqual([
      { action: 'BUYBACK', terms: null },
    ])
  })

  // FinMind/FinMind#127: the market was closed on the listed day.
  it('of a day without a session counts from the next one', async () => {
    const paid = PRICES.map((price, place) => (place < 5 ? 105 : price - 5))
    const out = market(paid, [['DIVIDEND', '2026-02-07', '5']])
    await expectCloses(
      out,
      paid.map((price, place) => (place < 5 ? price - 5 : price)),
      'close_total_return',
    )
  })
})

describe.skipIf(!duckdb)('a split', () => {
  it('that reads as a consolidation may be divided twice: the first closes are unknown', async () => {
    const out = market(before(4, 0.2), [['SPLIT', DAYS[4], '2:10']])
    expect(await judge(out)).toMatchObject([
      { factor: 0.2, is_applied: 0, reason: 'a consolidation, or divided twice' },
    ])
    const rows = await objectsOf('select close_first from candles_adjusted order by day', out)
    expect(rows.map((row) => row.close_first)).toEqual([null, null, null, null, ...PRICES.slice(4)])
  })

  it('is a consolidation by the order of its terms', async () => {
    const out = market(before(4, 0.2), [['SPLIT', DAYS[4], '10:2']])
    expect(await judge(out)).toMatchObject([{ factor: 0.2, is_applied: 0, reason: null }])
    await expectCloses(out, before(4, 0.2), 'close_first')
  })
})

describe.skipIf(!duckdb)('a dividend in percent of a face value that a later consolidation changes', () => {
  it('is not what moves the price of a bonus of its day', async () => {
    // Three old shares were worth one new one of today, a hundredth each.
    const closes = PRICES.map((price, place) => (place < 3 ? 3 : 1) * (place < 6 ? price / 100 : price))
    const out = market(
      closes,
      [
        ['BONUS', DAYS[3], '2:1'],
        ['DIVIDEND', DAYS[3], '20.3%'],
        ['CONSOLIDATION', DAYS[6], '100:1'],
      ],
      'A',
      {
        'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY,SERIES,DATE OF LISTING,PAID UP VALUE,MARKET LOT,ISIN NUMBER,FACE VALUE\nA,A,EQ,01-JAN-2020,10,1,${ISIN},10\n`,
      },
    )
    expect(await judge(out)).toContainEqual(
      expect.objectContaining({ kind: 'bonus', factor: 3, is_applied: 0 }),
    )
    await expectCloses(out, PRICES)
  })
})

// BennyThadikaran/eod2#264: a bonus of preference shares, listed as a bonus. No earlier run has seen its day.
describe.skipIf(!duckdb)('a bonus without a jump', () => {
  const paise = [801.05, 803.3, 798.35, 805.7, 800.6, 810.15, 812.5, 808.05]
  it.each([
    ['did not happen, if the prices before it are those of the exchange', paise, 0.35, null],
    [
      'is applied, if they are finer',
      paise.map((price, place) => Math.round((place < 6 ? price - 0.02 : price) * 100) / 100),
      0.35,
      1,
    ],
    ['is applied, if nobody can tell', paise.map(Math.round), 1, 1],
  ] as const)('%s', async (_, closes, step, isApplied) => {
    const out = market(closes, [['BONUS', DAYS[6], '4:1']], 'A', {
      'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${closes
        .map((close, place) => {
          const open = Math.round((close + (place + 1) * step) * 100) / 100
          const time = Date.parse(`${DAYS[place]}T00:00:00+05:30`) / 1000
          return [time, open, Math.max(open, close), Math.min(open, close), close, 1000].join()
        })
        .join('\n')}\n`,
    })
    expect(await judge(out)).toMatchObject([
      { factor: 5, is_applied: isApplied, reason: isApplied === null ? 'not seen in the candles' : null },
    ])
  })
})

describe.skipIf(!duckdb)('a text about two actions', () => {
  it.each([
    ['BONUS & DIVIDEND', 'Bonus 1:1/Dividend Rs 5 Per Share', 2, 5],
    ['DIVIDEND', 'Dividend - Rs 5 Per Share/Bonus 1:1', 2, 5],
    ['SPLIT', 'From Rs 10/- To Rs 2/- & Dividend Rs 5', 5, 5],
    ['BONUS AND DIVIDEND', '1:1', 2, null],
  ] as const)('has both: %s, %s', async (type, note, factor, amount) => {
    expect(await judge(market(before(4, factor), [[type, DAYS[4], note]]))).toEqual([
      expect.objectContaining({ factor, is_applied: 0 }),
      expect.objectContaining({
        kind: 'dividend',
        amount_inr: amount,
        reason: amount === null ? 'amount not read' : null,
      }),
    ])
  })
})

describe.skipIf(!duckdb)('what a trust pays', () => {
  it('counts for the total return, or says why not', async () => {
    const paid = PRICES.map((price, place) => (place < 4 ? price : price - 5))
    const out = market(paid, [
      ['INTEREST', DAYS[4], 'Rs 3 Per Unit'],
      ['RETURN OF CAPITAL', DAYS[4], '2'],
      ['INTEREST', DAYS[6], '8%'],
    ])
    const close = paid[3] as number
    expect((await readCloses(out, 'close_total_return'))[3]).toBeCloseTo(close - 5, 9)
    expect((await judge(out)).at(-1)).toMatchObject({ kind: 'dividend', reason: 'amount not read' })
  })
})

describe.skipIf(!duckdb)('two dividends of one amount and day', () => {
  it.each([
    ['DIVIDEND', 'INT DIV Rs 5', 'DIVIDEND', 'SPL DIV Rs 5'],
    ['DIVIDEND', 'Interim Dividend - Rs 5', 'DIVIDEND', 'Final Div. Rs 5'],
    ['DIVIDEND', 'FinDiv Rs 5', 'DIVIDEND', 'Spl. Dividend Rs 5'],
    ['DIVIDEND', 'Intm. Div Rs 5', 'DIVIDEND', 'Dividend Rs 5'],
    ['INT DIV', '5', 'Spl. Dividend', '5'],
    ['INTERIM_DIVIDEND', '5', 'FNL_DIV', '5'],
    ['RETURN OF CAPITAL', '5', 'INTEREST', '5'],
  ])('of %s %s and %s %s count twice', async (type, note, otherType, otherNote) => {
    const out = market(PRICES, [
      [type, DAYS[4], note],
      [otherType, DAYS[4], otherNote],
    ])
    expect((await judge(out)).map((row) => row.amount_inr)).toEqual([5, 5])
    expect((await readCloses(out, 'close_total_return'))[3]).toBeCloseTo(103 - 10, 9)
  })

  it.each([
    ['INT DIV', '5', 'INTERIM DIVIDEND', 'Re 5'],
    ['DIVIDEND', 'Spl Div Rs 5', 'SPECIAL DIVIDEND', '5'],
    ['DIVIDEND', 'Dividend for Fin. Year 2026 Rs 5', 'DIVIDEND', '5'],
    ['DIV', '5', 'DIVIDEND', '5'],
  ])('are one if %s %s and %s %s are one type', async (type, note, otherType, otherNote) => {
    const out = market(PRICES, [
      [type, DAYS[4], note],
      [otherType, DAYS[4], otherNote],
    ])
    expect((await judge(out)).map((row) => row.amount_inr)).toEqual([5])
  })
})

describe.skipIf(!duckdb)('the next dividend', () => {
  const next = async (...actions: readonly ListedAction[]) =>
    (
      await objectsOf(
        'select next_dividend_inr as amount, CAST(next_dividend_day AS VARCHAR) as day, next_action as action from screener',
        market(PRICES, actions),
      )
    )[0]
  it.each([
    [
      'written twice',
      20,
      [
        ['DIVIDEND', '20'],
        ['DIVIDEND', 'Rs 20 Per Share'],
      ],
    ],
    [
      'and a special one',
      40,
      [
        ['INTERIM DIVIDEND', '20'],
        ['SPECIAL DIVIDEND', '20'],
      ],
    ],
    ['whose amount is in its type', 5, [['DIVIDEND RS 5 PER SHARE', 'NA']]],
    ['beside a bonus', 5, [['BONUS', 'Bonus 1:1/Dividend Rs 5']]],
    ['of a trust', 2, [['DISTRIBUTION', 'Rs 2 Per Unit']]],
    [
      'with one of unknown amount',
      null,
      [
        ['INTERIM DIVIDEND', '20'],
        ['SPECIAL DIVIDEND', 'soon'],
      ],
    ],
  ] as const)('%s is %s', async (_, amount, actions) => {
    const day = '2026-02-20'
    expect(await next(...actions.map(([type, note]): ListedAction => [type, day, note]))).toMatchObject({
      amount,
      day,
    })
  })
})

describe.skipIf(!duckdb)("the exchange's row of a day", () => {
  const listed = (SERIES: string, CLOSE_PRICE: string) => ({
    SYMBOL: 'A',
    SERIES,
    DATE1: '11-Feb-2026',
    CLOSE_PRICE,
    TTL_TRD_QNTY: '1000',
    DELIV_QTY: '800',
    DELIV_PER: '80',
  })
  const readDay = (...rows: readonly object[]) =>
    objectsOf(
      `select exchange_close, delivery_pct from candles_daily where day = '${DAYS[7]}'`,
      market(PRICES, [], 'A', { 'exchange_daily/2026-02-11.json': rows }),
    )

  // NSEDownload/NSEDownload#13: bonds of the company under its symbol, the series N2 and N3.
  it('is that of the share, whatever bonds trade under its symbol', async () => {
    expect(await readDay(listed('N2', '31.04'), listed('EQ', '107'), listed('N3', '29.65'))).toEqual([
      { exchange_close: 107, delivery_pct: 80 },
    ])
    expect(await readDay(listed('N2', '31.04'))).toEqual([{ exchange_close: null, delivery_pct: null }])
  })

  // swapniljariwala/nsepy#154: weeks in the series BE were missing.
  it('is there in the weeks of trade-to-trade', async () => {
    expect(await readDay(listed('BE', '107'))).toEqual([{ exchange_close: 107, delivery_pct: 80 }])
  })
})
