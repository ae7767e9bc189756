import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEntities, ENTITIES } from '../../src/model/entities.js'
import { quoteText } from '../../src/storage/duckdb.js'
import { duckdb, folderWith, rowsOf } from '../tables/support.js'

const CASES = [
  ['Mahindra &amp; Mahindra: the Board&#39;s outcome', "Mahindra & Mahindra: the Board's outcome"],
  ['&quot;a&quot; &lt;b&gt; &apos;c&apos;', `"a" <b> 'c'`],
  ['&#x2019;&#8377; &#X41;&#065;', '’₹ AA'],
  ['&amp;#39; &amp;lt;', '&#39; &lt;'],
  ['M&M; R&D & &unknown; &#0; &#xD800; &#55296;', 'M&M; R&D & &unknown; &#0; &#xD800; &#55296;'],
  ['महिंद्रा &#2350;', 'महिंद्रा म'],
] as const

describe('the entities of HTML', () => {
  it.each(CASES)('of %j are decoded once', (text, decoded) => {
    expect(decodeEntities(text)).toBe(decoded)
  })

  it.skipIf(!duckdb)('are decoded alike in SQL', async () => {
    const part = fc.constantFrom(
      '&',
      '#',
      ';',
      'amp',
      'lt',
      '39',
      'x27',
      'a',
      ' ',
      '&amp;',
      '&#38;',
      '&#x26;',
      'म',
    )
    const texts = [
      ...CASES.map(([text]) => text),
      ...fc.sample(
        fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
        { numRuns: 500, seed: 1 },
      ),
    ]
    const rows = await rowsOf(
      `SELECT ${ENTITIES.sql('text')} FROM (SELECT unnest([${texts.map(quoteText).join(', ')}]) AS text)`,
      folderWith({ 'master_isin_map.json': [] }),
    )
    expect(rows.map(([text]) => text)).toEqual(texts.map(decodeEntities))
  })
})

describe.skipIf(!duckdb)('a document with entities on one path only', () => {
  it('is one filing, one news and one event', async () => {
    const filing = {
      news_date: '2026-02-11 18:00:00',
      descriptor: 'Outcome',
      news_body: '',
      file_url: 'https://x/a.pdf',
    }
    const news = { PublishDate: 1_770_000_000_000, Summary: '', Sentiment: '', Source: '' }
    const out = folderWith({
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE149K01016', Name: 'A', Sid: '1', FnoFlag: 0 }],
      'company_filings/A_filings.json': {
        code: 0,
        data: [
          { ...filing, caption: 'M &amp; M&#39;s' },
          { ...filing, caption: "M & M's", news_id: '1' },
        ],
      },
      'market_news/A_news.json': {
        Symbol: 'A',
        ISIN: 'INE149K01016',
        News: [
          { ...news, Title: '&quot;sell&quot;' },
          { ...news, Title: '"sell"' },
        ],
      },
    })
    expect(await rowsOf('select caption, copies from filings_unique', out)).toEqual([["M & M's", '2']])
    expect(await rowsOf('select title, copies from news_unique', out)).toEqual([['"sell"', '2']])
    expect(await rowsOf('select title from events order by 1', out)).toEqual([['"sell"'], ["M & M's"]])
  })
})
