import { z } from 'zod'
import { CANDLE_COLUMNS, CandleRow } from '../src/model/candle-row.js'
import { textOf } from '../src/model/row.js'
import type { Column } from '../src/model/sql-column.js'
import { ITEM_SYMBOL } from '../src/model/table.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { missingCandles } from '../src/pipeline/missing-candles.js'
import { perRowOf } from '../src/pipeline/work.js'
import { candlesOf } from '../src/provider/candles.js'

const indexCandles = candlesOf(
  'index_ohlcv',
  z.string().refine((instrument) => instrument !== 'EQUITY', 'must be an index instrument'),
)

const SID: Column = {
  name: 'sid',
  type: 'VARCHAR',
  comment: "the provider's id of the index, because some share a symbol; empty if the list lacks it",
  from: { file: 'sid' },
}

/** Daily candles of each index of `all-indices`, as for stocks. The interface document states no worker count; 15 as for stocks. */
export const indicesOhlcv = defineStream({
  name: 'indices-ohlcv',
  summary: 'daily candles of each index',
  phase: 'candles',
  workers: 15,
  timeoutMs: 30_000,
  endpoints: [indexCandles],
  work: perRowOf('all-indices', ({ Exch, Sym, Seg, Inst, Sid }, tools, file) => {
    const instrument = { EXCH: textOf(Exch), SYM: textOf(Sym), SEG: textOf(Seg), INST: textOf(Inst), SEC_ID: textOf(Sid) }
    return missingCandles({ endpoint: indexCandles, instrument, file, isIndex: true }, tools)
  }),
  outputs: [
    {
      shape: 'candles-per-item',
      file: 'ohlcv_data/indices/{INDEX}.csv',
      columns: CANDLE_COLUMNS,
      tables: [
        {
          name: 'index_candles',
          about: 'daily candles of indices',
          columns: [{ ...ITEM_SYMBOL, comment: 'symbol of the index, as in the table indices' }, SID, CandleRow],
          key: ['symbol', 'sid', 'date'],
          position: 18,
        },
      ],
    },
  ],
})
