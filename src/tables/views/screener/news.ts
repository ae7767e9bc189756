import { nameQuarter } from '../fundamentals.js'
import { IS_RESULT } from '../result-filings.js'
import {
  changing,
  col,
  dayColumn,
  numberColumn,
  RUN_DAY,
  reading,
  type ScreenerGroup,
  stringColumn,
  wholeColumn,
} from '../view.js'
import { RECENT } from './price.js'
import { results } from './results.js'

/** A common table expression: the filings, which are read once for several groups. */
const FILED =
  'filed AS (SELECT isin, day, filed_at, caption, descriptor, category, period_end, url FROM filings_unique)'

/** The last day of the quarter before some time. */
const endBefore = (time: string): string => `CAST(date_trunc('quarter', ${time}) - INTERVAL 1 DAY AS DATE)`
const RESULTS_END = endBefore('results_at')

const sinceBase = (close: string, isKnown = 'base_day IS NOT NULL'): string =>
  `if(${isKnown}, 100 * (${close} / NULLIF(base_close, 0) - 1), NULL)`

export const reaction: ScreenerGroup = {
  title: 'returns since the newest results',
  needs: ['filings_unique', 'announcements', 'candles_adjusted', 'quarters'],
  with: [
    RECENT,
    FILED,
    ...results.with,
    // Some companies file results only as the outcome of a meeting, and late ones those of an older quarter.
    `published AS (
      SELECT isin, filed_at AS known_at FROM filed WHERE ${IS_RESULT} AND coalesce(period_end >= ${endBefore('filed_at')}, true)
      UNION ALL SELECT isin, announced_at FROM announcements WHERE kind ILIKE '%result%'
    )`,
    // The first of them since the newest calendar quarter with one began. Before the end of the newest
    // quarter they are about an older one.
    `newest_results AS (
      SELECT isin, min(known_at) AS results_at FROM (SELECT *, date_trunc('quarter', known_at) AS season, max(date_trunc('quarter', known_at)) OVER (PARTITION BY isin) AS newest FROM published)
      LEFT JOIN (SELECT isin, quarter_end FROM results) USING (isin) WHERE season = newest AND (quarter_end IS NULL OR known_at > quarter_end) GROUP BY isin
    )`,
    // The base is the last session that had ended at 15:30 when the results came.
    `reaction AS (
      SELECT x.isin, x.results_at, if(x.results_at - c.ended_at < INTERVAL 10 DAY, c.day, NULL) AS base_day, c.close AS base_close, c.after AS after_close
      FROM newest_results AS x ASOF LEFT JOIN (SELECT *, day + TIME '15:30' AS ended_at FROM recent) AS c ON c.isin = x.isin AND x.results_at >= c.ended_at
    )`,
  ],
  alias: 'e',
  columns: [
    col(
      'results_at',
      'TIMESTAMP',
      'when the results of the newest quarter were first filed or announced, India time; NULL if unknown',
    ),
    stringColumn(
      'results_quarter',
      'the quarter that had ended before, which these results are of',
      nameQuarter(RESULTS_END),
    ),
    reading(
      ['reaction', 'results'],
      wholeColumn('figures_are_of_results', '1 if of it, 0 if older', `quarter_end >= ${RESULTS_END}`),
    ),
    dayColumn(
      'results_base_day',
      'last session that had ended (15:30) when they came, at most 10 days before',
      'base_day',
    ),
    numberColumn(
      'results_base_close_inr',
      'close of that session, rupees',
      'if(base_day IS NULL, NULL, base_close)',
    ),
    changing(
      numberColumn(
        'results_day_return_pct',
        'return of the first session after it, percent',
        sinceBase('after_close'),
      ),
    ),
    reading(
      ['price', 'reaction'],
      changing(
        numberColumn(
          'return_since_results_pct',
          'since then, percent',
          sinceBase('close_1', 'base_day < price_day'),
        ),
      ),
    ),
  ],
}

const sinceWeek = (day: string): string => `${day} > ${RUN_DAY} - 7 AND ${day} <= ${RUN_DAY}`

const ofWeek = (count: string, table: string): string =>
  `if(${RUN_DAY} IS NOT NULL AND EXISTS (FROM ${table}), coalesce(${count}, 0), NULL)`

/**
 * The values of the newest row. In a structure, because max_by passes over NULL and would take a value of
 * another row.
 */
const latestOf = (values: string, order: string): string =>
  `max_by(${values}, row(${order})) FILTER (${order.split(',')[0]} IS NOT NULL)`

export const latest: ScreenerGroup = {
  title: 'latest filing and news',
  needs: ['filings_unique', 'news_unique'],
  with: [
    FILED,
    `latest_filing AS (
      SELECT isin, max(filed_at) AS filed_at, ${latestOf("{'title': coalesce(caption, descriptor), 'url': url}", 'filed_at, url IS NOT NULL, coalesce(caption, descriptor), url')} AS last_filing,
        count(*) FILTER (${sinceWeek('day')}) AS filings FROM filed GROUP BY isin
    )`,
    `latest_news AS (
      SELECT isin, max(published_at) AS published_at, ${latestOf("{'title': NULLIF(title, ''), 'sentiment': sentiment}", 'published_at, title')} AS last_news,
        count(*) FILTER (${sinceWeek('day')}) AS news FROM news_unique GROUP BY isin
    )`,
    'latest AS (SELECT * FROM latest_filing FULL JOIN latest_news USING (isin))',
  ],
  alias: 't',
  columns: [
    col('filing_at', 'TIMESTAMP', 'when the latest filing was filed, India time', 'filed_at'),
    stringColumn('filing', 'title of the latest filing', 'last_filing.title'),
    stringColumn('filing_url', 'address of its document', 'last_filing.url'),
    wholeColumn(
      'filings_7d',
      'filings of the day of the run and the 6 days before',
      ofWeek('filings', 'filed'),
    ),
    col('news_at', 'TIMESTAMP', 'when the latest news was published, India time', 'published_at'),
    stringColumn('news', 'headline of the latest news', 'last_news.title'),
    stringColumn('news_sentiment', 'positive, negative, neutral or mixed', 'last_news.sentiment'),
    wholeColumn(
      'news_7d',
      'news of the day of the run and the 6 days before',
      ofWeek('t.news', 'news_unique'),
    ),
  ],
}
