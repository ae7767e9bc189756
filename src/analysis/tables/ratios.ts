import { col, defineView, identity, RUN_DAY, toMonthEnd, toNumber, unpackFigures } from './view.js'

const BLOCKS = `SELECT isin, symbol, 'current' AS basis, ratios AS block FROM fundamentals
  UNION ALL SELECT isin, symbol, 'by year', "returns" FROM fundamentals
  UNION ALL SELECT isin, symbol, 'trailing twelve months', ttm FROM fundamentals`

/** Ratios, one row for each value. */
export const ratios = defineView({
  name: 'ratios',
  about: 'ratios of each stock, one row for each stock, ratio and period',
  needs: ['fundamentals'],
  columns: [
    ...identity(
      col(
        'day',
        'DATE',
        'last day of the period, or day of the run; NULL if the provider did not name the period',
        `if(basis = 'by year', period, ${RUN_DAY})`,
      ),
    ),
    col('basis', 'VARCHAR', 'current, by year or trailing twelve months'),
    col('place', 'BIGINT', '0 for the newest period, 1 for the one before'),
    col('ratio', 'VARCHAR', "the provider's name in small letters, such as pe, roe or roce", 'lower(figure)'),
    col('value', 'DOUBLE', 'as answered: roe, roce and opm in percent, sales and market_cap in crore rupees, eps in rupees, pe a multiple'),
  ],
  with: [`figures AS (${unpackFigures(BLOCKS)})`],
  from: `FROM (
    SELECT f.*, ${toNumber('f.cell')} AS value, ${toMonthEnd('y.cell')} AS period FROM figures AS f
    LEFT JOIN figures AS y ON y.isin = f.isin AND y.basis = f.basis AND y.place = f.place AND y.figure = 'YEAR'
  ) WHERE figure <> 'YEAR' AND value IS NOT NULL`,
})
