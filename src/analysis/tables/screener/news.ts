import { col, RUN_DAY } from '../view.js'
import type { ScreenerGroup } from './group.js'

/** How the price moved since the newest results. */
export const reaction: ScreenerGroup = {
  title: 'returns since the newest results',
  needs: ['filings_unique', 'announcements', 'candles_adjusted'],
  with: [
    // The first filing or announcement of results since the newest quarter with one began.
    `published AS (
      SELECT isin, filed_at AS known_at FROM filings_unique WHERE descriptor ILIKE '%financial result%' OR category ILIKE '%financial result%'
      UNION ALL SELECT isin, announced_at FROM announcements WHERE kind ILIKE '%result%'
    )`,
    `newest_results AS (
      SELECT isin, min(known_at) AS results_at FROM (SELECT *, date_trunc('quarter', known_at) AS season, max(date_trunc('quarter', known_at)) OVER (PARTITION BY isin) AS newest FROM published)
      WHERE season = newest GROUP BY isin
    )`,
    // The base is the last session that had ended at 15:30 when the results came.
    `reaction AS (
      SELECT x.isin, x.results_at, if(x.results_at - c.ended_at < INTERVAL 10 DAY, c.day, NULL) AS base_day, c.close AS base_close, c.after AS after_close
      FROM newest_results AS x ASOF LEFT JOIN (SELECT *, day + TIME '15:30' AS ended_at FROM recent) AS c ON c.isin = x.isin AND x.results_at >= c.ended_at
    )`,
  ],
  alias: 'e',
  columns: [
    col('results_at', 'TIMESTAMP', 'when the newest results were filed or announced, India time'),
    col('results_base_day', 'DATE', 'last session that had ended (15:30) when they came', 'base_day'),
    col('results_base_close_inr', 'DOUBLE', 'close of that session, rupees', 'if(base_day IS NULL, NULL, base_close)'),
    col(
      'results_day_return_pct',
      'DOUBLE',
      'return of the first session after it, percent',
      'if(base_day IS NULL, NULL, 100 * (after_close / NULLIF(base_close, 0) - 1))',
    ),
    col(
      'return_since_results_pct',
      'DOUBLE',
      'return since then, percent; NULL without a later session',
      'if(base_day < price_day, 100 * (close_1 / NULLIF(base_close, 0) - 1), NULL)',
    ),
  ],
}

const sinceWeek = (day: string): string => `${day} > ${RUN_DAY} - 7 AND ${day} <= ${RUN_DAY}`

/** The latest filing and news. */
export const latest: ScreenerGroup = {
  title: 'latest filing and news',
  needs: ['filings_unique', 'news'],
  with: [
    `latest_filing AS (
      SELECT isin, max(filed_at) AS filed_at, max_by(coalesce(caption, descriptor), filed_at) AS caption, max_by(url, filed_at) AS url,
        count(*) FILTER (${sinceWeek('day')}) AS filings FROM filings_unique GROUP BY isin
    )`,
    `latest_news AS (
      SELECT isin, max(published_at) AS published_at, max_by(title, published_at) AS title, max_by(sentiment, published_at) AS sentiment,
        count(*) FILTER (${sinceWeek('CAST(published_at AS DATE)')}) AS news FROM news GROUP BY isin
    )`,
    'latest AS (SELECT * FROM latest_filing FULL JOIN latest_news USING (isin))',
  ],
  alias: 't',
  columns: [
    col('filing_at', 'TIMESTAMP', 'when the latest filing was filed, India time', 'filed_at'),
    col('filing', 'VARCHAR', 'title of the latest filing', 'caption'),
    col('filing_url', 'VARCHAR', 'address of its document', 'url'),
    col('filings_7d', 'BIGINT', 'filings of the last 7 days', 'if(filed_at IS NULL, NULL, filings)'),
    col('news_at', 'TIMESTAMP', 'when the latest news was published, India time', 'published_at'),
    col('news', 'VARCHAR', 'headline of the latest news', 'title'),
    col('news_sentiment', 'VARCHAR', 'positive, negative, neutral or mixed', 'sentiment'),
    col('news_7d', 'BIGINT', 'news of the last 7 days', 'if(published_at IS NULL, NULL, t.news)'),
  ],
}
