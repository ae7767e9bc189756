import { nameBandSql } from '../../market/price-bands.js'
import { RESULT_PERIOD } from './result-filings.js'
import { FORMER_OWNERS, presentIsin } from './symbols.js'
import {
  col,
  dayColumn,
  defineView,
  identity,
  numberColumn,
  RUN_DAY,
  stringColumn,
  wholeColumn,
} from './view.js'

/**
 * Filings and news with the ISIN that their stock has now: of filings that of their file, which has one
 * company. News have a symbol of their own, perhaps one that another company has now; then theirs is that of
 * the candles. `symbol`: the SQL of the symbol.
 */
const ofStock = (table: string, symbol: string, relation = table): string => `(
  SELECT t.* REPLACE (${table === 'filings' ? "coalesce(s.isin, NULLIF(t.isin, ''))" : presentIsin('t', 's')} AS isin, ${symbol} AS symbol)
  FROM ${relation} AS t LEFT JOIN ${FORMER_OWNERS} AS o ON o.symbol = t.symbol AND o.isin = t.isin AND '${table}' = 'news'
    LEFT JOIN symbol_isins AS s ON s.symbol = coalesce(o.owner, t.symbol)
)`
const OWN_SYMBOL = 'coalesce(o.owner, t.symbol)'
/** The files of a former symbol have the same documents. */
const NOW = `coalesce(s.symbol_now, ${OWN_SYMBOL})`

const PRESENT_SYMBOL = stringColumn('symbol', 'trading symbol of the stock now')

export const filingsUnique = defineView({
  name: 'filings_unique',
  about:
    'filings without repetitions: one row for each stock, time, title and document, although only one path of the provider gives an id',
  needs: ['filings', 'symbol_isins'],
  columns: [
    stringColumn('isin', 'ISIN of the stock', 'max(isin)'),
    PRESENT_SYMBOL,
    dayColumn('day', 'day of the filing', 'CAST(filed_at AS DATE)'),
    col('filed_at', 'TIMESTAMP', 'when it was filed, India time'),
    stringColumn('caption', 'title', "max(NULLIF(caption, ''))"),
    stringColumn('descriptor', 'kind of filing', "max(NULLIF(descriptor, ''))"),
    stringColumn('category', 'finer kind; NULL if the exchange gave none', "max(NULLIF(category, ''))"),
    dayColumn(
      'period_end',
      'last day of the newest quarter that the title or text of results names; NULL if none, or of another filing',
      `max(${RESULT_PERIOD})`,
    ),
    stringColumn('url', 'address of the document', "NULLIF(url, '')"),
    stringColumn('news_id', 'id of the filing; NULL if it has none', "max(NULLIF(news_id, ''))"),
    wholeColumn('copies', 'rows of the table filings that this row stands for', 'count(*)'),
  ],
  from: `FROM ${ofStock('filings', NOW)} GROUP BY symbol, filed_at, coalesce(NULLIF(caption, ''), descriptor), NULLIF(url, '')`,
})

export const newsUnique = defineView({
  name: 'news_unique',
  about:
    'news without repetitions, one row for each stock, time and title; a renamed stock has the same news under both symbols',
  needs: ['news', 'symbol_isins'],
  columns: [
    stringColumn('isin', 'ISIN of the stock', 'max(isin)'),
    PRESENT_SYMBOL,
    dayColumn('day', 'day of the news', 'CAST(published_at AS DATE)'),
    col('published_at', 'TIMESTAMP', 'when it was published, India time'),
    stringColumn('title', 'headline'),
    stringColumn('sentiment', 'positive, negative, neutral or mixed', "max(NULLIF(sentiment, ''))"),
    stringColumn('summary', 'text of the news', 'max(summary)'),
    stringColumn('source', 'category of the news', 'max(source)'),
    wholeColumn('copies', 'rows of the table news that this row stands for', 'count(*)'),
  ],
  from: `FROM ${ofStock('news', NOW)} GROUP BY symbol, published_at, title`,
})

/**
 * The name of this view. Its days are in the history: `fillFirstSeen` puts the SQL that reads them in place
 * of `undated`.
 */
export const FIRST_SEEN_VIEW = 'first_seen'

/** Rows without the day on which they were first seen: all that is known without a history. */
export const undated = (relation: string): string =>
  `(SELECT *, CAST(NULL AS DATE) AS seen_on FROM ${relation})`

/** What tells the documents of single stocks apart in that view, by their table. */
export const SEEN_DOCUMENTS: Readonly<
  Record<string, Readonly<Record<'kind' | 'time' | 'title' | 'detail', string>>>
> = {
  filings: {
    kind: 'filing',
    time: 'filed_at',
    title: "coalesce(NULLIF(caption, ''), descriptor)",
    detail: "NULLIF(url, '')",
  },
  news: { kind: 'news', time: 'published_at', title: 'title', detail: 'source' },
}

const SEEN_SELECTS = [
  ...Object.entries(SEEN_DOCUMENTS).map(([table, { kind, time, title, detail }]) => {
    const documents = ofStock(table, OWN_SYMBOL, undated(table))
    return `SELECT isin, symbol, CAST(${time} AS DATE), ${time}, '${kind}', ${title}, ${detail}, seen_on FROM ${documents}`
  }),
  `SELECT isin, symbol, CAST(announced_at AS DATE), announced_at, 'announcement', event, kind, seen_on FROM ${undated('announcements')}`,
  `SELECT isin, symbol, day, NULL, 'deal', concat(kind, if(side = 'B', ' purchase by ', ' sale by '), client),
    concat(quantity, ' at ', price_inr, ' rupees on ', exchange), seen_on FROM ${undated('deals_valued')}`,
]

