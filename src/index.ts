/**
 * The collector, and everything to write your own stream. Further entry points: `scripstream/streams` (built-in streams), `/sinks` (storage),
 * `/operators`, `/simulator` (the built-in provider), `/testing` (streams on virtual time), `/fleet` (several machines). This module does not
 * load the last four.
 */
export { type Collector, type CollectorOptions, createCollector, type RowsOf, type StreamOptions } from './collector.js'
export { loadSettings, type Sources } from './config.js'
export { type RefusalCode, RefusedError, refusals } from './market/never-worse.js'
export type { Candle, Candles } from './model/candle.js'
export {
  BadAnswer,
  CollectError,
  DamagedFile,
  HostAwayError,
  HostClosed,
  HttpError,
  NothingAnswered,
  type Status,
  StorageError,
  Throttled,
  TransportError,
  type TransportReason,
  UsageError,
  type Verdict,
} from './model/errors.js'
export type { RunEvent, StreamStart } from './model/event.js'
export type { CandleColumns, Random, SampleIndex, SampleMarket, SampleSplit, SampleStock } from './model/market.js'
export { type Collected, type Found, found, type Item, type RowList, type Settled, skipped } from './model/outcome.js'
export type {
  FleetMember,
  FleetState,
  ItemCounts,
  Problem,
  Rewritten,
  RunOutcome,
  RunReport,
  ScriptOutcome,
  ScriptReport,
} from './model/report.js'
export { isRow, MaybeRows, Row, Rows, textOf } from './model/row.js'
export {
  answerOf,
  type BuiltRowOf,
  type ColumnFacts,
  type CsvRowOf,
  column,
  oneOrMore,
  type RowOf,
  row,
  textSuchAs,
} from './model/row-schema.js'
export type { Host, Settings, SettingsInput } from './model/settings.js'
export type { Column, ColumnSource, SqlType } from './model/sql-column.js'
export { Owned, ofStock, Stock, sidOf } from './model/stock.js'
export { ITEM_SYMBOL, inDocument, type TableFacts } from './model/table.js'
export { addDays, type Day, dayAt, instantOf, readDay } from './model/trading-day.js'
export { defineStream, type Phase, type StreamDefinition, type Tools, type Work } from './pipeline/define-stream.js'
export type { Engine } from './pipeline/engine.js'
export type { Log } from './pipeline/log.js'
export type { ArrayPerItem, CandlesPerItem, DocumentPerItem, Output, RowsInOneFile, TextFile } from './pipeline/output.js'
export { spans, type TracingApi } from './pipeline/spans.js'
export type { RunOptions } from './pipeline/start.js'
export type { Storage, Stored, Tail } from './pipeline/storage.js'
export type { AskedRequest, Follower, Telemetry } from './pipeline/telemetry.js'
export { once, perPart, perRowOf, perStock } from './pipeline/work.js'
export { csv, json } from './provider/answer.js'
export type { Ask } from './provider/ask.js'
export { type AnyEndpoint, type Described, type Endpoint, exactly, get, type HeaderSet, post } from './provider/endpoint.js'
export { ownedBy } from './provider/owned-by.js'
export type { HttpReply, HttpRequest, Transport } from './provider/transport.js'
