import { describe, expect, it } from 'vitest'
import { duckdb, folderWith, objectsOf } from '../support.js'

const ISIN = 'INE009A01021'
const REPORT = { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} }
const FILES = {
  '.scripstream/report.json': REPORT,
  'master_isin_map.json': [{ Symbol: 'A', ISIN, Name: 'A', Sid: '1', FnoFlag: 0 }],
}

/** The columns of the screener for the only stock of a folder. */
const screen = async (columns: string, files: Readonly<Record<string, string | object>>) =>
  (await objectsOf(`select ${columns} from screener`, folderWith({ ...FILES, ...files })))[0]

/** A candle file: days with their closes. */
const candles = (days: readonly (readonly [day: string, close: number])[]): string =>
  `Timestamp,Open,High,Low,Close,Volume\n${days
    .map(
      ([day, close]) =>
        `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${close},${close},${close},${close},10`,
    )
    .join('\n')}\n`

const listedOn = (day: string) => ({
  'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,A,EQ,${day},5,1,${ISIN},5\n`,
})

describe.skipIf(!duckdb)('the screener reads prices by the calendar', () => {
  it('52 weeks end on the day of the newest candle, however rarely a stock trades', async () => {
    const row = await screen(
      'high_52w_inr, high_52w_day, low_52w_inr, breakout_52w, return_1y_pct, sma_5_inr',
      {
        'ohlcv_data/A.csv': candles([
          ['2025-02-10', 200],
          ['2025-02-12', 80],
          ['2025-08-01', 90],
          ['2026-02-11', 100],
        ]),
      },
    )
    expect(row).toEqual({
      high_52w_inr: 100,
      high_52w_day: '2026-02-11',
      low_52w_inr: 80,
      breakout_52w: 1,
      return_1y_pct: -50,
      sma_5_inr: null,
    })
  })

  it('a history that is shorter than 52 weeks counts from the listing, and if candles are missing since then it has no price of 52 weeks', async () => {
    const file = candles([
      ['2025-02-13', 80],
      ['2026-02-11', 100],
    ])
    const read = (more = {}) =>
      screen('high_52w_inr, listed_days, breakout_52w, new_high_52w, return_1y_pct', {
        'ohlcv_data/A.csv': file,
        ...more,
      })
    const counted = { high_52w_inr: 100, breakout_52w: 1, new_high_52w: 1, return_1y_pct: null }
    const none = { high_52w_inr: null, breakout_52w: null, new_high_52w: null, return_1y_pct: null }
    expect(await read()).toEqual({ listed_days: null, ...counted })
    expect(await read(listedOn('10-FEB-2025'))).toEqual({ listed_days: 366, ...counted })
    expect(await read(listedOn('06-OCT-2008'))).toEqual({ listed_days: 6337, ...none })
  })

  it('years count from the newest candle, also of a stock that no longer trades', async () => {
    const file = candles([
      ['2022-06-01', 10],
      ['2022-12-01', 40],
      ['2025-06-02', 80],
    ])
    expect((await screen('cagr_3y_pct', { 'ohlcv_data/A.csv': file }))?.cagr_3y_pct).toBeCloseTo(100, 9)
  })

  it.each([
    ['of 52 weeks', '2025-02-06', '06-OCT-2008', 1],
    ['since a listing within them', '2025-06-02', '30-MAY-2025', 1],
    ['of no stock whose candles are missing before', '2025-06-02', '06-OCT-2008', 0],
  ])('new highs of the breadth are those %s', async (_, first, listing, highs) => {
    const file = candles([
      ...(first < '2025-06-02' ? ([[first, 200]] as const) : []),
      ['2025-06-02', 90],
      ['2026-02-10', 95],
      ['2026-02-11', 94],
    ])
    const out = folderWith({ ...FILES, 'ohlcv_data/A.csv': file, ...listedOn(listing) })
    expect(
      await objectsOf(
        "select day, new_highs from breadth where level = 'market' and day > '2026-01-01' order by day",
        out,
      ),
    ).toEqual([
      { day: '2026-02-10', new_highs: highs },
      { day: '2026-02-11', new_highs: 0 },
    ])
  })
})

