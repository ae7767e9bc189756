import { col, defineView } from './view.js'

/** The name of this view. Its days are in the history: `fillFirstSeen` puts the SQL that reads them in place of `undated`. */
export const FIRST_SEEN_VIEW = 'first_seen'

/** Rows without the day on which they were first seen: all that is known without a history. */
export const undated = (relation: string): string => `(SELECT *, CAST(NULL AS DATE) AS seen_on FROM ${relation})`

const SELECTS = [
  `SELECT isin, symbol, CAST(filed_at AS DATE), filed_at, 'filing', coalesce(NULLIF(caption, ''), descriptor), NULLIF(url, ''), seen_on
    FROM ${undated('filings')}`,
  `SELECT isin, symbol, CAST(published_at AS DATE), published_at, 'news', title, source, seen_on FROM ${undated('news')}`,
  `SELECT isin, symbol, CAST(announced_at AS DATE), announced_at, 'announcement', event, kind, seen_on FROM ${undated('announcements')}`,
  `SELECT isin, symbol, day, NULL, 'deal', concat(kind, if(side = 'B', ' purchase by ', ' sale by '), client),
    concat(quantity, ' at ', price_inr, ' rupees on ', exchange), seen_on FROM ${undated('deals_valued')}`,
]

/** Since when filings, news, announcements and deals are known. */
export const firstSeen = defineView({
  name: FIRST_SEEN_VIEW,
  about: 'filings, news, announcements and deals with the day on which a recorded run first had them, one row each',
  needs: ['filings', 'news', 'announcements', 'deals_valued'],
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock; NULL if no list names it', 'max(isin)'),
    col('symbol', 'VARCHAR', 'trading symbol'),
    col('day', 'DATE', 'its own day, as the provider dates it'),
    col('happened_at', 'TIMESTAMP', 'its own time, India time; NULL for a deal'),
    col('kind', 'VARCHAR', 'filing, news, announcement or deal'),
    col('title', 'VARCHAR', 'title of the filing or news, text of the announcement, kind, side and client of the deal'),
    col(
      'detail',
      'VARCHAR',
      'address of the document of a filing, category of news, kind of announcement; of a deal shares, average price in rupees and exchange',
    ),
    // Of copies of a filing, one that was there before the history began counts.
    col(
      'first_seen',
      'DATE',
      'day in India of the first recorded run that had it; NULL if it was there before the history began, or no recorded run has had it',
      'if(count(seen_on) = count(*), min(seen_on), NULL)',
    ),
  ],
  from: `FROM (${SELECTS.join(' UNION ALL ')}) AS all_seen (isin, symbol, day, happened_at, kind, title, detail, seen_on)
    GROUP BY symbol, day, happened_at, kind, title, detail`,
})
