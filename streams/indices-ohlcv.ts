import { z } from 'zod'
import { CANDLE_COLUMNS } from '../src/market/candle-file.js'
import { createCandleEndpoint } from '../src/market/candles.js'
import { readText } from '../src/model/row.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { fetchMissingCandles } from '../src/pipeline/missing-candles.js'
import { perRowOf } from '../src/pipeline/work.js'

const indexCandles = createCandleEndpoint(
  'index_ohlcv',
  z.string().refine((instrument) => instrument !== 'EQUITY', 'must be an index instrument'),
)

/** Daily candles of each index of `all-indices`, as for stocks. The interface document states no worker count; 15 as for stocks. */
export const indicesOhlcv = defineStream({
  name: 'indices-ohlcv',
  summary: 'daily candles of each index',
  phase: 'candles',
  workers: 15,
  timeoutMs: 30_000,
  endpoints: [indexCandles],
  work: perRowOf('all-indices', ({ Exch, Sym, Seg, Inst, Sid }, tools, file) => {
    const instrument = { EXCH: readText(Exch), SYM: readText(Sym), SEG: readText(Seg), INST: readText(Inst), SEC_ID: readText(Sid) }
    return fetchMissingCandles({ endpoint: indexCandles, instrument, file, isIndex: true }, tools)
  }),
  outputs: [{ shape: 'candles-per-item', file: 'ohlcv_data/indices/{INDEX}.csv', columns: CANDLE_COLUMNS }],
})