describe.skipIf(!duckdb)('the screener reads results', () => {
  const figures = { SALES: '100|90|80|50', NET_PROFIT: '8|7|6|4', EPS: '4|3|2|1', OPM: '20|19|18|15' }

  it('by the calendar where the provider skips a quarter', async () => {
    const block = { YEAR: '202512|202506|202503|202412', ...figures }
    const row = await screen(
      'sales_q0_cr, sales_q1_cr, sales_q2_cr, sales_q4_cr, sales_qoq_pct, sales_yoy_pct, eps_ttm_inr, opm_change_yoy_pct',
      {
        'fundamental_data.json': [{ Symbol: 'A', ISIN, incomeStat_cq: block }],
      },
    )
    expect(row).toEqual({
      sales_q0_cr: 100,
      sales_q1_cr: null,
      sales_q2_cr: 90,
      sales_q4_cr: 50,
      sales_qoq_pct: null,
      sales_yoy_pct: 100,
      eps_ttm_inr: null,
      opm_change_yoy_pct: 5,
    })
  })

  it('of one basis, also if the other one has a newer quarter', async () => {
    const row = await screen('results_basis, quarter_end, eps_yoy_pct, opm_change_yoy_pct', {
      'fundamental_data.json': [
        {
          Symbol: 'A',
          ISIN,
          incomeStat_cq: { YEAR: '202509|202506|202412|202409', ...figures },
          incomeStat_sq: { YEAR: '202512', EPS: '9', OPM: '9' },
        },
      ],
    })
    expect(row).toEqual({
      results_basis: 'consolidated',
      quarter_end: '2025-09-30',
      eps_yoy_pct: 300,
      opm_change_yoy_pct: 5,
    })
  })

  const filing = (news_date: string, descriptor: string, caption: string) => ({
    news_date,
    descriptor,
    caption,
    file_url: '',
    isin: ISIN,
  })
  const OLD = filing(
    '2025-10-20 17:00:00',
    'Financial Results',
    'Results of the quarter ended September 30 2025',
  )
  const quarterOf = (month: string) => ({
    'fundamental_data.json': [{ Symbol: 'A', ISIN, incomeStat_cq: { YEAR: month, SALES: '1' } }],
  })

  it.each([
    [
      'that came as the outcome of a board meeting',
      filing('2026-01-20 15:29:33', 'Outcome of Board Meeting', 'Results For Q3'),
      '2026-01-20 15:29:33',
    ],
    [
      'not with a notice of delay',
      filing('2026-02-02 10:00:00', 'Financial Results', 'Results-Delay in Financial Results'),
      '2025-10-20 17:00:00',
    ],
    [
      'not with a clarification',
      filing('2026-01-09 10:00:00', 'Clarification - Financial Results', 'Clarification sought'),
      OLD.news_date,
    ],
    [
      'with one that has the wrong year',
      filing('2026-01-20 10:00:00', 'Financial Results', 'Results for the quarter ended 31.12.2024'),
      '2026-01-20 10:00:00',
    ],
    ...[
      'for the quarter and half year ended on the 30th September 2025',
      'Second Quarter and Half\r\nYear',
      'of the 2nd quarter',
      'Q2FY26',
      'for 30/09/2025, which were due in 2025',
      'ended September 2025',
      'For The 01St Quarter Ended On The 30Th June 2025',
    ].map((period): [string, object, string] => [
      `not with late ones: ${period}`,
      filing('2026-01-02 10:00:00', 'Financial Results', `Unaudited Results ${period}`),
      OLD.news_date,
    ]),
    [
      'not with late ones, as the text says',
      {
        ...filing('2026-01-02 10:00:00', 'Financial Results', 'Outcome of Board Meeting'),
        news_body: 'Results of the quarter ended<BR>30th September, 2025 are enclosed.',
      },
      OLD.news_date,
    ],
    [
      'with those of two quarters, of which one is new',
      filing(
        '2026-02-09 10:00:00',
        'Financial Results',
        'Results for the quarter ended 31 December 2025, and review report of the quarter ended 30 September 2025',
      ),
      '2026-02-09 10:00:00',
    ],
    [
      'not with another outcome',
      filing('2026-01-20 10:00:00', 'Outcome of Board Meeting', 'Issue of shares'),
      '2025-10-20 17:00:00',
    ],
  ])('%s', async (_, newest, expected) => {
    const files = {
      'company_filings/A_filings.json': { code: 0, data: [newest, OLD] },
      ...quarterOf('202509'),
    }
    expect(await screen('results_at', files)).toEqual({ results_at: expected })
  })

  it('not with a filing from before the end of the newest quarter', async () => {
    const files = { 'company_filings/A_filings.json': { code: 0, data: [OLD] } }
    expect(await screen('results_at', { ...files, ...quarterOf('202512') })).toEqual({ results_at: null })
    expect(await screen('results_at', files)).toEqual({ results_at: OLD.news_date })
  })
})

