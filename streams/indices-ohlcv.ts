import { z } from 'zod'
import { defineStream, perRowOf } from '../src/engine/define-stream.js'
import { createCandleEndpoint } from '../src/market/candle-answer.js'
import { type CandleSeries, lookForCandles, updateCandles } from '../src/market/update-candles.js'
import { CandleRow } from '../src/model/candle.js'
import { type Row, readText } from '../src/model/row.js'
import { ITEM_SYMBOL, type TableColumn } from '../src/model/row-schema.js'

const indexCandles = createCandleEndpoint(
  'index_ohlcv',
  z.string().refine((instrument) => instrument !== 'EQUITY', 'must be an index instrument'),
)

const SID: TableColumn = {
  name: 'sid',
  type: 'VARCHAR',
  comment: "the provider's id of the index, because some share a symbol; empty if the list lacks it",
  from: { file: 'sid' },
}

const toSeries = ({ Exch, Sym, Seg, Inst, Sid }: Row, file: string): CandleSeries => ({
  endpoint: indexCandles,
  instrument: {
    EXCH: readText(Exch),
    SYM: readText(Sym),
    SEG: readText(Seg),
    INST: readText(Inst),
    SEC_ID: readText(Sid),
  },
  file,
  isIndex: true,
})

/**
 * Daily candles of each index of `all-indices`, as for stocks. The interface document states no worker count;
 * 15 as for stocks.
 */
export const indicesOhlcv = defineStream({
  name: 'indices-ohlcv',
  summary: 'daily candles of each index',
  phase: 'candles',
  position: 17,
  workers: 15,
  timeoutMs: 30_000,
  followsAsOf: true,
  endpoints: [indexCandles],
  work: perRowOf('all-indices', (index, tools, file) => updateCandles(toSeries(index, file), tools)),
  look: ({ value }, tools, file) => lookForCandles(toSeries(value as Row, file), tools),
  outputs: [
    {
      shape: 'candles-per-item',
      file: 'ohlcv_data/indices/{INDEX}.csv',
      tables: [
        {
          name: 'index_candles',
          about: 'daily candles of indices',
          columns: [
            { ...ITEM_SYMBOL, comment: 'symbol of the index, as in the table indices' },
            SID,
            CandleRow,
          ],
          key: ['symbol', 'sid', 'date'],
          position: 18,
        },
      ],
    },
  ],
})
