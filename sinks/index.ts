export type { Item, RowList, Settled } from '../src/model/outcome.js'
export type { Row } from '../src/model/row.js'
export type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'
export {
  type ArrayPerItem,
  type CandlesPerItem,
  type DocumentPerItem,
  fileOf,
  type Output,
  type RowsInOneFile,
  type TextFile,
} from '../src/pipeline/output.js'
export type { Beginning, CompleteRun, RunRecord, Session } from '../src/pipeline/session.js'
export type { Sink, SinkContext, Storage, Stored, Tail } from '../src/pipeline/storage.js'
export { duckdb } from './duckdb.js'
export type { Export, ExportOptions, Loaded } from './export.js'
export type { Files, Part } from './files.js'
export { folder } from './folder.js'
export { type MemoryFiles, memory } from './memory.js'
export { memorySession } from './memory-session.js'
export { type LineWriter, ndjson } from './ndjson.js'
export { parquet } from './parquet.js'
export { type PostgresOptions, postgres } from './postgres.js'
export { storageOver } from './storage-over.js'
