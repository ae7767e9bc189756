import { expect, it } from 'vitest'
import { readFeed } from '../../src/show/market.js'
import { marketWith, report, stock } from './support.js'

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
