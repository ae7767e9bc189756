import { z } from 'zod'
import { defineStream, perStock, type Tools } from '../src/engine/define-stream.js'
import { createCandleEndpoint } from '../src/market/candle-answer.js'
import { readStockActions } from '../src/market/price-actions.js'
import { type CandleSeries, lookForCandles, updateCandles } from '../src/market/update-candles.js'
import { CandleRow } from '../src/model/candle.js'
import { ITEM_SYMBOL } from '../src/model/row-schema.js'
import { requireSid, type Stock } from '../src/model/stock.js'

const stockCandles = createCandleEndpoint('ohlcv', z.literal('EQUITY'))

const toStockSeries = (stock: Stock, tools: Tools, file: string): CandleSeries => ({
  endpoint: stockCandles,
  instrument: {
    EXCH: tools.settings.exchange,
    SYM: stock.Symbol,
    SEG: 'E',
    INST: 'EQUITY',
    SEC_ID: requireSid(stock),
  },
  file,
  readActions: () => readStockActions(stock.Symbol, tools),
})

/**
 * Daily candles of each stock: the full history first, later only the missing days, and the full history
 * again after a split, bonus or rights issue. Timestamps are midnight in India.
 */
export const allOhlcv = defineStream({
  name: 'all-ohlcv',
  summary: 'daily candles of each stock',
  phase: 'candles',
  position: 16,
  workers: 15,
  timeoutMs: 30_000,
  followsAsOf: true,
  endpoints: [stockCandles],
  after: ['corporate-actions'],
  work: perStock((stock, tools, file) => updateCandles(toStockSeries(stock, tools, file), tools)),
  look: ({ value }, tools, file) => lookForCandles(toStockSeries(value as Stock, tools, file), tools),
  outputs: [
    {
      shape: 'candles-per-item',
      file: 'ohlcv_data/{SYMBOL}.csv',
      tables: [
        {
          name: 'candles',
          about: 'daily candles of stocks, adjusted by the provider for splits and bonuses',
          columns: [{ ...ITEM_SYMBOL, comment: 'trading symbol' }, CandleRow],
          key: ['symbol', 'date'],
          position: 17,
        },
      ],
    },
  ],
})
