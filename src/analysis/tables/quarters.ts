import { col, defineView, growth, identity, pickFigure, toMonthEnd, unpackFigures } from './view.js'

const BLOCKS = `SELECT isin, symbol, 'consolidated' AS basis, quarters AS block FROM fundamentals
  UNION ALL SELECT isin, symbol, 'standalone', json_extract(extra, '$.incomeStat_sq') FROM fundamentals`

const ofYearBefore = (value: string): string =>
  `max(${value}) OVER (PARTITION BY isin, basis ORDER BY year(day) * 12 + month(day) RANGE BETWEEN 12 PRECEDING AND 12 PRECEDING)`

/** Results by quarter. */
export const quarters = defineView({
  name: 'quarters',
  about: 'results of each stock by quarter, one row for each stock, basis and quarter',
  needs: ['fundamentals'],
  columns: [
    ...identity('last day of the quarter'),
    col('basis', 'VARCHAR', 'consolidated or standalone'),
    col('place', 'BIGINT', 'place in the list of the provider: 0 for the newest quarter, 1 for the next one'),
    col(
      'quarter',
      'VARCHAR',
      'quarter of the financial year from April to March, such as Q3 FY26',
      `'Q' || ((month(day) + 8) % 12 // 3 + 1) || ' FY' || right(CAST(year(day + INTERVAL 9 MONTH) AS VARCHAR), 2)`,
    ),
    col('sales_cr', 'DOUBLE', 'sales, crore rupees'),
    col('revenue_cr', 'DOUBLE', 'revenue with other income, crore rupees'),
    col('ebitda_cr', 'DOUBLE', 'earnings before interest, tax, depreciation and amortisation, crore rupees'),
    col('opm_pct', 'DOUBLE', 'operating margin, percent'),
    col('net_profit_cr', 'DOUBLE', 'net profit, crore rupees'),
    col('eps_inr', 'DOUBLE', 'earnings a share, rupees'),
    col('sales_yoy_pct', 'DOUBLE', 'sales against the same quarter a year before, percent', growth('sales_cr', ofYearBefore('sales_cr'))),
    col(
      'net_profit_yoy_pct',
      'DOUBLE',
      'net profit against the same quarter a year before, percent; NULL after a loss',
      growth('net_profit_cr', ofYearBefore('net_profit_cr')),
    ),
  ],
  from: `FROM (
    SELECT isin, symbol, basis, place, ${pickFigure('YEAR', toMonthEnd)} AS day,
      ${pickFigure('SALES')} AS sales_cr, ${pickFigure('REVENUE')} AS revenue_cr, ${pickFigure('EBITDA')} AS ebitda_cr,
      ${pickFigure('OPM')} AS opm_pct, ${pickFigure('NET_PROFIT')} AS net_profit_cr, ${pickFigure('EPS')} AS eps_inr
    FROM (${unpackFigures(BLOCKS)}) GROUP BY isin, symbol, basis, place HAVING day IS NOT NULL
  )`,
})
