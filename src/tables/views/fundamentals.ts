import { changing, col, defineView, growth, identity, RUN_DAY, type View, type ViewColumn } from './view.js'

const numberSql = (text: string): string => `TRY_CAST(replace(trim(${text}), ',', '') AS DOUBLE)`

/**
 * A query of the figures in blocks (isin, symbol, basis, block), one row for each figure and period. Period 0
 * is the newest.
 */
const unpackFigures = (blocks: string): string =>
  `SELECT isin, symbol, basis, upper(key) AS figure, unnest(parts) AS cell, unnest(range(len(parts))) AS place FROM (
    SELECT isin, symbol, basis, key, string_split(json_extract_string(block, '$."' || key || '"'), '|') AS parts
    FROM (SELECT *, unnest(json_keys(block)) AS key FROM (${blocks}))
  )`

/** The value of one figure, in a query that groups unpacked figures by period. */
const pickFigure = (figure: string, convert = numberSql): string =>
  `max(${convert('cell')}) FILTER (figure = '${figure}')`

/** The last day of a month in the form YYYYMM. */
const monthEndSql = (text: string): string =>
  `last_day(TRY_CAST(try_strptime(trim(${text}) || '01', '%Y%m%d') AS DATE))`

/** The quarter of the financial year that a day is in. */
export const nameQuarter = (day: string): string =>
  `'Q' || ((month(${day}) + 8) % 12 // 3 + 1) || ' FY' || right(CAST(year(${day} + INTERVAL 9 MONTH) AS VARCHAR), 2)`

/** The value some months before, by the calendar: the provider may skip a period. */
const monthsBefore = (months: number, value: string, day = 'day', partition = 'isin, basis'): string =>
  `max(if(${day} IS NULL, NULL, ${value})) OVER (PARTITION BY ${partition} ORDER BY year(${day}) * 12 + month(${day}) RANGE BETWEEN ${months} PRECEDING AND ${months} PRECEDING)`

/** The growth of a figure against the year and the quarter before, by the calendar. */
const growths = (figure: string, column: string, text: string): readonly ViewColumn[] =>
  (
    [
      ['yoy', 'same quarter a year', 12],
      ['qoq', 'quarter', 3],
    ] as const
  ).map(([name, period, months]) =>
    changing(
      col(
        `${figure}_${name}_pct`,
        'DOUBLE',
        `${text} against the ${period} before, percent; NULL after a loss`,
        growth(column, monthsBefore(months, column)),
      ),
    ),
  )

const QUARTER_BLOCKS = `SELECT isin, symbol, 'consolidated' AS basis, quarters AS block FROM fundamentals
  UNION ALL SELECT isin, symbol, 'standalone', json_extract(extra, '$.incomeStat_sq') FROM fundamentals`

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
      nameQuarter('day'),
    ),
    col('sales_cr', 'DOUBLE', 'sales, ₹ crore'),
    col('revenue_cr', 'DOUBLE', 'revenue with other income, ₹ crore'),
    col('ebitda_cr', 'DOUBLE', 'earnings before interest, tax, depreciation and amortisation, ₹ crore'),
    col('opm_pct', 'DOUBLE', 'operating margin, percent'),
    col('net_profit_cr', 'DOUBLE', 'net profit, ₹ crore'),
    col('eps_inr', 'DOUBLE', 'earnings a share, rupees'),
    ...growths('sales', 'if(sales_cr < 0, NULL, sales_cr)', 'sales'),
    ...growths('net_profit', 'net_profit_cr', 'net profit'),
    ...growths('eps', 'eps_inr', 'earnings a share'),
  ],
  from: `FROM (
    SELECT isin, symbol, basis, place, ${pickFigure('YEAR', monthEndSql)} AS day,
      ${pickFigure('SALES')} AS sales_cr, ${pickFigure('REVENUE')} AS revenue_cr, ${pickFigure('EBITDA')} AS ebitda_cr,
      ${pickFigure('OPM')} AS opm_pct, ${pickFigure('NET_PROFIT')} AS net_profit_cr, ${pickFigure('EPS')} AS eps_inr
    FROM (${unpackFigures(QUARTER_BLOCKS)}) GROUP BY isin, symbol, basis, place HAVING day IS NOT NULL
  )`,
})

/** A view of the figures in blocks, one row for each value. */
const defineFigures = (
  { name, about, blocks }: { readonly name: string; readonly about: string; readonly blocks: string },
  day: ViewColumn,
  columns: readonly ViewColumn[],
): View =>
  defineView({
    name,
    about,
    needs: ['fundamentals'],
    columns: [...identity(day), ...columns],
    with: [`figures AS (${unpackFigures(blocks)})`],
    from: `FROM (
      SELECT f.*, ${numberSql('f.cell')} AS value, ${monthEndSql('y.cell')} AS period FROM figures AS f
      LEFT JOIN figures AS y ON y.isin = f.isin AND y.basis = f.basis AND y.place = f.place AND y.figure = 'YEAR'
    ) WHERE figure <> 'YEAR' AND value IS NOT NULL`,
  })

