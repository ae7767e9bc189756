import { map } from 'rxjs'
import { z } from 'zod'
import { json } from '../src/http/answer.js'
import { exactly, post } from '../src/http/endpoint.js'
import { record, rows } from '../src/http/shape.js'
import { assertSameIsin } from '../src/market/same-isin.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, Row } from '../src/model/row.js'
import type { Stock } from '../src/model/stock.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { perStock } from '../src/pipeline/work.js'

/** A news item as stored. `Sentiment` was positive, negative, neutral, mixed or empty so far; `PublishDate` is in epoch milliseconds. */
export interface NewsItem {
  readonly Title: string
  readonly Summary: string
  readonly Sentiment: string
  readonly PublishDate: number
  readonly Source: string
}

const NewsAnswer = z.looseObject({ data: z.looseObject({ latest_news: z.array(Row).nullish() }).nullable() })

const liveNews = post({
  name: 'news',
  host: 'news',
  path: '/v2/news/getLiveNews',
  input: z.strictObject({
    categories: exactly(['ALL']),
    page_no: z.literal(0),
    limit: z.int().min(1).max(100),
    first_news_timeStamp: z.literal(0),
    last_news_timeStamp: z.literal(0),
    news_feed_type: z.literal('live'),
    stock_list: z.tuple([z.string().length(12)]),
    entity_id: z.literal(''),
  }),
  read: (text, { stock_list: [isin] }, seen): readonly Row[] =>
    assertSameIsin(isin, json(NewsAnswer)(text, undefined, seen).data?.latest_news ?? []),
  shape: record({
    'code?': 'number',
    'status?': 'text|number',
    data: record({
      'latest_news~!': rows({
        ...{ 'publish_date!': 'millis|key', category: 'text' },
        'news_object!': record({ 'title!': 'text|key', 'text!': 'text', 'overall_sentiment!': 'text' }),
      }),
    }),
  }),
  sample: ({ stock_list: [isin], limit }, market) => {
    const random = market.random('news', isin)
    const name = market.stockByIsin(isin)?.Name
    const length = name === undefined || random.chance(0.15) ? 0 : Math.min(limit, random.int(1, 60))
    const latest_news = Array.from({ length }, (_, place) => ({
      publish_date: market.asOf - place * random.int(3_600_000, 90_000_000),
      category: random.pick(['earnings', 'order&deals', 'result,corporate_action', 'stocks']),
      news_object: {
        title: `${name} ${random.pick(['wins an order', 'reports its quarter', 'appoints a director', 'expands capacity'])}`,
        text: `${name} told the exchange about its plans. `.repeat(random.int(2, 6)),
        overall_sentiment: random.pick(['positive', 'negative', 'neutral', 'mixed', '']),
      },
    }))
    return { code: 0, data: { latest_news } }
  },
})

/** Converts an answer to a stored item, with the defaults of the interface document; a sentiment that it does not list stays as it is. */
const toNewsItem = ({ news_object, publish_date, category }: Row): NewsItem => {
  const news = isRow(news_object) ? news_object : {}
  return {
    Title: typeof news.title === 'string' ? news.title : '',
    Summary: typeof news.text === 'string' ? news.text : '',
    Sentiment: typeof news.overall_sentiment === 'string' ? news.overall_sentiment : 'neutral',
    PublishDate: typeof publish_date === 'number' ? publish_date : 0,
    Source: typeof category === 'string' ? category : '',
  }
}

/** The latest news of each stock with its sentiment; `PublishDate` is in epoch milliseconds. A stock without any has no file. */
export const marketNews = defineStream({
  name: 'market-news',
  summary: 'latest news of each stock',
  phase: 'enrichment',
  workers: 15,
  timeoutMs: 10_000,
  endpoints: [liveNews],
  work: perStock((stock, { ask, settings: { newsLimit } }) =>
    ask(liveNews, {
      categories: ['ALL'],
      page_no: 0,
      limit: newsLimit,
      first_news_timeStamp: 0,
      last_news_timeStamp: 0,
      news_feed_type: 'live',
      stock_list: [stock.ISIN],
      entity_id: '',
    }).pipe(map((rows) => createResult(rows.slice(0, newsLimit).map(toNewsItem)))),
  ),
  outputs: [
    {
      shape: 'document-per-item',
      file: 'market_news/{SYMBOL}_news.json',
      document: (News, { value }) => ({ Symbol: (value as Stock).Symbol, ISIN: (value as Stock).ISIN, News }),
    },
  ],
})
