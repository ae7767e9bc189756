export * as sinks from '../sinks/index.js'
export { streams } from '../streams/index.js'
export { type Collector, type CollectorOptions, createCollector } from './collector.js'
export { loadSettings } from './config.js'
export type { Candle, Candles } from './model/candle.js'
export {
  BadAnswer,
  CollectError,
  DamagedFile,
  HostClosed,
  HttpError,
  NothingAnswered,
  Shrunk,
  StorageError,
  Throttled,
  TransportError,
  UsageError,
} from './model/errors.js'
export type { RunEvent } from './model/event.js'
export type { Random, SampleMarket, SampleStock } from './model/market.js'
export { type Collected, type Found, found, type Item, type RowList, type Settled, skipped } from './model/outcome.js'
export type { RunReport, ScriptReport } from './model/report.js'
export { isRow, MaybeRows, Row, Rows, textOf } from './model/row.js'
export type { Settings, SettingsInput } from './model/settings.js'
export { ofStock, type Stock } from './model/stock.js'
export { firstThatAnswers } from './operators/first-that-answers.js'
export { recover } from './operators/recover.js'
export { sortDescending } from './operators/sort-descending.js'
export { uniqueBy } from './operators/unique-by.js'
export { defineStream, type StreamDefinition, type Tools, type Work } from './pipeline/define-stream.js'
export type { Journal, Kept } from './pipeline/journal.js'
export type { Log } from './pipeline/log.js'
export { fileOf, type Output } from './pipeline/output.js'
export type { CompleteRun, RunRecord, Session } from './pipeline/session.js'
export type { RunOptions } from './pipeline/start.js'
export type { Sink, SinkContext, Storage, Stored, Tail } from './pipeline/storage.js'
export { once, perPart, perRowOf, perStock } from './pipeline/work.js'
export { csv, json } from './provider/answer.js'
export { type Endpoint, get, post } from './provider/endpoint.js'
export type { HttpReply, HttpRequest, Transport } from './provider/http.js'
export { Fault, type Simulator, type SimulatorOptions, serveSimulator } from './simulator/index.js'
