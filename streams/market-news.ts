import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { exactly, post } from '../src/http/endpoint.js'
import { assertSameIsin, mergeShrunk } from '../src/market/list-rules.js'
import { decodeEntities, ENTITIES } from '../src/model/entities.js'
import type { SampleDocument, SampleQuarter } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, readText } from '../src/model/row.js'
import { type BuiltRowOf, column, Row, row, startOf, textColumn } from '../src/model/row-schema.js'
import { type Stock, StockRecord } from '../src/model/stock.js'
import { toDocumentColumns } from '../src/model/table.js'
import { formatSecond } from '../src/model/trading-day.js'
import { keepUnique } from '../src/operators/row-lists.js'

/**
 * A news item as stored. `Sentiment` was positive, negative, neutral, mixed or empty so far; `PublishDate` is
 * in epoch milliseconds.
 */
export const NewsItem = row({
  PublishDate: column(z.number(), {
    about: 'when it was published, India time',
    sql: ['published_at', 'TIMESTAMP'],
    convert: {
      sql: (millis) => `make_timestamp((NULLIF(TRY_CAST(${millis} AS BIGINT), 0) + 19800000) * 1000)`,
      value: (millis) => (Number(millis) > 0 ? formatSecond(Number(millis)) : undefined),
    },
    possible: { past: (millis) => startOf(formatSecond(Number(millis))) },
  }),
  Title: textColumn('headline', 'title', { convert: ENTITIES }),
  Summary: textColumn('a few sentences', 'summary', { convert: ENTITIES }),
  Sentiment: textColumn('positive, negative, neutral or mixed', 'sentiment'),
  Source: textColumn('category of the news', 'source'),
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
  read: (text, { stock_list: [isin] }, seen, earlier): readonly Row[] =>
    assertSameIsin(isin, json(NewsAnswer)(text, undefined, seen).data?.latest_news ?? [], earlier),
  shape: row({
    code: z.number().optional(),
    status: z.union([z.string(), z.number()]).optional(),
    data: row({ latest_news: column(z.array(AnsweredNews), { usual: true, required: true }) }),
  }),
  sample: ({ stock_list: [isin], limit }, market) => {
    const stock = market.stockByIsin(isin)
    const character = market.random('news', isin)
    const isLarge = stock !== undefined && stock.Mcap >= LARGE_MCAP
    const perYear = isLarge
      ? 20 + 100 * character.next()
      : character.chance(0.15)
        ? 0
        : 3 + 40 * character.next() * character.next()
    const found = stock
      ? market.documents(stock, 'news', { perYear, count: Math.min(limit, 50), days: 450 })
      : []
    const results = stock && found.length > 0 ? market.results(stock, 12) : []
    const latest_news = found.map((document) => sampleNews(stock?.Name ?? '', document, results))
    return { code: 0, data: { latest_news } }
  },
})

/** ₹ crore. */
const LARGE_MCAP = 50_000

/** As often as captured. */
const CATEGORIES = [
  'stocks',
  'stocks',
  'stocks',
  'stocks',
  'co_actions_results',
  'co_actions_results',
  'co_actions_results',
  'corporate_action',
  'corporate_action',
  'stock',
  'stock',
  'result',
  'default',
  'order&deals',
  'corporate_governance',
  'result,corporate_governance',
] as const
const SENTIMENTS = [
  'positive',
  'positive',
  'positive',
  'positive',
  'positive',
  'neutral',
  'neutral',
  'neutral',
  'negative',
  'mixed',
] as const

/** What news are about: a headline, and how the first sentence goes on. */
const SUBJECTS = [
  'wins order worth ₹{12..2400} crore; it is from {a state utility|a railway company|an overseas client|a public-sector refinery|a private developer}, and due in {6..48} months',
  'expands in {Pune|Chennai|Hosur|Vadodara|Nagpur|Kochi|Indore|Jaipur|Guwahati}; {50..900} people are to work there, and its own cash flow pays for it',
  'appoints a new {finance chief|independent director|head of operations|company secretary}; the term is {2..5} years',
  'raises ₹{25..900} crore by debentures; they are placed privately at {7..11}.{0..9} %',
  'to meet investors; the call with analysts lasts {30..90} minutes, for {5..60} of them',
  'has a rating of its debentures reaffirmed; the agency looks again in {6..18} months, at debt of ₹{15..2900} crore',
] as const
const REMARKS = [
  'The management expects demand to change by {2..25} % over the next {2..6} quarters.',
  'Analysts of {3..28} houses follow the stock, and {1..3} of them changed their view in the past month.',
  'Shares of {3..30} other companies of the sector {rose|fell} on the day.',
  'Costs of raw materials were {0..9}.{1..9} % {lower|higher} than a quarter ago.',
  'The matter needs the consent of the shareholders, who vote within {14..60} days.',
] as const

