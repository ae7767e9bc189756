import type { Candle } from '../../model/candle.js'
import type { Collected } from '../../model/outcome.js'
import { isRow, type Row, textOf } from '../../model/row.js'
import { ofStock, type Stock } from '../../model/stock.js'
import { dayAt } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { MASTER } from '../../pipeline/work.js'
import { csv } from '../../provider/answer.js'

/**
 * The rows of an item as records that name their owner: `Symbol` and `ISIN` of a stock first, `Symbol` and `Sid` of an index, the name of
 * the list if a stream has several. A candle gets its trading day (`Date`, in India) and column names.
 */
export const recordsOf = (stream: StreamDefinition, { item, rows }: Collected): readonly Row[] => {
  const [output] = stream.outputs
  const own = ownerOf(stream, item.value)
  switch (output.shape) {
    case 'candles-per-item':
      return rows.map((candle) => own(candleRecord(candle as Candle, output.columns)))
    case 'text':
      return csv([])(rows.join('\n')).map(own)
    default:
      return rows.map((row) => own(isRow(row) ? row : { value: row }))
  }
}

const ownerOf = ({ work }: StreamDefinition, value: unknown): ((record: Row) => Row) => {
  if (work.of === MASTER) return (record) => ofStock(value as Stock, record)
  if (work.of !== undefined) {
    const { Sym, Sid } = value as Row
    return (record) => ({ Symbol: textOf(Sym), Sid: textOf(Sid), ...record })
  }
  return work.parts.length > 1 ? (record) => ({ List: value, ...record }) : (record) => record
}

const candleRecord = (candle: Candle, columns: readonly string[]): Row => ({
  Date: dayAt(candle[0] * 1_000),
  ...Object.fromEntries(columns.map((column, index) => [column, candle[index]])),
})
