import { col, defineView } from './view.js'

/** Filings without the same document twice. */
export const filingsUnique = defineView({
  name: 'filings_unique',
  about:
    'filings without repetitions: one row for each stock, time, title and document, although only one path of the provider gives an id',
  needs: ['filings'],
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock', 'max(isin)'),
    col('symbol', 'VARCHAR', 'trading symbol of the requested stock'),
    col('day', 'DATE', 'day of the filing', 'CAST(filed_at AS DATE)'),
    col('filed_at', 'TIMESTAMP', 'when it was filed, India time'),
    col('caption', 'VARCHAR', 'title', "max(NULLIF(caption, ''))"),
    col('descriptor', 'VARCHAR', 'kind of filing', "max(NULLIF(descriptor, ''))"),
    col('category', 'VARCHAR', 'finer kind; NULL if the exchange gave none', "max(NULLIF(category, ''))"),
    col('url', 'VARCHAR', 'address of the document', "NULLIF(url, '')"),
    col('news_id', 'VARCHAR', 'id of the filing; NULL if it has none', "max(NULLIF(news_id, ''))"),
    col('copies', 'BIGINT', 'rows of the table filings that this row stands for', 'count(*)'),
  ],
  from: "FROM filings GROUP BY symbol, filed_at, coalesce(NULLIF(caption, ''), descriptor), NULLIF(url, '')",
})
