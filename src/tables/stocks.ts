import { day, figure, json, type Table, text, whole } from './table.js'
import { textTables } from './texts.js'

const symbolColumn = text('symbol', 'Symbol', 'trading symbol')
const isinColumn = text('isin', 'ISIN', 'ISIN of the stock')
const documentColumns = [
  text('symbol', { document: ['Symbol'] }, 'trading symbol'),
  text('isin', { document: ['ISIN'] }, 'ISIN of the stock'),
] as const

/** The newest value in a text such as `10|5|4`; the key has several spellings. */
const newestColumn = (name: string, block: string, keys: readonly string[], comment: string) =>
  figure(name, { row: keys.map((key) => `$.${block}.${key}`) }, comment, (value) => `TRY_CAST(split_part(${value}, '|', 1) AS DOUBLE)`)

const masterTable: Table = {
  name: 'master',
  comment: 'the list of all stocks, one row each',
  shape: 'array',
  files: [{ path: 'master_isin_map.json' }],
  columns: [
    symbolColumn,
    isinColumn,
    text('name', 'Name', 'name of the company'),
    text('sid', 'Sid', "the provider's id of the security"),
    whole('fno', 'FnoFlag', '1 where futures and options are traded on it'),
  ],
}

const masterDataTable: Table = {
  name: 'master_data',
  comment: 'the figures in the list of all stocks, one row each',
  shape: 'array',
  files: [{ path: 'master_data_response.json' }],
  columns: [
    text('symbol', 'Sym', 'trading symbol'),
    text('isin', 'Isin', 'ISIN of the stock'),
    text('name', 'DispSym', 'name of the company'),
    text('sid', 'Sid', "the provider's id of the security"),
    whole('fno', 'FnoFlag', '1 where futures and options are traded on it'),
    figure('market_cap', 'Mcap', 'market capitalisation, crore rupees'),
    figure('pe', 'Pe', 'price to earnings'),
    figure('dividend_yield', 'DivYeild', 'percent'),
    figure('revenue', 'Revenue', 'crore rupees'),
    figure('revenue_growth', 'Year1RevenueGrowth', 'percent against the year before'),
    figure('net_profit_margin', 'NetProfitMargin', 'percent'),
    figure('profit_growth', 'YoYLastQtrlyProfitGrowth', 'profit of the newest quarter, percent against the year before'),
    figure('ebitda_margin', 'EBIDTAMargin', 'percent'),
    figure('volume', 'volume', 'shares traded'),
    figure('price_change_1y', 'PricePerchng1year', 'percent against the year before'),
  ],
}

const fundamentalsTable: Table = {
  name: 'fundamentals',
  comment: 'results, balance sheet and ratios, one row for each stock; in the JSON columns, one text lists the periods of a figure, 10|5|4',
  shape: 'array',
  files: [{ path: 'fundamental_data.json' }],
  columns: [
    symbolColumn,
    text('isin', { row: ['ISIN', 'isin'] }, 'ISIN of the stock'),
    text('sector', '$.CV.SECTOR', 'as the provider names it'),
    figure('pe', { row: ['$.CV.PE', '$.CV.STOCK_PE'] }, 'price to earnings'),
    figure('roe', '$.CV.ROE', 'return on equity, percent'),
    figure('roce', '$.CV.ROCE', 'return on capital employed, percent'),
    text(
      'quarter',
      { row: ['$.incomeStat_cq.YEAR', '$.incomeStat_cq.Year'] },
      'newest quarter, YYYYMM',
      (value) => `split_part(${value}, '|', 1)`,
    ),
    newestColumn('sales', 'incomeStat_cq', ['SALES', 'Sales'], 'of the newest quarter, crore rupees'),
    newestColumn('net_profit', 'incomeStat_cq', ['NET_PROFIT', 'Net_Profit'], 'of the newest quarter, crore rupees'),
    newestColumn('eps', 'incomeStat_cq', ['EPS', 'Eps'], 'earnings a share in the newest quarter, rupees'),
    newestColumn('opm', 'incomeStat_cq', ['OPM', 'Opm'], 'operating margin of the newest quarter, percent'),
    json('quarters', 'incomeStat_cq', 'consolidated results by quarter'),
    json('years', 'incomeStat_cy', 'consolidated results by year'),
    json('ttm', 'TTM_cy', 'the trailing twelve months'),
    json('ratios', 'CV', 'ratios, sector and industry'),
    json('returns', 'roce_roe', 'ROE and ROCE by period'),
    json('shareholding', 'sHp', 'shares of promoters, institutions and the public by quarter, percent'),
    json('balance_sheet', 'bs_c', 'consolidated balance sheet by year'),
  ],
}

const indicatorsTable: Table = {
  name: 'indicators',
  comment: 'technical indicators on daily candles, one row for each stock and indicator',
  shape: 'array',
  files: [{ path: 'advanced_indicator_data.json' }],
  lists: ['SMA', 'EMA', 'Indicator'],
  elsewhere: ['Pivot'],
  columns: [
    ...documentColumns,
    text('indicator', 'Indicator', 'such as 20-EMA, 200-SMA or RSI(14)'),
    figure('value', 'Value', 'rupees for averages, points for the others'),
    text('action', 'Action', 'Bullish, Bearish or Neutral'),
  ],
}

const pivotColumn = (name: string, key: string, comment: string) =>
  figure(name, { row: [`$.Pivot[0].Classic.${key}`] }, `${comment}, rupees`)

const pivotsTable: Table = {
  name: 'pivots',
  comment: 'daily pivot points, one row for each stock',
  shape: 'array',
  files: [{ path: 'advanced_indicator_data.json' }],
  elsewhere: ['SMA', 'EMA', 'Indicator'],
  columns: [
    symbolColumn,
    isinColumn,
    pivotColumn('pivot', 'PP', 'classic pivot point'),
    pivotColumn('r1', 'R1', 'first resistance'),
    pivotColumn('r2', 'R2', 'second resistance'),
    pivotColumn('r3', 'R3', 'third resistance'),
    pivotColumn('s1', 'S1', 'first support'),
    pivotColumn('s2', 'S2', 'second support'),
    pivotColumn('s3', 'S3', 'third support'),
    json('pivots', 'Pivot', 'all pivot points as answered'),
  ],
}

const corporateActionsTable: Table = {
  name: 'corporate_actions',
  comment: 'dividends, bonuses, splits, rights and the like, one row each',
  shape: 'array',
  files: [
    { path: 'upcoming_corporate_actions.json', label: 'upcoming' },
    { path: 'history_corporate_actions.json', label: 'history' },
  ],
  lists: ['CorpAct'],
  columns: [
    text('list', { file: 'label' }, 'upcoming or history'),
    text('symbol', { document: ['Sym'] }, 'trading symbol'),
    text('name', { document: ['DispSym'] }, 'name of the company'),
    text('action', 'ActType', 'such as DIVIDEND, BONUS or SPLIT'),
    day('ex_date', 'ExDate', 'first day on which the share trades without it'),
    day('record_date', 'RecDate', 'whoever holds the share on this day takes part'),
    text('note', 'Note', 'rupees a share, or the ratio'),
  ],
}

/** The tables whose rows belong to stocks of the master list. */
export const stockTables: readonly Table[] = [
  masterTable,
  masterDataTable,
  fundamentalsTable,
  ...textTables,
  indicatorsTable,
  pivotsTable,
  corporateActionsTable,
]
