import { moment, type Table, text } from './table.js'

const filingsTable: Table = {
  name: 'filings',
  comment: 'filings with the exchange, newest first within a stock',
  shape: 'document',
  files: [{ path: 'company_filings/{item}_filings.json' }],
  items: 'stocks',
  lists: ['data'],
  columns: [
    text('symbol', { file: 'symbol' }, 'trading symbol of the requested stock'),
    text('isin', 'isin', 'ISIN of the stock'),
    moment('filed_at', 'news_date', 'when it was filed, India time'),
    text('caption', 'caption', 'title'),
    text('descriptor', 'descriptor', 'kind of filing'),
    text('category', 'cat', 'finer kind; NULL if the exchange gave none'),
    text('body', 'news_body', 'short text'),
    text('url', 'file_url', 'address of the document'),
    text('news_id', 'news_id', 'id of the filing; NULL if it has none'),
  ],
}

const newsTable: Table = {
  name: 'news',
  comment: 'latest news of each stock',
  shape: 'document',
  files: [{ path: 'market_news/{item}_news.json' }],
  items: 'stocks',
  lists: ['News'],
  columns: [
    text('symbol', { document: ['Symbol'] }, 'trading symbol'),
    text('isin', { document: ['ISIN'] }, 'ISIN of the stock'),
    moment(
      'published_at',
      'PublishDate',
      'when it was published, India time',
      (value) => `make_timestamp((NULLIF(TRY_CAST(${value} AS BIGINT), 0) + 19800000) * 1000)`,
    ),
    text('title', 'Title', 'headline'),
    text('summary', 'Summary', 'a few sentences'),
    text('sentiment', 'Sentiment', 'positive, negative, neutral or mixed'),
    text('source', 'Source', 'category of the news'),
  ],
}

const announcementsTable: Table = {
  name: 'announcements',
  comment: 'announcements of each stock',
  shape: 'array',
  files: [{ path: 'all_company_announcements.json' }],
  columns: [
    text('symbol', 'Symbol', 'trading symbol'),
    text('isin', 'ISIN', 'ISIN of the stock'),
    moment('announced_at', 'date', 'India time'),
    text('kind', 'type', 'such as Results Update'),
    text('event', 'events', 'text of the announcement'),
  ],
}

/** The tables of filings, news and announcements. */
export const textTables: readonly Table[] = [filingsTable, newsTable, announcementsTable]
