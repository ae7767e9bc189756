/**
 * The collector, and everything to write your own stream. Further entry points: `scripstream/streams` (built-in streams), `/sinks` (storage),
 * `/operators`, `/analysis` (checks, differences, SQL), `/simulator` (the built-in provider), `/testing` (streams on virtual time), `/fleet`
 * (several machines). This module does not load the last five.
 *
 * @module scripstream
 * @public
 */
export { type Collector, type CollectorOptions, createCollector, type RowsOf, type StreamOptions, type WatchOptions } from './collector.js'
export { loadSettings, type SettingsSources } from './config.js'
export type { ArrayPerItem, CandlesPerItem, DocumentPerItem, Output, RowsInOneFile, SortOrder, TextFile } from './engine/define-stream.js'
export {
  defineStream,
  once,
  type Phase,
  perPart,
  perRowOf,
  perStock,
  type StreamDefinition,
  type Tools,
  type Work,
} from './engine/define-stream.js'
export type { FinishedRequest, Follower, LiveRun, Log, StartedRequest, Telemetry } from './engine/event-bus.js'
export type { Engine } from './engine/run.js'
export type { RunOptions } from './engine/run-options.js'
export type { Storage, Stored, Tail } from './engine/storage.js'
export { csv, json } from './http/answer.js'
export type { Ask, AskOptions } from './http/ask.js'
export { httpTransport } from './http/connections.js'
export {
  type AnswerInspector,
  type AnyEndpoint,
  type Endpoint,
  type EndpointDefinition,
  exactly,
  get,
  type HeaderSet,
  post,
} from './http/endpoint.js'
export type { HttpDispatcher } from './http/exchange.js'
export type { HttpReply, HttpRequest, RequestEnd, RequestFollower, RequestStart, Transport } from './http/transport.js'
export type { LimiterStatus } from './limiter/limiter-registry.js'
export { assertSameIsin } from './market/listings.js'
export { type RefusalCode, RefusedError } from './market/refusal-policy.js'
export type { Candle, Candles } from './model/candle.js'
export {
  BadAnswerError,
  CollectError,
  DamagedFileError,
  type ErrorCode,
  errorCodes,
  type FailedRequest,
  type FailedResponse,
  type FailureCause,
  HostClosedError,
  HostDownError,
  HttpError,
  InternalError,
  NothingAnsweredError,
  refusals,
  type Status,
  StorageError,
  ThrottledError,
  TransportError,
  type TransportReason,
  type UsageCode,
  UsageError,
  type UsageIssue,
  type Verdict,
} from './model/errors.js'
export type { BackoffReason, GiveUpReason, RunEvent, StreamStart } from './model/event.js'
export {
  createResult,
  type Item,
  type ItemOutcome,
  type ItemResult,
  type PublicOutcome,
  type RowList,
  skippedResult,
} from './model/outcome.js'
export type {
  AsOfSession,
  Drift,
  ItemCounts,
  Problem,
  ReportedCause,
  RewrittenFile,
  RunOutcome,
  RunReport,
  ScriptOutcome,
  ScriptReport,
  StaleOutput,
  WrongSymbol,
} from './model/report.js'
export { isRow, MaybeRows, Row, Rows, readText } from './model/row.js'
export {
  type BuiltRowOf,
  type ColumnFacts,
  type ColumnSource,
  type CsvRowOf,
  column,
  dataEnvelope,
  ITEM_SYMBOL,
  oneOrMore,
  type RowOf,
  row,
  type SqlType,
  type TableColumn,
  textSuchAs,
} from './model/row-schema.js'
export type { BuiltInHost, Host, Settings, SettingsInput } from './model/settings.js'
export { requireSid, Stock, StockRecord, toStockRecord } from './model/stock.js'
export { type TableFacts, toDocumentColumns } from './model/table.js'
export { addDays, type Day, readDay, toDay, toInstant } from './model/trading-day.js'
export type { RowChanges } from './tables/watch/compare-rows.js'
export type { WatchChanges } from './tables/watch/watch-runs.js'
export { spans, type TracingApi } from './telemetry/opentelemetry.js'
export { createMetrics, type Metrics, type MetricsOptions, type MetricsRegistry } from './telemetry/prometheus.js'
