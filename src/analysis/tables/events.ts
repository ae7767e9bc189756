import { col, defineView, RUN_DAY } from './view.js'

const NO_TIME = 'CAST(NULL AS TIMESTAMP)'

/** One source of events: its values in the order of the columns, and where they come from. */
const selectEvents = (values: readonly string[], from: string): string => `SELECT ${values.join(', ')} FROM ${from}`

const SELECTS = [
  selectEvents(
    ['isin', 'symbol', 'day', 'filed_at', "'filing'", 'coalesce(caption, descriptor)', 'descriptor', 'NULL', 'NULL'],
    'filings_unique',
  ),
  selectEvents(['isin', 'symbol', 'CAST(published_at AS DATE)', 'published_at', "'news'", 'title', 'sentiment', 'NULL', 'NULL'], 'news'),
  selectEvents(
    ['isin', 'symbol', 'CAST(announced_at AS DATE)', 'announced_at', "'announcement'", 'event', 'kind', 'NULL', 'NULL'],
    'announcements',
  ),
  selectEvents(
    [
      'isin',
      'symbol',
      'day',
      NO_TIME,
      "'deal'",
      "kind || if(side = 'B', ' purchase by ', ' sale by ') || client",
      'exchange',
      'net_value_cr',
      "'crore rupees'",
    ],
    'deals_valued',
  ),
  selectEvents(
    [
      's.isin',
      'symbol',
      'ex_date',
      NO_TIME,
      "'corporate action'",
      'lower(action)',
      'note',
      'amount',
      "if(amount IS NULL, NULL, 'rupees a share')",
    ],
    '(SELECT DISTINCT symbol, ex_date, action, note, amount FROM corporate_actions) LEFT JOIN symbol_isins AS s USING (symbol)',
  ),
  selectEvents(
    [
      's.isin',
      'symbol',
      RUN_DAY,
      NO_TIME,
      "'price band'",
      "'from ' || from_band || ' to ' || to_band",
      'series',
      'to_percent',
      "if(to_percent IS NULL, NULL, 'percent')",
    ],
    'band_changes LEFT JOIN symbol_isins AS s USING (symbol)',
  ),
]

/** Everything dated about a stock. */
export const events = defineView({
  name: 'events',
  about: 'what happened to each stock: filings, news, announcements, deals, corporate actions and changes of the price band, one row each',
  needs: ['filings_unique', 'news', 'announcements', 'deals_valued', 'corporate_actions', 'band_changes', 'symbol_isins'],
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock; NULL if no list names it'),
    col('symbol', 'VARCHAR', 'trading symbol'),
    col('day', 'DATE', 'day of the event; of a corporate action the ex-date, which may lie ahead'),
    col('happened_at', 'TIMESTAMP', 'when, India time; NULL if only the day is known'),
    col('kind', 'VARCHAR', 'filing, news, announcement, deal, corporate action or price band'),
    col('title', 'VARCHAR', 'what happened'),
    col('detail', 'VARCHAR', 'kind of filing or announcement, sentiment of news, exchange of a deal, terms of an action, series of a band'),
    col('value', 'DOUBLE', 'its value in the unit beside it; negative for a sale'),
    col('unit', 'VARCHAR', 'unit of the value'),
  ],
  from: `FROM (${SELECTS.join(' UNION ALL ')}) AS all_events (isin, symbol, day, happened_at, kind, title, detail, value, unit) WHERE day IS NOT NULL`,
})
