import { describe, expect, it } from 'vitest'
import { readFeed } from '../../src/show/happened.js'
import { readWholeList } from '../../src/show/whole-lists.js'
import { duckdb } from '../tables/support.js'
import { candleFile, marketWith, report, stock } from './support.js'

const at = (text: string): number => Date.parse(`${text}+05:30`)

it('has what happened on the newest day up to the run, by stock, the largest first, and no address but of the web', async () => {
  const folder = marketWith({
    'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
    'master_data_response.json': [{ Sym: 'B', Isin: 'INE000000002', Mcap: 9e5 }],
    'company_filings/A_filings.json': {
      data: [
        { news_date: '2026-02-12 09:00:00', caption: 'early', file_url: 'ftp://x' },
        { news_date: '2026-02-11 09:00:00', caption: 'old' },
      ],
    },
    'company_filings/B_filings.json': {
      data: [
        {
          news_date: '2026-02-12 19:00:00',
          caption: 'late',
          descriptor: 'Results',
          file_url: 'https://x.example/y',
        },
      ],
    },
    'market_news/A_news.json': {
      Symbol: 'A',
      News: [
        { Title: 'ahead', PublishDate: at('2026-03-01T00:00:00') },
        { Title: 'bad', Sentiment: 'Negative', PublishDate: at('2026-02-12T00:10:00') },
        { Title: 'none', PublishDate: 'x' },
      ],
    },
    'bulk_block_deals.json': '[{"date":',
    '.scripstream/report.json': report({
      'company-filings': ['success'],
      'market-news': ['success'],
      'bulk-block-deals': ['success'],
    }),
  })
  const { day, stocks, kinds, rows, problems } = await readFeed(folder)
  expect({ day, stocks, kinds }).toEqual({ day: '2026-02-12', stocks: 2, kinds: { filing: 2, news: 1 } })
  expect(rows.find(({ symbol }) => symbol === 'B')).toMatchObject({
    name: 'B Ltd',
    events: [{ time: '19:00', kind: 'filing', title: 'late', detail: 'Results', url: 'https://x.example/y' }],
  })
  expect(rows.find(({ symbol }) => symbol === 'A')).toMatchObject({
    total: 2,
    events: [
      { time: '09:00', kind: 'filing', title: 'early' },
      { time: '00:10', kind: 'news', title: 'bad', detail: 'negative' },
    ],
  })
  expect(JSON.stringify(rows)).not.toContain('ftp:')
  expect(problems).toContain('bulk_block_deals.json is damaged; move it away and run again')
})

const filing = (news_date: string, caption: string) => ({ news_date, caption })
const sinceFriday = {
  'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
  'master_data_response.json': [{ Sym: 'A', Isin: stock('A').ISIN, Mcap: 9e5 }],
  'ohlcv_data/A.csv': candleFile([
    ['2026-02-05', 1],
    ['2026-02-06', 1],
  ]),
  'company_filings/A_filings.json': {
    data: [
      filing('2026-02-06 15:29:00', 'in the session'),
      filing('2026-02-06 18:05:00', 'in the evening'),
      filing('2026-02-09 07:10:00', 'in the morning'),
      filing('2027-01-01 09:00:00', 'dated ahead'),
    ],
  },
  'company_filings/B_filings.json': {
    data: [
      filing('2026-02-07 12:00:00', 'Unaudited Financial Results'),
      filing('2026-02-09 07:00:00', 'Award of an order'),
    ],
  },
}

describe.skipIf(!duckdb)('after a session, what happened since its end', () => {
  const at = (asOf: string) =>
    marketWith({ ...sinceFriday, '.scripstream/report.json': report({}, { asOf }) })

  it('over a weekend and the night, what matters most first', async () => {
    const { day, since, stocks, kinds, rows } = await readFeed(at('2026-02-09T02:00:00.000Z'))
    expect({ day, since, stocks, kinds }).toEqual({
      day: '2026-02-09',
      since: '2026-02-06',
      stocks: 2,
      kinds: { filing: 4 },
    })
    expect(
      rows.map(({ symbol, events }) => [symbol, events.map(({ time, title }) => [time, title])]),
    ).toEqual([
      [
        'B',
        [
          ['7 Feb 12:00', 'Unaudited Financial Results'],
          ['07:00', 'Award of an order'],
        ],
      ],
      [
        'A',
        [
          ['07:10', 'in the morning'],
          ['6 Feb 18:05', 'in the evening'],
        ],
      ],
    ])
  })

  it('before the end of a session since that of the one before', async () => {
    const { since, kinds } = await readFeed(at('2026-02-06T09:55:00.000Z'))
    expect({ since, kinds }).toEqual({ since: '2026-02-05', kinds: { filing: 2 } })
  })

  it('with as many rows in its list, by the same kinds', async () => {
    const list = await readWholeList(at('2026-02-09T02:00:00.000Z'), 'happened')
    const title = list?.columns.findIndex(({ name }) => name === 'title') ?? -1
    expect(list?.rows.map((row) => row[title])).toEqual([
      'Unaudited Financial Results',
      'Award of an order',
      'in the morning',
      'in the evening',
    ])
  })
})
