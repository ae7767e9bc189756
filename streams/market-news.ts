import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { exactly, post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, Row } from '../src/model/row.js'
import { type BuiltRowOf, column, row } from '../src/model/row-schema.js'
import { type Stock, StockRecord } from '../src/model/stock.js'
import { toDocumentColumns } from '../src/model/table.js'
import { formatSecond } from '../src/model/trading-day.js'

/** A news item as stored. `Sentiment` was positive, negative, neutral, mixed or empty so far; `PublishDate` is in epoch milliseconds. */
export const NewsItem = row({
  PublishDate: column(z.number(), {
    about: 'when it was published, India time',
    sql: ['published_at', 'TIMESTAMP'],
    convert: {
      sql: (millis) => `make_timestamp((NULLIF(TRY_CAST(${millis} AS BIGINT), 0) + 19800000) * 1000)`,
      value: (millis) => (Number(millis) > 0 ? formatSecond(Number(millis)) : undefined),
    },
  }),
  Title: column(z.string(), { about: 'headline', sql: 'title' }),
  Summary: column(z.string(), { about: 'a few sentences', sql: 'summary' }),
  Sentiment: column(z.string(), { about: 'positive, negative, neutral or mixed', sql: 'sentiment' }),
  Source: column(z.string(), { about: 'category of the news', sql: 'source' }),
})
export interface NewsItem extends BuiltRowOf<typeof NewsItem> {}

/** A news item as answered. */
const AnsweredNews = row({
  publish_date: column(z.number(), { format: 'millis', required: true, key: true }),
  category: z.string(),
  news_object: column(
    row({
      title: column(z.string(), { required: true, key: true }),
      text: column(z.string(), { required: true }),
      overall_sentiment: column(z.string(), { required: true }),
    }),
    { required: true, key: true },
  ),
})

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
  shape: row({
    code: z.number().optional(),
    status: z.union([z.string(), z.number()]).optional(),
    data: row({ latest_news: column(z.array(AnsweredNews), { usual: true, required: true }) }),
  }),
  sample: ({ stock_list: [isin], limit }, market) => {
    const random = market.random('news', isin)
    const name = market.stockByIsin(isin)?.Name
    const length = name === undefined || random.chance(0.15) ? 0 : Math.min(limit, random.int(1, 60))
    const latest_news = Array.from({ length }, (_, place) => ({
      publish_date: market.published(place * random.int(3_600_000, 90_000_000)).at,
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
  position: 7,
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
      tables: [
        {
          name: 'news',
          about: 'latest news of each stock',
          lists: ['News'],
          identity: ['PublishDate', 'Title'],
          columns: [...toDocumentColumns(StockRecord), NewsItem],
          position: 5,
        },
      ],
    },
  ],
})
