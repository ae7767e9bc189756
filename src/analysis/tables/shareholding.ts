import { col, defineView, identity, pickFigure, toMonthEnd, unpackFigures } from './view.js'

/** Shareholding by quarter. */
export const shareholding = defineView({
  name: 'shareholding',
  about: 'who holds the shares of each stock by quarter, one row for each stock and quarter',
  needs: ['fundamentals'],
  columns: [
    ...identity('last day of the quarter; NULL if the provider did not name it'),
    col('place', 'BIGINT', 'place in the list of the provider: 0 for the newest quarter, 1 for the next one'),
    col('promoter_pct', 'DOUBLE', 'promoters, percent of the shares'),
    col('fii_pct', 'DOUBLE', 'foreign institutions, percent of the shares'),
    col('dii_pct', 'DOUBLE', 'domestic institutions, percent of the shares'),
    col('public_pct', 'DOUBLE', 'the public, percent of the shares'),
  ],
  from: `FROM (
    SELECT isin, symbol, place, ${pickFigure('YEAR', toMonthEnd)} AS day, ${pickFigure('PROMOTER')} AS promoter_pct,
      ${pickFigure('FII')} AS fii_pct, ${pickFigure('DII')} AS dii_pct, ${pickFigure('PUBLIC')} AS public_pct
    FROM (${unpackFigures("SELECT isin, symbol, '' AS basis, shareholding AS block FROM fundamentals")}) GROUP BY isin, symbol, place
    HAVING coalesce(promoter_pct, fii_pct, dii_pct, public_pct) IS NOT NULL
  )`,
})
