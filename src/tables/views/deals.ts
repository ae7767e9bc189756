import { ofIsinOwner, presentIsin } from './symbols.js'
import {
  changing,
  col,
  dayColumn,
  defineView,
  growth,
  numberColumn,
  stringColumn,
  wholeColumn,
} from './view.js'

const ISIN = presentIsin('d', 's')

export const dealsValued = defineView({
  name: 'deals_valued',
  about: 'bulk and block deals with their value, one row each',
  needs: ['deals', 'symbol_isins'],
  columns: [
    stringColumn('isin', 'ISIN of the stock; NULL if no list names it', ISIN),
    stringColumn('symbol', 'trading symbol', 'coalesce(if(owner IS NULL, NULL, s.symbol_now), d.symbol)'),
    dayColumn('day', 'day of the deal', 'd.date'),
    stringColumn('exchange', 'exchange of the deal'),
    stringColumn('kind', 'BULK or BLOCK'),
    stringColumn('side', 'B for a purchase, S for a sale'),
    stringColumn('client', 'who bought or sold'),
    wholeColumn('quantity', 'shares'),
    numberColumn('price_inr', 'average price, rupees', 'price'),
    numberColumn('value_cr', 'quantity times price, ₹ crore', 'quantity * price / 1e7'),
    numberColumn(
      'net_value_cr',
      'negative for a sale, ₹ crore',
      "CASE side WHEN 'B' THEN value_cr WHEN 'S' THEN -value_cr END",
    ),
  ],
  from: `FROM ${ofIsinOwner('deals', 'date')} AS d LEFT JOIN symbol_isins AS s USING (symbol)`,
})

/** Names differ in capitals and spaces. */
const SAME_CLIENT = String.raw`upper(trim(regexp_replace(client, '\s+', ' ', 'g')))`
const CLIENT_DAYS = 30
/** Candles are of this exchange, and deals of two. */
const CANDLE_EXCHANGE = 'NSE'

/** Clients with what each bought or sold more, the most first. */
const listClients = (condition: string, order: string): string =>
  `string_agg(concat_ws(' ', client, format('{:.2f}', abs(net_cr))), ' · ' ORDER BY ${order}) FILTER (${condition})`

export const dealsNetted = defineView({
  name: 'deals_netted',
  about: 'who sold to whom: the deals of a stock and day netted by client, one row each',
  needs: ['deals_valued', 'candle_days'],
  columns: [
    ...dealsValued.columns
      .filter(({ name }) => ['isin', 'symbol', 'day'].includes(name))
      .map(({ name, type, comment }) => col(name, type, comment, `n.${name}`)),
    stringColumn(
      'sellers',
      'clients who sold more than they bought, each with the difference in ₹ crore behind its name',
    ),
    stringColumn('buyers', 'clients who bought more than they sold, in the same way'),
    wholeColumn('flat_clients', 'clients who bought as many shares as they sold', 'flat'),
    numberColumn('value_cr', 'what the buyers bought, or the sellers sold if that is more, ₹ crore'),
    {
      ...numberColumn(
        'volume_pct',
        `shares bought in deals on ${CANDLE_EXCHANGE}, or sold if more, percent of the day's volume there; NULL without such a deal`,
        '100 * shares / NULLIF(c.volume, 0)',
      ),
      title: 'of volume %',
    },
    stringColumn('client', 'the client with the largest difference'),
    wholeColumn(
      'client_deals_30d',
      `its deals of ${CLIENT_DAYS} days up to that day, in all stocks`,
      'recent',
    ),
    changing(numberColumn('client_net_30d_cr', 'bought less sold in these, ₹ crore', 'recent_net')),
  ],
  with: [
    `told AS (
      SELECT *, ${SAME_CLIENT} AS who, count(*) OVER w AS recent, sum(net_value_cr) OVER w AS recent_net FROM deals_valued WHERE side IN ('B', 'S')
      WINDOW w AS (PARTITION BY ${SAME_CLIENT} ORDER BY day RANGE BETWEEN INTERVAL ${CLIENT_DAYS - 1} DAY PRECEDING AND CURRENT ROW)
    )`,
    `clients AS (
      SELECT isin, symbol, day, min(client) AS client, sum(if(side = 'B', quantity, -quantity)) AS net, sum(net_value_cr) AS net_cr, max(recent) AS recent, max(recent_net) AS recent_net
      FROM told GROUP BY isin, symbol, day, who
    )`,
    `netted AS (
      SELECT isin, symbol, day, ${listClients('net < 0', 'net_cr, client')} AS sellers, ${listClients('net > 0', 'net_cr DESC, client')} AS buyers, count(*) FILTER (net = 0) AS flat,
        greatest(sum(net_cr) FILTER (net > 0), -sum(net_cr) FILTER (net < 0)) AS value_cr, unnest(max_by({ client: client, recent: recent, recent_net: recent_net }, row(abs(net_cr), client)))
      FROM clients GROUP BY isin, symbol, day
    )`,
    `listed AS (
      SELECT symbol, day, greatest(sum(quantity) FILTER (side = 'B'), sum(quantity) FILTER (side = 'S')) AS shares
      FROM told WHERE exchange = '${CANDLE_EXCHANGE}' GROUP BY symbol, day
    )`,
  ],
  from: 'FROM netted AS n LEFT JOIN listed USING (symbol, day) LEFT JOIN candle_days AS c USING (symbol, day)',
})

const LATER = [1, 5, 20, 60] as const
/** Calendar days between a deal and the session whose close it is compared with, at most. */
const BASE_DAYS = 10

export const dealsReturns = defineView({
  name: 'deals_returns',
  about:
    'bulk and block deals with the return of the stock afterwards, one row each; NULL until the sessions exist',
  needs: ['deals_valued', 'candles_adjusted'],
  columns: [
    ...dealsValued.columns.map(({ name, type, comment }) => col(name, type, comment)),
    dayColumn(
      'base_day',
      `session that returns count from: of the deal, or the last one of the ${BASE_DAYS} days before`,
      'base.day',
    ),
    numberColumn('base_close_inr', 'close of that session, rupees of today', 'base.close'),
    ...LATER.map((n) =>
      changing(
        numberColumn(
          `return_${n}d_pct`,
          `close of session ${n} after it against that, percent`,
          growth(`base.close_${n}`, 'base.close'),
        ),
      ),
    ),
  ],
  with: [
    `sessions AS (
      SELECT isin, day, close, ${LATER.map((sessions) => `lead(close, ${sessions}) OVER w AS close_${sessions}`).join(', ')}
      FROM candles_adjusted WHERE isin IN (SELECT isin FROM deals_valued) WINDOW w AS (PARTITION BY isin ORDER BY day)
    )`,
  ],
  from: `FROM (
    SELECT d.*, CASE WHEN d.day - s.day <= ${BASE_DAYS} THEN s END AS base
    FROM deals_valued AS d ASOF LEFT JOIN sessions AS s ON s.isin = d.isin AND s.day <= d.day
  )`,
})
