import { describe, expect, it } from 'vitest'
import { readDocuments } from '../../src/show/documents.js'
import { marketWith, report, stock } from './support.js'

const at = (text: string): number => Date.parse(`${text}+05:30`)

describe('filings, news, announcements and deals of the day', () => {
  const deal = (day: string, sym: string, bs: string, qty: number) => ({
    date: `${day} 00:00:00`,
    sym,
    bs,
    qty,
    avgprice: 100,
    cname: 'X',
    deal: 'BULK',
  })

  it('are the deals of the newest day by value, also of stocks that have no page', async () => {
    const [day, before] = ['2026-02-12', '2026-02-11']
    const folder = marketWith({
      'master_isin_map.json': [stock('A')],
      'bulk_block_deals.json': [deal(day, 'A', 'B', 10), deal(before, 'A', 'S', 999), deal(day, 'OTHER', 'S', 2e5)],
      'all_company_announcements.json': [{ Symbol: 'A', events: 'E', date: '2026-02-10 18:00:00', type: 'T' }],
    })
    const { deals, announcements } = await readDocuments(folder)
    expect(deals).toMatchObject({ about: { day }, total: 2, rows: [{ side: 'sold', valueCr: 2, hasNoPage: true }, { side: 'bought' }] })
    expect(announcements).toMatchObject({ total: 1, rows: [{ symbol: 'A', name: 'A Ltd', at: '2026-02-10 18:00', title: 'E', kind: 'T' }] })
  })

  it('name a damaged file', async () => {
    const { announcements } = await readDocuments(
      marketWith({ 'master_isin_map.json': [stock('A')], 'all_company_announcements.json': '[{"Sym' }),
    )
    expect(announcements).toMatchObject({
      rows: [],
      about: { problem: 'all_company_announcements.json is damaged; move it away and run again' },
    })
  })

  it('are those of the newest day up to the run, newest first', async () => {
    const folder = marketWith({
      'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
      'company_filings/A_filings.json': {
        data: [
          { news_date: '2026-02-12 09:00:00', caption: 'early', file_url: 'ftp://x' },
          { news_date: '2026-02-11 09:00:00', caption: 'old' },
        ],
      },
      'company_filings/B_filings.json': {
        data: [{ news_date: '2026-02-12 19:00:00', caption: 'late', descriptor: 'Results', file_url: 'https://x.example/y' }],
      },
      'market_news/A_news.json': {
        Symbol: 'A',
        News: [
          { Title: 'ahead', PublishDate: at('2026-03-01T00:00:00') },
          { Title: 'bad', Sentiment: 'Negative', PublishDate: at('2026-02-12T00:10:00') },
          { Title: 'none', PublishDate: 'x' },
        ],
      },
      '.scripstream/report.json': report({ 'company-filings': ['success'], 'market-news': ['success'] }),
    })
    const { filings, news, sentiments } = await readDocuments(folder)
    expect(filings).toMatchObject({ about: { day: '2026-02-12' }, total: 2 })
    expect(filings.rows).toEqual([
      { symbol: 'B', name: 'B Ltd', at: '2026-02-12 19:00', title: 'late', kind: 'Results', url: 'https://x.example/y' },
      { symbol: 'A', name: 'A Ltd', at: '2026-02-12 09:00', title: 'early' },
    ])
    expect(news.rows).toMatchObject([{ symbol: 'A', at: '2026-02-12 00:10', title: 'bad', sentiment: 'negative' }])
    expect(sentiments).toEqual({ negative: 1 })
  })

  it('without files have no day, and the reason', async () => {
    const { filings } = await readDocuments(marketWith({ 'master_isin_map.json': [stock('A')] }))
    expect(filings).toEqual({ about: { problem: 'not fetched yet: no run has finished in this folder' }, rows: [], total: 0 })
  })
})