describe.skipIf(!duckdb)('the screener reads lists', () => {
  const deal = (sym: string, isin: string) => ({
    date: '2026-02-11 00:00:00',
    sym,
    isin,
    exch: 'NSE',
    deal: 'BULK',
    bs: 'B',
    cname: 'X',
    qty: 10,
    avgprice: 5,
  })

  it('the latest filing and news without values of older ones', async () => {
    const filing = {
      news_date: '2026-02-11 10:00:00',
      caption: 'Old',
      descriptor: 'General',
      file_url: 'https://a.example/1.pdf',
      isin: ISIN,
    }
    const news = [
      { Title: 'New', Sentiment: '', PublishDate: 1_770_800_000_000 },
      { Title: 'Old', Sentiment: 'positive', PublishDate: 1_770_700_000_000 },
    ]
    const data = [{ ...filing, news_date: '2026-02-12 10:00:00', caption: null, file_url: null }, filing]
    const row = await screen('filing, filing_url, filings_7d, news, news_sentiment', {
      'company_filings/A_filings.json': { code: 0, data },
      'market_news/A_news.json': { Symbol: 'A', ISIN, News: news },
    })
    expect(row).toEqual({
      filing: 'General',
      filing_url: null,
      filings_7d: 2,
      news: 'New',
      news_sentiment: null,
    })
  })

  it('untitled filings of different kinds apart', async () => {
    const filing = { news_date: '2026-02-12 10:00:00', caption: '', file_url: null, isin: ISIN }
    const data = ['Board Meeting', 'Dividend'].map((descriptor) => ({ ...filing, descriptor }))
    const out = folderWith({ ...FILES, 'company_filings/A_filings.json': { code: 0, data } })
    expect(
      await objectsOf('select caption, descriptor, url from filings_unique order by descriptor', out),
    ).toEqual(data.map(({ descriptor }) => ({ caption: null, descriptor, url: null })))
  })

  it('lists that have another ISIN of the stock since a split', async () => {
    const row = await screen('deals_7d, asm_stage, face_value_inr', {
      'bulk_block_deals.json': [deal('A', 'INE009A01039'), deal('A', 'INE777Z01011')],
      'nse_asm_list.json': [{ Symbol: 'A', ISIN: 'INE009A01039', Name: 'A', Stage: 'LTASM - I (13)' }],
      'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,A,EQ,06-OCT-2008,5,1,INE009A01039,2\n`,
    })
    expect(row).toEqual({ deals_7d: 1, asm_stage: 'LTASM - I (13)', face_value_inr: 2 })
  })

  it('no deals as 0, and without a list of deals as NULL', async () => {
    const columns = 'deals_7d, deals_bought_7d_cr, deals_net_7d_cr'
    expect(
      Object.values((await screen(columns, { 'bulk_block_deals.json': [deal('B', 'INE002A01018')] })) ?? {}),
    ).toEqual([0, 0, 0])
    expect(Object.values((await screen(columns, {})) ?? {})).toEqual([null, null, null])
  })

  it.each([
    [-4.85, 'lower'],
    [4.85, 'upper'],
  ])('a stock in the lists of both limits at that of its change of %s %', async (ChangePercent, circuit) => {
    const row = { Symbol: 'A', Name: 'A', LTP: 5, ChangePercent, Volume: 1 }
    const files = { 'upper_circuit_stocks.json': [row], 'lower_circuit_stocks.json': [row] }
    expect(await screen('circuit', files)).toEqual({ circuit })
  })

  it('the price band of the series of the stock', async () => {
    const band = { Symbol: 'A', 'Security Name': 'A', Remarks: '-' }
    const bands = [
      { ...band, Series: 'W1', Band: '40' },
      { ...band, Series: 'EQ', Band: '5' },
      { ...band, Series: 'AA', Band: '20' },
    ]
    expect(
      await screen('series, band_pct', { 'complete_price_bands.json': bands, ...listedOn('06-OCT-2008') }),
    ).toEqual({
      series: 'EQ',
      band_pct: 5,
    })
  })

  it('actions and results ahead apart, and the dividends of one day together', async () => {
    const row = await screen(
      'next_action, next_action_day, next_dividend_inr, next_dividend_day, next_results_day',
      {
        'upcoming_corporate_actions.json': [
          {
            Sym: 'A',
            CorpAct: [
              { ActType: 'QUARTERLY RESULT ANNOUNCEMENT', ExDate: '2026-02-13', Note: 'NA' },
              { ActType: 'DIVIDEND', ExDate: '2026-02-18', Note: '11' },
              { ActType: 'DIVIDEND', ExDate: '2026-02-18', Note: '46' },
              { ActType: 'BONUS', ExDate: '2026-02-17', Note: '1:1' },
            ],
          },
        ],
      },
    )
    expect(row).toEqual({
      next_action: 'bonus',
      next_action_day: '2026-02-17',
      next_dividend_inr: 57,
      next_dividend_day: '2026-02-18',
      next_results_day: '2026-02-13',
    })
  })

  it('an unknown dividend without the amount of a later one', async () => {
    const actions = [
      { ActType: 'DIVIDEND', ExDate: '2026-02-18', Note: 'NA' },
      { ActType: 'DIVIDEND', ExDate: '2026-03-18', Note: '5' },
    ]
    expect(
      await screen('next_dividend_inr, next_dividend_day', {
        'upcoming_corporate_actions.json': [{ Sym: 'A', CorpAct: actions }],
      }),
    ).toEqual({ next_dividend_inr: null, next_dividend_day: '2026-02-18' })
  })
})
