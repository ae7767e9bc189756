import { quarters, shareholding } from '../fundamentals.js'
import { changing, col, RUN_DAY, reading, type ScreenerGroup } from '../view.js'

const PLACES = [0, 1, 2, 3, 4] as const
const RESULT_FIGURES = [
  ['sales', 'cr', 'sales, ₹ crore'],
  ['net_profit', 'cr', 'net profit, ₹ crore'],
  ['eps', 'inr', 'earnings a share, rupees'],
  ['opm', 'pct', 'operating margin, percent'],
] as const

/** The growths of the newest quarter, as `quarters` has them. */
const GROWTHS = quarters.columns.filter(({ name }) => /_(yoy|qoq)_pct$/.test(name))

/** Four quarters in a row; NULL if one is missing. */
const ttm = (column: string): string =>
  PLACES.slice(0, 4)
    .map((place) => `${column}_${place}`)
    .join(' + ')

/**
 * The results of quarters by the calendar, as the provider may skip one: consolidated, or standalone if it
 * has no consolidated ones. One that has not ended is none.
 */
export const results: ScreenerGroup = {
  title: 'results of quarters',
  needs: ['quarters'],
  with: [
    `results AS (
      SELECT isin, max(basis) AS results_basis, max(quarter) FILTER (ago = 0) AS quarter, max(day) AS quarter_end,
        ${RESULT_FIGURES.flatMap(([figure, unit]) => PLACES.map((place) => `max(${figure}_${unit}) FILTER (ago = ${place}) AS ${figure}_${unit}_${place}`)).join(', ')},
        ${GROWTHS.map(({ name }) => `max(${name}) FILTER (ago = 0) AS ${name}`).join(', ')}
      FROM (
        SELECT *, date_diff('month', day, max(day) OVER (PARTITION BY isin, basis)) / 3 AS ago FROM quarters WHERE day <= coalesce(${RUN_DAY}, day)
        QUALIFY basis = min(basis) OVER (PARTITION BY isin)
      ) GROUP BY isin
    )`,
  ],
  alias: 'r',
  columns: [
    col('results_basis', 'VARCHAR', 'consolidated, or standalone without consolidated results'),
    col('quarter', 'VARCHAR', 'newest quarter of the financial year, such as Q3 FY26', 'r.quarter'),
    col('quarter_end', 'DATE', 'last day of the newest quarter'),
    ...RESULT_FIGURES.flatMap(([figure, unit, text]) =>
      PLACES.map((place) => {
        const when = place === 0 ? 'newest quarter' : `${place} before the newest quarter`
        return col(`${figure}_q${place}_${unit}`, 'DOUBLE', `${text}, ${when}`, `${figure}_${unit}_${place}`)
      }),
    ),
    ...GROWTHS.map(({ name, comment }) => changing(col(name, 'DOUBLE', comment))),
    changing(
      col(
        'opm_change_yoy_pct',
        'DOUBLE',
        'operating margin against the year before, percentage points',
        'opm_pct_0 - opm_pct_4',
      ),
    ),
    col('sales_ttm_cr', 'DOUBLE', 'sales of four quarters in a row, ₹ crore', ttm('sales_cr')),
    col('net_profit_ttm_cr', 'DOUBLE', 'net profit of four quarters in a row, ₹ crore', ttm('net_profit_cr')),
    col('eps_ttm_inr', 'DOUBLE', 'earnings a share of four quarters in a row, rupees', ttm('eps_inr')),
  ],
}

const PE_TTM = `CASE WHEN (${ttm('eps_inr')}) > 0 AND coalesce(adjusted_on <= quarter_end, true) THEN close_1 / (${ttm('eps_inr')}) END`
const PRICE_TO_SALES = `CASE WHEN (${ttm('sales_cr')}) > 0 THEN m.market_cap / (${ttm('sales_cr')}) END`
const NET_MARGIN = 'CASE WHEN sales_cr_0 > 0 THEN 100 * net_profit_cr_0 / sales_cr_0 END'

export const valuation: ScreenerGroup = {
  title: 'valuation',
  needs: ['fundamentals', 'master_data', 'adjustments'],
  with: [
    `valuation AS (
      SELECT * FROM (SELECT isin, max(roe) AS roe, max(roce) AS roce FROM fundamentals GROUP BY isin)
      FULL JOIN (SELECT isin, max(day) AS adjusted_on FROM adjustments WHERE kind IN ('split', 'consolidation', 'bonus') AND day <= ${RUN_DAY} GROUP BY isin) USING (isin)
    )`,
  ],
  alias: 'v',
  columns: [
    reading(['price', 'results', 'valuation'], {
      ...col(
        'pe_ttm',
        'DOUBLE',
        'close against the earnings of four quarters; NULL after a loss, or a split later than these',
        PE_TTM,
      ),
      title: 'P/E, 4 quarters',
    }),
    reading(
      [],
      col('pe', 'DOUBLE', 'price to earnings, as the master list has it, which has it of few stocks', 'm.pe'),
    ),
    reading(
      ['results'],
      col(
        'price_to_sales',
        'DOUBLE',
        'market capitalisation against the sales of four quarters',
        PRICE_TO_SALES,
      ),
    ),
    reading([], col('dividend_yield_pct', 'DOUBLE', 'dividend yield, percent', 'm.dividend_yield')),
    col('roe_pct', 'DOUBLE', 'return on equity, percent', 'v.roe'),
    col('roce_pct', 'DOUBLE', 'return on capital employed, percent', 'v.roce'),
    reading(
      ['results'],
      col('net_margin_pct', 'DOUBLE', 'net profit of the newest quarter, percent of sales', NET_MARGIN),
    ),
  ],
}

export const holders: ScreenerGroup = {
  title: 'shareholding',
  needs: ['shareholding'],
  with: [
    'holders AS (SELECT isin, max(COLUMNS(* EXCLUDE (isin, symbol, day, place))) FROM shareholding WHERE place = 0 GROUP BY isin)',
  ],
  alias: 's',
  columns: shareholding.columns
    .filter(({ type }) => type === 'DOUBLE')
    .map((column) => ({ ...column, sql: `s.${column.name}` })),
}