export const firstSeen = defineView({
  name: FIRST_SEEN_VIEW,
  about:
    'filings, news, announcements and deals with the day on which a recorded run first had them, one row each',
  needs: ['filings', 'news', 'announcements', 'deals_valued', 'symbol_isins'],
  columns: [
    stringColumn('isin', 'ISIN of the stock; NULL if no list names it', 'max(isin)'),
    stringColumn('symbol', 'trading symbol'),
    dayColumn('day', 'its own day, as the provider dates it'),
    col('happened_at', 'TIMESTAMP', 'its own time, India time; NULL for a deal'),
    stringColumn('kind', 'filing, news, announcement or deal'),
    stringColumn(
      'title',
      'title of the filing or news, text of the announcement, kind, side and client of the deal',
    ),
    stringColumn(
      'detail',
      'address of a filing, category of news, kind of announcement; of a deal shares, price in rupees and exchange',
    ),
    // Of copies of a filing, one that was there before the history began counts.
    dayColumn(
      'first_seen',
      'day of the first recorded run that had it; NULL if older',
      'if(count(seen_on) = count(*), min(seen_on), NULL)',
    ),
  ],
  from: `FROM (${SEEN_SELECTS.join(' UNION ALL ')}) AS all_seen (isin, symbol, day, happened_at, kind, title, detail, seen_on)
    GROUP BY symbol, day, happened_at, kind, title, detail`,
})

const EVENT_SELECTS = [
  "SELECT isin, symbol, day, filed_at, 'filing', coalesce(caption, descriptor), descriptor, NULL, NULL, url, NULL FROM filings_unique",
  "SELECT isin, symbol, day, published_at, 'news', title, sentiment, NULL, NULL, NULL, summary FROM news_unique",
  "SELECT isin, symbol, CAST(announced_at AS DATE), announced_at, 'announcement', event, kind, NULL, NULL, NULL, NULL FROM announcements",
  `SELECT isin, symbol, day, CAST(NULL AS TIMESTAMP), 'deal', kind || if(side = 'B', ' purchase by ', ' sale by ') || client, exchange, net_value_cr,
    'crore rupees', NULL, NULL FROM deals_valued`,
  "SELECT isin, symbol, day, CAST(NULL AS TIMESTAMP), 'corporate action', lower(action), terms, amount_inr, if(amount_inr IS NULL, NULL, 'rupees a share'), NULL, NULL FROM actions_unique",
  `SELECT s.isin, symbol, ${RUN_DAY}, CAST(NULL AS TIMESTAMP), 'price band', 'from ' || ${nameBandSql('from_band')} || ' to ' || ${nameBandSql('to_band')}, series, to_percent,
    if(to_percent IS NULL, NULL, 'percent'), NULL, NULL FROM band_changes LEFT JOIN symbol_isins AS s USING (symbol)`,
]

/** What matters more comes first. `words` are the title and the detail in small letters. */
const EVENT_RANKS = [
  "regexp_matches(words, 'financial results?|results? for|(audited|quarterly) results|outcome.*results')",
  "regexp_matches(words, '(award|receipt|secur|receiv|bag|win|won).{0,60}(order|contract)|letter of (award|intent|acceptance)')",
  "kind = 'deal'",
  "kind = 'corporate action'",
  "kind = 'price band' OR words LIKE '%surveillance%'",
  "words LIKE '%credit rating%'",
]
const EVENT_RANK = `CASE ${EVENT_RANKS.map((condition, place) => `WHEN ${condition} THEN ${place}`).join(' ')} ELSE ${EVENT_RANKS.length} END`

/** The order of events in which the one that matters most is first. */
export const BY_RANK = "rank, kind = 'announcement', happened_at DESC NULLS LAST, title"

export const events = defineView({
  name: 'events',
  about:
    'what happened to each stock: filings, news, announcements, deals, corporate actions and changes of the price band, one row each',
  needs: [
    'filings_unique',
    'news_unique',
    'announcements',
    'deals_valued',
    'actions_unique',
    'band_changes',
    'symbol_isins',
  ],
  columns: [
    ...identity('day of the event; of a corporate action the ex-date, which may lie ahead'),
    col('happened_at', 'TIMESTAMP', 'when, India time; NULL if only the day is known'),
    stringColumn('kind', 'filing, news, announcement, deal, corporate action or price band'),
    stringColumn('title', 'what happened'),
    stringColumn(
      'detail',
      'kind of filing or announcement, sentiment of news, exchange of a deal, terms of an action, series of a band',
    ),
    numberColumn('value', 'its value in the unit beside it; negative for a sale'),
    stringColumn('unit', 'unit of the value'),
    stringColumn('url', 'address of the document of a filing'),
    stringColumn('summary', 'text of news'),
    wholeColumn(
      'rank',
      'what matters most is 0: results, then orders, deals, corporate actions, bands and surveillance, ratings, the rest',
      EVENT_RANK,
    ),
  ],
  from: `FROM (SELECT *, lower(concat_ws(' ', title, detail)) AS words FROM (${EVENT_SELECTS.join(' UNION ALL ')}) AS all_events (isin, symbol, day, happened_at, kind, title, detail, value, unit, url, summary) WHERE day IS NOT NULL)`,
})
