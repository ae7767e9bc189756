import { isSameIssuer } from './symbols.js'
import { col, defineView } from './view.js'

/** Deals with their value. */
export const dealsValued = defineView({
  name: 'deals_valued',
  about: 'bulk and block deals with their value, one row each',
  needs: ['deals', 'symbol_isins'],
  columns: [
    col(
      'isin',
      'VARCHAR',
      'ISIN of the stock; NULL if no list names it',
      `if(${isSameIssuer('d.isin', 's.isin')}, s.isin, coalesce(NULLIF(d.isin, ''), s.isin))`,
    ),
    col('symbol', 'VARCHAR', 'trading symbol', 'd.symbol'),
    col('day', 'DATE', 'day of the deal', 'd.date'),
    col('exchange', 'VARCHAR', 'exchange of the deal'),
    col('kind', 'VARCHAR', 'BULK or BLOCK'),
    col('side', 'VARCHAR', 'B for a purchase, S for a sale'),
    col('client', 'VARCHAR', 'who bought or sold'),
    col('quantity', 'BIGINT', 'shares'),
    col('price_inr', 'DOUBLE', 'average price, rupees', 'price'),
    col('value_cr', 'DOUBLE', 'quantity times price, crore rupees', 'quantity * price / 1e7'),
    col(
      'net_value_cr',
      'DOUBLE',
      'the value, negative for a sale, crore rupees',
      "CASE side WHEN 'B' THEN 1 WHEN 'S' THEN -1 END * quantity * price / 1e7",
    ),
  ],
  from: 'FROM deals AS d LEFT JOIN symbol_isins AS s USING (symbol)',
})
