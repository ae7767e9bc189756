import { day, figure, type Table, text, whole } from './table.js'

const symbolColumn = text('symbol', 'Symbol', 'trading symbol')
const seriesColumn = text('series', 'Series', 'series of the security, such as EQ')
const nameColumn = text('name', 'Security Name', 'name of the security')

const dealsTable: Table = {
  name: 'deals',
  comment: 'bulk and block deals of the last 30 days, newest first',
  shape: 'array',
  files: [{ path: 'bulk_block_deals.json' }],
  columns: [
    day('date', 'date', 'day of the deal'),
    text('symbol', 'sym', 'trading symbol'),
    text('isin', 'isin', 'ISIN of the stock; NULL if not answered'),
    text('exchange', 'exch', 'exchange of the deal'),
    text('kind', 'deal', 'BULK or BLOCK'),
    text('side', 'bs', 'B for a purchase, S for a sale'),
    text('client', 'cname', 'who bought or sold'),
    whole('quantity', 'qty', 'shares'),
    figure('price', 'avgprice', 'average price, rupees'),
    figure('value', 'val', 'rupees; NULL if not answered'),
  ],
}

const circuitsTable: Table = {
  name: 'circuits',
  comment: 'stocks at their upper or lower circuit limit',
  shape: 'array',
  files: [
    { path: 'upper_circuit_stocks.json', label: 'upper' },
    { path: 'lower_circuit_stocks.json', label: 'lower' },
  ],
  columns: [
    text('side', { file: 'label' }, 'upper or lower'),
    symbolColumn,
    text('name', 'Name', 'name of the company'),
    figure('price', 'LTP', 'last traded price, rupees'),
    figure('change_percent', 'ChangePercent', 'against the close before, percent'),
    figure('market_cap', 'MarketCap', 'crore rupees'),
    whole('volume', 'Volume', 'shares traded'),
    figure('high_5y', 'High5Yr', 'highest price of five years, rupees'),
    figure('high_1y', 'High1Yr', 'highest price of a year, rupees'),
    figure('low_1y', 'Low1Yr', 'lowest price of a year, rupees'),
    figure('pe', 'PE', 'price to earnings'),
    figure('pb', 'PB', 'price to book value'),
    figure('dividend_yield', 'DivYield', 'percent'),
  ],
}

const surveillanceTable: Table = {
  name: 'surveillance',
  comment: 'stocks under additional (ASM) or graded (GSM) surveillance',
  shape: 'array',
  files: [
    { path: '{exch}_asm_list.json', label: 'ASM' },
    { path: '{exch}_gsm_list.json', label: 'GSM' },
  ],
  columns: [
    text('list', { file: 'label' }, 'ASM or GSM'),
    symbolColumn,
    text('name', 'Name', 'name of the company'),
    text('isin', 'ISIN', 'ISIN of the stock'),
    text('stage', 'Stage', 'stage of the surveillance, such as LTASM - I (13)'),
  ],
}

const bandsTable: Table = {
  name: 'bands',
  comment: 'the price band of every security on the newest day',
  shape: 'array',
  files: [{ path: 'complete_price_bands.json' }],
  columns: [
    symbolColumn,
    seriesColumn,
    nameColumn,
    text('band', 'Band', 'percent, or No Band'),
    figure('band_percent', 'Band', 'percent; NULL if there is no band'),
    text('remarks', 'Remarks', 'as published'),
  ],
}

const bandChangesTable: Table = {
  name: 'band_changes',
  comment: 'price bands that changed on the newest day',
  shape: 'array',
  files: [{ path: 'incremental_price_bands.json' }],
  columns: [
    symbolColumn,
    seriesColumn,
    nameColumn,
    text('from_band', 'From', 'band before, percent or No Band'),
    text('to_band', 'To', 'band from then on, percent or No Band'),
    whole('place', 'Sr. No', 'position in the published list'),
  ],
}

const indicesTable: Table = {
  name: 'indices',
  comment: 'all market indices',
  shape: 'array',
  files: [{ path: 'all_indices_list.json' }],
  columns: [
    text('symbol', 'Sym', 'symbol of the index'),
    text('name', 'DispSym', 'name of the index'),
    text('sid', 'Sid', "the provider's id of the index"),
    figure('value', 'Ltp', 'last value, points'),
    figure('change', 'Pchange', 'against the close before, as answered'),
    figure('change_percent', 'PPerchange', 'against the close before, percent'),
    text('exchange', 'Exch', 'as answered'),
    text('segment', 'Seg', 'as answered'),
    text('instrument', 'Inst', 'as answered'),
  ],
}

const listingDatesTable: Table = {
  name: 'listing_dates',
  comment: "the exchange's own list of equities, with the day on which each was listed",
  shape: 'csv',
  files: [{ path: '{exch}_equity_list.csv' }],
  columns: [
    text('symbol', 'SYMBOL', 'trading symbol'),
    text('name', 'NAME OF COMPANY', 'name of the company'),
    text('series', 'SERIES', 'series of the security, such as EQ'),
    day('listed_on', 'DATE OF LISTING', 'first day of trading', (value) => `CAST(try_strptime(${value}, '%d-%b-%Y') AS DATE)`),
    text('isin', 'ISIN NUMBER', 'ISIN of the stock'),
    figure('face_value', 'FACE VALUE', 'rupees'),
    figure('paid_up_value', 'PAID UP VALUE', 'rupees'),
    whole('market_lot', 'MARKET LOT', 'shares'),
  ],
}

/** The tables of market-wide lists. */
export const marketTables: readonly Table[] = [
  dealsTable,
  circuitsTable,
  surveillanceTable,
  bandsTable,
  bandChangesTable,
  indicesTable,
  listingDatesTable,
]
