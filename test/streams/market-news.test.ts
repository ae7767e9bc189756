import { describe, expect, it } from 'vitest'
import { ALPHA, BETA, type Collecting, collect } from './support.js'

const FILE = 'market_news/ALPHA_news.json'

const news = (items: unknown, more: Partial<Collecting> = {}) =>
  collect({
    stream: 'market-news',
    answer: () => ({ data: { latest_news: items } }),
    master: [ALPHA],
    ...more,
  })

const itemOf = async (item: unknown): Promise<unknown> =>
  JSON.parse((await news([item])).text(FILE) ?? 'null').News[0]

describe('market-news', () => {
  it('sends the request of the interface document, with the ISIN of the stock', async () => {
    const { requests } = await news([])
    expect(requests).toMatchObject([
      {
        path: '/news/v2/news/getLiveNews',
        body: {
          categories: ['ALL'],
          page_no: 0,
          limit: 50,
          first_news_timeStamp: 0,
          last_news_timeStamp: 0,
          news_feed_type: 'live',
          stock_list: [ALPHA.Isin],
          entity_id: '',
        },
      },
    ])
  })

  it('maps an item to the five fields of the document', async () => {
    const item = {
      news_object: { title: 'ALPHA wins', text: 'An order.', overall_sentiment: 'positive', other: 1 },
      publish_date: 1_770_890_400_000,
      category: 'order&deals',
      other: 2,
    }
    const { text, script } = await news([item])
    const written = {
      Title: 'ALPHA wins',
      Summary: 'An order.',
      Sentiment: 'positive',
      PublishDate: 1_770_890_400_000,
      Source: 'order&deals',
    }
    expect(text(FILE)).toBe(`${JSON.stringify({ Symbol: 'ALPHA', ISIN: ALPHA.Isin, News: [written] })}\n`)
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1 }, files: 1 })
  })

  const defaults = { Title: '', Summary: '', Sentiment: 'neutral', PublishDate: 0, Source: '' }
  it.each([
    { what: 'nothing', item: {} },
    { what: 'no news object', item: { news_object: null, publish_date: null, category: null } },
    { what: 'an empty news object', item: { news_object: {} } },
  ])('falls back to the document’s defaults for an item with $what', async ({ item }) => {
    expect(await itemOf(item)).toEqual(defaults)
  })

  it.each(['mixed', '', 'negative'])('hands on the sentiment %j as answered', async (overall_sentiment) => {
    expect(await itemOf({ news_object: { overall_sentiment } })).toEqual({
      ...defaults,
      Sentiment: overall_sentiment,
    })
  })

  it('stores titles and texts unchanged', async () => {
    const texts = { title: ' Ünïcode “quoted”\n', text: '\tIndented text ' }
    expect(await itemOf({ news_object: texts, category: ' a,b ' })).toEqual({
      ...defaults,
      Title: texts.title,
      Summary: texts.text,
      Source: ' a,b ',
    })
  })

  it('retains the order of the answer, and at most the configured number of items', async () => {
    const items = ['c', 'a', 'b'].map((title) => ({
      news_object: { title, text: '', overall_sentiment: '' },
      publish_date: 1_770_890_400_000,
    }))
    const { text, requests } = await news(items, {
      settings: { options: { 'market-news': { newsLimit: 2 } } },
    })
    expect(JSON.parse(text(FILE) ?? '').News.map(({ Title }: { Title: string }) => Title)).toEqual(['c', 'a'])
    expect(requests[0]?.body).toMatchObject({ limit: 2 })
  })

  it.each([
    { what: 'an empty list', answer: { data: { latest_news: [] } } },
    { what: 'null for a list', answer: { data: { latest_news: null } } },
    { what: 'no list', answer: { data: {} } },
    { what: 'null data', answer: { data: null } },
  ])('writes no file for $what and counts the stock as empty', async ({ answer }) => {
    const { script, report, text } = await collect({
      stream: 'market-news',
      answer: () => answer,
      master: [ALPHA],
    })
    expect(script.items).toMatchObject({ empty: 1, success: 0 })
    expect(report.outcome).toBe('complete')
    expect(text(FILE)).toBeUndefined()
  })

  it.each([
    { status: 429, as: 'rate_limit', attempts: 18 },
    { status: 503, as: 'http_503', attempts: 6 },
    { status: 404, as: 'http_404', attempts: 1 },
    { status: 204, as: 'http_204', attempts: 1 },
  ])(
    'ends a stock that is answered $status as $as after $attempts attempts, without a file',
    async ({ status, as, attempts }) => {
      const answer: Collecting['answer'] = ({ body }) =>
        JSON.stringify(body).includes(ALPHA.Isin) ? status : { data: { latest_news: [{}] } }
      const { script, report, requests, text } = await news([], { answer, master: [ALPHA, BETA] })
      expect(script.items).toMatchObject({ [as]: 1, success: 1 })
      expect(script.problems[0]).toMatchObject({ item: 'ALPHA', status: as })
      expect(report.outcome).toBe('partial')
      expect(requests).toHaveLength(attempts + 1)
      expect(text(FILE)).toBeUndefined()
    },
  )

  it('sends no retry after a 429 if none is permitted, except in the second pass', async () => {
    const { script, requests } = await news([], { answer: () => 429, settings: { throttleRetries: 0 } })
    expect(script.items).toMatchObject({ rate_limit: 1 })
    expect(script).toMatchObject({ retries: 0, rateLimited: 2 })
    expect(requests).toHaveLength(2)
  })

  it('counts a stock as failed if its answer is an HTML page, with that reason', async () => {
    const { script } = await news([], { answer: () => '<!DOCTYPE html><html>Access Denied</html>' })
    expect(script.items).toMatchObject({ error: 1 })
    expect(script.problems[0]?.reason).toMatch(/: html: .*"Access Denied"/)
  })
})
