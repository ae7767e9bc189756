import { day, figure, type Table, text, whole } from './table.js'

const ohlcv = [
  // Plain arithmetic is exact: India has used +05:30 since before the first candle.
  day(
    'date',
    'Timestamp',
    'trading day in India',
    (epoch) => `DATE '1970-01-01' + CAST((TRY_CAST(${epoch} AS BIGINT) + 19800) // 86400 AS INTEGER)`,
  ),
  figure('open', 'Open', 'rupees, or points of an index'),
  figure('high', 'High', 'rupees, or points of an index'),
  figure('low', 'Low', 'rupees, or points of an index'),
  figure('close', 'Close', 'rupees, or points of an index'),
  whole('volume', 'Volume', 'shares traded'),
] as const

/** Daily candles, each file ascending by day. */
export const candleTables: readonly Table[] = [
  {
    name: 'candles',
    comment: 'daily candles of stocks, adjusted by the provider for splits and bonuses',
    shape: 'candles',
    files: [{ path: 'ohlcv_data/{item}.csv' }],
    items: 'stocks',
    columns: [text('symbol', { file: 'symbol' }, 'trading symbol'), ...ohlcv],
    key: ['symbol', 'date'],
  },
  {
    name: 'index_candles',
    comment: 'daily candles of indices',
    shape: 'candles',
    files: [{ path: 'ohlcv_data/indices/{item}.csv' }],
    items: 'indices',
    columns: [
      text('symbol', { file: 'symbol' }, 'symbol of the index, as in the table indices'),
      text('sid', { file: 'sid' }, "the provider's id of the index, because some share a symbol; empty if the list lacks it"),
      ...ohlcv,
    ],
    key: ['symbol', 'sid', 'date'],
  },
]

/** The columns of a candle file, in their order. */
export const CANDLE_HEADER = ['Timestamp', 'Open', 'High', 'Low', 'Close', 'Volume'] as const
