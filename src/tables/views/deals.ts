import { ofIsinOwner, presentIsin } from './symbols.js'
import { changing, col, defineView, growth } from './view.js'

const ISIN = presentIsin('d', 's')

export const dealsValued = defineView({
  name: 'deals_valued',
  about: 'bulk and block deals with their value, one row each',
  needs: ['deals', 'symbol_isins'],
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock; NULL if no list names it', ISIN),
    col('symbol', 'VARCHAR', 'trading symbol', 'coalesce(if(owner IS NULL, NULL, s.symbol_now), d.symbol)'),
    col('day', 'DATE', 'day of the deal', 'd.date'),
    col('exchange', 'VARCHAR', 'exchange of the deal'),
    col('kind', 'VARCHAR', 'BULK or BLOCK'),
    col('side', 'VARCHAR', 'B for a purchase, S for a sale'),
    col('client', 'VARCHAR', 'who bought or sold'),
    col('quantity', 'BIGINT', 'shares'),
    col('price_inr', 'DOUBLE', 'average price, rupees', 'price'),
    col('value_cr', 'DOUBLE', 'quantity times price, ₹ crore', 'quantity * price / 1e7'),
    col(
      'net_value_cr',
      'DOUBLE',
      'negative for a sale, ₹ crore',
      "CASE side WHEN 'B' THEN value_cr WHEN 'S' THEN -value_cr END",
    ),
  ],
  from: `FROM ${ofIsinOwner('deals', 'date')} AS d LEFT JOIN symbol_isins AS s USING (symbol)`,
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
    col(
      'base_day',
      'DATE',
      `session that returns count from: of the deal, or the last one of the ${BASE_DAYS} days before`,
      'base.day',
    ),
    col('base_close_inr', 'DOUBLE', 'close of that session, rupees of today', 'base.close'),
    ...LATER.map((n) =>
      changing(
        col(
          `return_${n}d_pct`,
          'DOUBLE',
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