/** So long are results news. */
const RESULTS_MS = 14 * 86_400_000

/**
 * A news item. Its text never changes; one about results has the figures that were the newest at its time.
 */
const sampleNews = (name: string, { at, random }: SampleDocument, results: readonly SampleQuarter[]): Row => {
  const category = random.pick(CATEGORIES)
  const place = category.includes('result')
    ? results.findIndex(({ publishedAt }) => publishedAt <= at && at - publishedAt < RESULTS_MS)
    : -1
  const [now, before] = [results[place], results[place + 4]]
  const growth = now && before && ((now.profit / before.profit - 1) * 100).toFixed(1)
  const ofResults =
    now &&
    growth &&
    `reports profit of ₹${now.profit} crore; it is ${growth} % from a year ago, on sales of ₹${now.sales} crore`
  const subject = `${name} ${ofResults || random.fill(random.pick(SUBJECTS))}`
  const start = random.int(0, REMARKS.length - 1)
  const remarks = [...REMARKS, ...REMARKS].slice(start, start + random.int(1, random.int(1, REMARKS.length)))
  return {
    publish_date: at + random.int(0, 999),
    category,
    news_object: {
      title: subject.split(';')[0],
      text: random.fill([`${subject}.`, ...remarks].join(' ')),
      overall_sentiment: random.chance(0.02) ? '' : random.pick(SENTIMENTS),
    },
  }
}

/**
 * Converts an answer to a stored item, with the defaults of the interface document; a sentiment that it does
 * not list stays as it is.
 */
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

const LIMIT = 'must be a whole number from 1 to 100'
const newsOptions = {
  newsLimit: z
    .int(LIMIT)
    .min(1, LIMIT)
    .max(100, LIMIT)
    .default(50)
    .meta({ description: 'news items per stock', resume: 'same', variable: 'NEWS_LIMIT' }),
}

const toNewsKey = ({ PublishDate, Title }: NewsItem): string => `${PublishDate} ${Title}`

/**
 * The latest news of each stock with its sentiment; `PublishDate` is in epoch milliseconds. A stock without
 * any has no file.
 */
export const marketNews = defineStream({
  name: 'market-news',
  summary: 'latest news of each stock',
  phase: 'enrichment',
  position: 7,
  workers: 15,
  timeoutMs: 10_000,
  endpoints: [liveNews],
  options: newsOptions,
  work: perStock((stock, tools, file) => {
    const { newsLimit } = tools.options(newsOptions)
    return tools
      .ask(liveNews, {
        categories: ['ALL'],
        page_no: 0,
        limit: newsLimit,
        first_news_timeStamp: 0,
        last_news_timeStamp: 0,
        news_feed_type: 'live',
        stock_list: [stock.ISIN],
        entity_id: '',
      })
      .pipe(
        map((rows) => createResult(rows.slice(0, newsLimit).map(toNewsItem))),
        mergeShrunk(file, tools, {
          list: 'News',
          isin: stock.ISIN,
          most: newsLimit,
          expect: (stored) => stored.slice(0, newsLimit),
          merge: (rows, stored) =>
            keepUnique([...rows, ...stored], toNewsKey, () => false)
              .toSorted((one, other) => other.PublishDate - one.PublishDate)
              .slice(0, newsLimit),
        }),
      )
  }),
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
          changes: {
            section: 'news',
            key: ({ PublishDate, Title }) => `${readText(PublishDate)}_${readText(Title)}`,
            document: ({ Title }) => ({ title: decodeEntities(readText(Title)) }),
          },
          position: 5,
        },
      ],
    },
  ],
})
