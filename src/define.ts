/**
 * What a stream of your own is written with: rows, endpoints, work and outputs.
 *
 * @module scripstream/define
 * @public
 */
export {
  defineStream,
  type Output,
  once,
  perDay,
  perPart,
  perRowOf,
  perStock,
  type StreamDefinition,
  type Tools,
  type Work,
} from './engine/define-stream.js'
export { csv, json } from './http/answer.js'
export type { Ask } from './http/ask.js'
export { type Endpoint, type EndpointDefinition, exactly, get, post } from './http/endpoint.js'
export { assertSameIsin } from './market/listings.js'
export type { Candle, Candles } from './model/candle.js'
export { createResult, type Item, type ItemResult, skippedResult } from './model/outcome.js'
export { isRow, readText } from './model/row.js'
export {
  type BuiltRowOf,
  type ColumnFacts,
  column,
  dataEnvelope,
  ITEM_SYMBOL,
  MaybeRows,
  oneOrMore,
  Row,
  type RowOf,
  Rows,
  row,
  textSuchAs,
} from './model/row-schema.js'
export { requireSid, Stock, StockRecord, toStockRecord } from './model/stock.js'
export { type TableFacts, toDocumentColumns } from './model/table.js'
export { addDays, type Day, readDay, toDay, toInstant } from './model/trading-day.js'
