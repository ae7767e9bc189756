import { describe, expect, it } from 'vitest'
import { readFeed } from '../../../src/show/happened.js'
import { readWholeList } from '../../../src/show/whole-lists.js'
import { candleFile, marketWith, report } from '../../show/support.js'
import { duckdb, objectsOf } from '../support.js'

const [EARLIER, BEFORE, TODAY] = ['2026-02-10', '2026-02-11', '2026-02-12'] as const
const at = (text: string): number => Date.parse(`${text}+05:30`)

const SYMBOLS = [
  'ACTION',
  'BAND',
  'CALM',
  'DEAL',
  'FILING',
  'LATE',
  'NEWS',
  'NONE',
  'OLD',
  'ORDER',
  'RESULT',
  'STALE',
] as const
const isinOf = (symbol: string): string =>
  `INE0000000${String(10 + SYMBOLS.indexOf(symbol as (typeof SYMBOLS)[number]))}`

const stocks = SYMBOLS.map((symbol) => ({
  Symbol: symbol,
  ISIN: isinOf(symbol),
  Name: `${symbol} Ltd`,
  Sid: '1',
  FnoFlag: 0,
}))

const filings = (...all: readonly (readonly [time: string, caption: string])[]) => ({
  data: all.map(([news_date, caption]) => ({ news_date, caption })),
})
const news = (symbol: string, time: string, title: string) => ({
  Symbol: symbol,
  News: [{ Title: title, PublishDate: at(time) }],
})

const candlesOf = (symbol: string): string => {
  if (symbol === 'STALE')
    return candleFile([
      ['2026-02-03', 100],
      ['2026-02-04', 110],
    ])
  return candleFile([
    [EARLIER, 100],
    [BEFORE, 100],
    [TODAY, symbol === 'CALM' ? 105 : symbol === 'DEAL' ? 94 : 106],
  ])
}

const FILES = {
  '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
  'master_isin_map.json': stocks,
  ...Object.fromEntries(SYMBOLS.map((symbol) => [`ohlcv_data/${symbol}.csv`, candlesOf(symbol)])),
  'company_filings/RESULT_filings.json': filings(
    [`${TODAY} 12:00:00`, 'Credit Rating'],
    [`${BEFORE} 18:05:00`, 'Unaudited financial results for the quarter'],
  ),
  'company_filings/ORDER_filings.json': filings(
    [`${TODAY} 10:00:00`, 'Newspaper publication'],
    [`${TODAY} 09:00:00`, 'Receipt of a large order'],
  ),
  'company_filings/FILING_filings.json': filings([`${TODAY} 09:30:00`, 'Change of auditor']),
  'company_filings/LATE_filings.json': filings(
    [`${TODAY} 18:00:00`, 'Financial results'],
    [`${TODAY} 11:00:00`, 'Press release'],
  ),
  'company_filings/OLD_filings.json': filings([`${EARLIER} 18:00:00`, 'Financial results']),
  'company_filings/CALM_filings.json': filings([`${TODAY} 11:00:00`, 'Financial results']),
  'company_filings/STALE_filings.json': filings(['2026-02-04 11:00:00', 'Financial results']),
  'market_news/NEWS_news.json': news('NEWS', `${TODAY}T08:00:00`, 'Shares jump'),
  'bulk_block_deals.json': [
    {
      sym: 'DEAL',
      date: TODAY,
      avgprice: 94,
      bs: 'S',
      cname: 'A FUND',
      deal: 'BULK',
      exch: 'NSE',
      qty: 1000,
    },
  ],
  'incremental_price_bands.json': [{ Symbol: 'BAND', Series: 'EQ', From: '10', To: '5' }],
  'upcoming_corporate_actions.json': [
    { Sym: 'ACTION', CorpAct: [{ ActType: 'DEMERGER', ExDate: TODAY, Note: '' }] },
  ],
}

describe.skipIf(!duckdb)('why a price moved by more than 5 %', () => {
  it('is what matters most since the session before, and NULL for smaller changes and old candles', async () => {
    const { root } = marketWith(FILES)
    const rows = await objectsOf('select symbol, why from screener', root)
    expect(Object.fromEntries(rows.map(({ symbol, why }) => [symbol, why]))).toEqual({
      ACTION: 'corporate action 12 Feb: demerger',
      BAND: 'price band 12 Feb: from 10 % to 5 %',
      CALM: null,
      DEAL: 'deal 12 Feb: BULK sale by A FUND',
      FILING: 'filing 12 Feb 09:30: Change of auditor',
      LATE: 'filing 12 Feb 11:00: Press release',
      NEWS: 'news 12 Feb 08:00: Shares jump',
      NONE: 'nothing known',
      OLD: 'nothing known',
      ORDER: 'filing 12 Feb 09:00: Receipt of a large order',
      RESULT: 'filing 11 Feb 18:05: Unaudited financial results for the quarter',
      STALE: null,
    })
  })

  it('stands in the one table, and agrees with what happened since the last close', async () => {
    const folder = marketWith(FILES)
    const list = await readWholeList(folder, 'stocks')
    const place = list?.columns.findIndex(({ name }) => name === 'why') ?? -1
    expect(list?.rows.filter((row) => row[place] === 'nothing known').length).toBe(2)
    const first = (await readFeed(folder)).rows[0]
    expect(first?.events[0]?.title).toBe('Financial results')
  })
})