const PLACE_COLUMN = col('place', 'BIGINT', '0 for the newest period, 1 for the one before')

export const ratios = defineFigures(
  {
    name: 'ratios',
    about: 'ratios of each stock, one row for each stock, ratio and period',
    blocks: `SELECT isin, symbol, 'current' AS basis, ratios AS block FROM fundamentals
      UNION ALL SELECT isin, symbol, 'by year', "returns" FROM fundamentals
      UNION ALL SELECT isin, symbol, 'trailing twelve months', ttm FROM fundamentals`,
  },
  col(
    'day',
    'DATE',
    'last day of the period, or day of the run; NULL if unknown',
    `if(basis = 'by year', period, ${RUN_DAY})`,
  ),
  [
    col('basis', 'VARCHAR', 'current, by year or trailing twelve months'),
    PLACE_COLUMN,
    col('ratio', 'VARCHAR', "the provider's name in small letters, such as pe, roe or roce", 'lower(figure)'),
    col(
      'value',
      'DOUBLE',
      'as answered: roe, roce and opm in percent, sales and market_cap in ₹ crore, eps in rupees, pe a multiple',
    ),
  ],
)

/** A view of figures by financial year, from two fields of fundamentals. */
const defineYears = (
  name: string,
  about: string,
  [consolidated, standalone]: readonly [string, string],
  unit: string,
): View =>
  defineFigures(
    {
      name,
      about: `${about} of each stock by year, one row for each stock, basis, year and item`,
      blocks: `SELECT isin, symbol, 'consolidated' AS basis, ${consolidated} AS block FROM fundamentals
        UNION ALL SELECT isin, symbol, 'standalone', json_extract(extra, '$.${standalone}') FROM fundamentals`,
    },
    col('day', 'DATE', 'last day of the year; NULL if the provider did not name it', 'period'),
    [
      col('basis', 'VARCHAR', 'consolidated or standalone'),
      PLACE_COLUMN,
      col(
        'year',
        'VARCHAR',
        'financial year, such as FY26',
        "'FY' || right(CAST(year(period + INTERVAL 9 MONTH) AS VARCHAR), 2)",
      ),
      col('item', 'VARCHAR', "the provider's name in small letters", 'lower(figure)'),
      { ...col('value', 'DOUBLE', unit), ...(unit === '₹ crore' && { unit }) },
      changing(
        col(
          'yoy_pct',
          'DOUBLE',
          'value against the year before, percent; NULL after a loss',
          growth('value', monthsBefore(12, 'value', 'period', 'isin, basis, figure')),
        ),
      ),
    ],
  )

export const years = defineYears(
  'years',
  'results',
  ['years', 'incomeStat_sy'],
  '₹ crore; eps in rupees, opm in percent',
)

export const balanceSheet = defineYears(
  'balance_sheet',
  'balance sheet',
  ['balance_sheet', 'bs_s'],
  '₹ crore',
)

/** The holders of shares by the prefix of their columns. */
const HOLDERS = {
  promoter: 'promoters',
  fii: 'foreign institutions',
  dii: 'domestic institutions',
  public: 'the public',
} as const

/** Against earlier quarters in the list of the provider. */
const HOLDING_CHANGES = [
  ['1q', 1, 'the quarter before'],
  ['4q', 4, 'four quarters before'],
] as const

const holdingColumns = (holder: string, text: string): readonly ViewColumn[] => [
  col(`${holder}_pct`, 'DOUBLE', `${text}, percent of the shares`),
  ...HOLDING_CHANGES.map(([name, places, before]) =>
    changing(
      col(
        `${holder}_change_${name}_pct`,
        'DOUBLE',
        `against ${before} in the list, percentage points`,
        `if(${holder}_pct BETWEEN 0 AND 100, ${holder}_pct, NULL) - max(${holder}_pct) FILTER (${holder}_pct BETWEEN 0 AND 100) OVER (PARTITION BY isin ORDER BY place RANGE BETWEEN ${places} FOLLOWING AND ${places} FOLLOWING)`,
      ),
    ),
  ),
]

export const shareholding = defineView({
  name: 'shareholding',
  about: 'who holds the shares of each stock by quarter, one row for each stock and quarter',
  needs: ['fundamentals'],
  columns: [
    ...identity('last day of the quarter; NULL if the provider did not name it'),
    col('place', 'BIGINT', 'place in the list of the provider: 0 for the newest quarter, 1 for the next one'),
    ...Object.entries(HOLDERS).flatMap(([holder, text]) => holdingColumns(holder, text)),
  ],
  from: `FROM (
    SELECT isin, symbol, place, ${pickFigure('YEAR', monthEndSql)} AS day, ${pickFigure('PROMOTER')} AS promoter_pct,
      ${pickFigure('FII')} AS fii_pct, ${pickFigure('DII')} AS dii_pct, ${pickFigure('PUBLIC')} AS public_pct
    FROM (${unpackFigures("SELECT isin, symbol, '' AS basis, shareholding AS block FROM fundamentals")}) GROUP BY isin, symbol, place
    HAVING coalesce(promoter_pct, fii_pct, dii_pct, public_pct) IS NOT NULL
  )`,
})
