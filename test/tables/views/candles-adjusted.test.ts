import { describe, expect, it } from 'vitest'
import { workedQueries } from '../../../src/tables/worked-queries.js'
import { duckdb, folderWith, objectsOf } from '../support.js'
import { before, DAYS, ISIN, market, PRICES, toLine } from './one-stock.js'

const read = (out: string) =>
  objectsOf('select day, close, volume, factor, close_total_return from candles_adjusted order by day', out)

describe.skipIf(!duckdb)('adjusted candles', () => {
  it.each([
    ['a split 2:10', before(4, 5), [['SPLIT', DAYS[4], '2:10']], 5],
    ['a split written 10:2', before(4, 5), [['SPLIT', DAYS[4], '10:2']], 5],
    ['a bonus 1:1', before(4, 2), [['BONUS', DAYS[4], '1:1']], 2],
    ['a bonus 1:10', before(4, 1.1), [['BONUS', DAYS[4], '1:10']], 1.1],
    [
      'a split in both lists',
      before(4, 10),
      [
        ['SPLIT', DAYS[4], '1:10'],
        ['SPLIT', DAYS[4], '1:10'],
      ],
      10,
    ],
    ['a split on a day without a session', before(5, 10), [['SPLIT', '2026-02-07', '1:10']], 10],
    // The provider lists the record date of some splits. If it is a Saturday, the share trades without it
    // from Friday on.
    [
      'a bonus on Friday and a split listed for Saturday, which belong together',
      before(4, 15),
      [
        ['BONUS', DAYS[4], '2:1'],
        ['SPLIT', '2026-02-07', '2:10'],
      ],
      15,
    ],
  ] as const)('have no jump at %s that the provider has not applied', async (_, closes, actions, factor) => {
    const rows = await read(market(closes, actions as never))
    expect(rows.map(({ close }) => Math.round(Number(close) * 1e6) / 1e6)).toEqual(PRICES)
    expect(rows[0]).toMatchObject({ factor, volume: 1000 * factor })
    expect(rows.at(-1)).toMatchObject({ factor: 1, volume: 1000 })
  })

  it('stay as stored if the provider has applied the action, if it lies ahead, and at a move without an action', async () => {
    const ahead = [['SPLIT', '2026-02-20', '1:10']] as const
    for (const out of [market(PRICES, [['SPLIT', DAYS[4] as string, '2:10']]), market(PRICES, ahead)])
      expect((await read(out)).map(({ close, factor }) => [close, factor])).toEqual(
        PRICES.map((price) => [price, 1]),
      )
    expect((await read(market(before(4, 5), []))).map(({ close }) => close)).toEqual(before(4, 5))
  })

  it.each([
    ['1:10', 100],
    ['1:20', 103],
    ['1:1', 66],
  ])('stay as stored at a bonus %s to come, however much the price falls before', async (note, close) => {
    const closes = [...PRICES.slice(0, 7), close]
    const out = market(closes, [['BONUS', '2026-02-13', note]])
    expect((await read(out)).map(({ close, factor }) => [close, factor])).toEqual(
      closes.map((price) => [price, 1]),
    )
    expect(await objectsOf('select day, is_applied, reason from adjustments', out)).toEqual([
      { day: '2026-02-13', is_applied: null, reason: 'no candles of its day' },
    ])
  })

  it.each([DAYS[5], DAYS[7]])('follow a split of %s whatever else is to come', async (day) => {
    const index = DAYS.indexOf(day)
    const out = market(before(index, 10), [
      ['SPLIT', day, '1:10'],
      ['BONUS', '2026-02-12', '1:1'],
    ])
    expect((await read(out)).map(({ close }) => close)).toEqual(PRICES)
  })

  it('combine a split with a bonus, of which the provider has applied one', async () => {
    const actions = [
      ['BONUS', DAYS[2] as string, '1:1'],
      ['SPLIT', DAYS[5] as string, '2:10'],
    ] as const
    expect((await read(market(before(5, 5), actions))).map(({ close }) => close)).toEqual(PRICES)
    const neither = PRICES.map((price, index) => price * (index < 2 ? 2 : 1) * (index < 5 ? 5 : 1))
    const rows = await read(market(neither, actions))
    expect(rows.map(({ close, factor }) => [close, factor])).toEqual(
      PRICES.map((price, index) => [price, index < 2 ? 10 : index < 5 ? 5 : 1]),
    )
  })

  it('have each close as a run of its day collected it, whichever of the later actions the provider has applied', async () => {
    const actions = [
      ['BONUS', DAYS[2] as string, '1:1'],
      ['SPLIT', DAYS[5] as string, '2:10'],
    ] as const
    const first = PRICES.map((price, index) => price * (index < 2 ? 2 : 1) * (index < 5 ? 5 : 1))
    for (const stored of [first, before(5, 5), PRICES]) {
      const rows = await objectsOf(
        'select close, close_first from candles_adjusted order by day',
        market(stored, actions),
      )
      expect(rows.map(({ close, close_first }) => [close, close_first])).toEqual(
        PRICES.map((price, index) => [price, first[index]]),
      )
    }
  })

  it('find the actions of a stock under its former symbol', async () => {
    expect(
      (await read(market(before(4, 5), [['SPLIT', DAYS[4] as string, '2:10']], 'OLD'))).map(
        ({ close }) => close,
      ),
    ).toEqual(PRICES)
  })

  it('have a total return with dividends, in shares of today', async () => {
    // 10 rupees a share on a close of 105 before; the later split has made one share five, and the provider
    // has applied it.
    const flat = [21, 21, 21, 19, 19, 19, 19, 19]
    const rows = await read(
      market(flat, [
        ['DIVIDEND', DAYS[3] as string, '10'],
        ['SPLIT', DAYS[6] as string, '2:10'],
      ]),
    )
    expect(rows.map(({ close }) => close)).toEqual(flat)
    for (const { close_total_return } of rows) expect(close_total_return).toBeCloseTo(19, 9)
  })

  it('count two dividends of one amount whose types are in their terms, and copies once', async () => {
    const notes = [
      'Interim Dividend - Rs 2 Per Share',
      'Special Dividend - Rs 2 Per Share',
      'Interim dividend Rs. 2/-',
    ]
    const out = market(PRICES, [
      ...notes.map((note) => ['DIVIDEND', DAYS[3], note] as const),
      ['DIVIDEND', DAYS[5], 'Rs 1'],
      ['DIVIDEND', DAYS[5], 'Rs. 1/-'],
    ])
    const sums =
      'select sum(amount_inr) as sum, count(factor) as n from adjustments group by day order by day'
    expect(await objectsOf(sums, out)).toEqual([
      { sum: 4, n: 2 },
      { sum: 1, n: 1 },
    ])
    const listed = 'select count(*) as n from actions_unique'
    expect(await objectsOf(listed, out)).toEqual([{ n: 3 }])
  })

  it('have a total return with a dividend in percent of the face value before a later split', async () => {
    // 250 % of 10 rupees are 25 for an old share, 5 for a new one; the list has the face value of today.
    const paid = PRICES.map((price, place) => (place < 3 ? price : price - 5))
    const actions = [
      ['DIVIDEND', DAYS[3], '250%'],
      ['SPLIT', DAYS[6], '2:10'],
    ] as const
    const out = market(paid, actions, 'A', {
      'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,A,EQ,01-JAN-2020,2,1,${ISIN},2\n`,
    })
    expect(await objectsOf("select amount_inr from adjustments where kind = 'dividend'", out)).toEqual([
      { amount_inr: 5 },
    ])
    const rows = await objectsOf('select close_total_return as c from candles_adjusted order by day', out)
    expect(rows[2]?.c).toBeCloseTo(102 - 5, 9)
  })

  it('have the last of two candles of one day', async () => {
    const out = folderWith({
      'master_isin_map.json': [{ Symbol: 'A', ISIN, Name: 'A', Sid: '1', FnoFlag: 0 }],
      'ohlcv_data/A.csv': `Timestamp,Open,High,Low,Close,Volume\n${[toLine(DAYS[0] as string, 1), toLine(DAYS[1] as string, 9), toLine(DAYS[1] as string, 2)].join('\n')}\n`,
    })
    expect((await read(out)).map(({ close }) => close)).toEqual([1, 2])
    expect(
      (await objectsOf('select close from candle_days order by day', out, 0)).map(({ close }) => close),
    ).toEqual([1, 2])
    expect(await objectsOf('from candles', out, 0)).toHaveLength(3)
  })

  it.each([
    ['a consolidation that is written as a split', before(4, 0.1), [['SPLIT', DAYS[4], '10:1']], 0.1, 0, 0.1],
    ['a consolidation', before(4, 0.1), [['CONSOLIDATION', DAYS[4], '10:1']], 0.1, 0, 0.1],
    ['a consolidation that the provider has applied', PRICES, [['SPLIT', DAYS[4], '10:1']], 0.1, 1, 0.1],
    [
      'a change of face value in words',
      before(4, 5),
      [['SPLIT', DAYS[4], 'From Rs 10/- Per Share To Rs 2/- Per Share']],
      5,
      0,
      5,
    ],
    ['a sub-division', before(4, 5), [['SUB-DIVISION', DAYS[4], '2:10']], 5, 0, 5],
    ['a bonus whose terms are all shares to held ones', before(4, 3), [['BONUS', DAYS[4], '3:1']], 3, 0, 3],
    ['a split that trades a session later', before(5, 5), [['SPLIT', DAYS[4], '2:10']], 5, 0, 5],
  ] as const)('know %s', async (_, closes, actions, factor, isApplied, first) => {
    const out = market(closes, actions as never)
    expect(await objectsOf('select factor, is_applied, reason from adjustments', out)).toEqual([
      { factor: expect.closeTo(factor, 9), is_applied: isApplied, reason: null },
    ])
    const rows = await objectsOf('select close, close_first from candles_adjusted order by day', out)
    rows.forEach(({ close }, place) => {
      expect(close).toBeCloseTo(PRICES[place] as number, 9)
    })
    expect(rows[0]?.close_first).toBeCloseTo(100 * first, 9)
  })

  it.each(['BONUS NCRPS', 'BONUS DEBENTURE'])('have nothing to do with %s', async (type) => {
    const out = market(PRICES, [[type, DAYS[4] as string, '4:1']])
    expect(await objectsOf('from adjustments', out)).toEqual([])
    expect((await objectsOf('select close_first from candles_adjusted order by day', out))[0]).toEqual({
      close_first: 100,
    })
  })

  it('divide by the sum of the dividends of a day: copies count once, two kinds of one amount twice', async () => {
    const [day, later] = [DAYS[4] as string, DAYS[6] as string]
    const dividends = [
      ['INTERIM DIVIDEND', day, '20'],
      ['SPECIAL DIVIDEND', day, 'Rs 20 Per Share'],
      ['SPECIAL DIVIDEND', day, 'Rs 20 Per Share'],
      ['DIVIDEND', later, 'soon'],
    ] as const
    const out = market(PRICES, dividends)
    const rows = await objectsOf('select close_total_return from candles_adjusted order by day', out)
    expect(rows[3]?.close_total_return).toBeCloseTo(103 - 40, 9)
    expect(await objectsOf('select amount_inr, reason from adjustments order by day', out)).toEqual([
      { amount_inr: 20, reason: null },
      { amount_inr: 20, reason: null },
      { amount_inr: null, reason: 'amount not read' },
    ])
  })

  it('have no factor of a demerger, which the screener marks', async () => {
    const day = DAYS[4] as string
    const out = market(before(4, 2.7), [['DEMERGER', day, 'NA']])
    expect(await objectsOf('select kind, factor, is_applied, reason from adjustments', out)).toEqual([
      { kind: 'demerger', factor: null, is_applied: null, reason: 'price unknown' },
    ])
    expect(await objectsOf('select crosses_action from screener', out)).toEqual([{ crosses_action: day }])
    for (const name of ['momentum', 'drawdowns', 'after-results'])
      expect(await objectsOf(workedQueries.find((one) => one.name === name)?.sql ?? '', out)).toEqual([])
  })

  it('say what they know about each action', async () => {
    const out = market(before(4, 5), [
      ['SPLIT', DAYS[4] as string, '2:10'],
      ['RIGHTS', DAYS[6] as string, '300:167'],
      ['BUYBACK', DAYS[6] as string, 'NA'],
    ])
    expect(
      await objectsOf(
        'select isin, symbol, day, kind, terms, factor, is_applied, close_before_inr from adjustments order by day',
        out,
      ),
    ).toEqual([
      {
        isin: ISIN,
        symbol: 'A',
        day: DAYS[4],
        kind: 'split',
        terms: '2:10',
        factor: 5,
        is_applied: 0,
        close_before_inr: 515,
      },
      {
        isin: ISIN,
        symbol: 'A',
        day: DAYS[6],
        kind: 'rights',
        terms: '300:167',
        factor: null,
        is_applied: null,
        close_before_inr: 105,
      },
    ])
  })
})
