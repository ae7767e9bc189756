/**
 * Where outputs are stored: a folder, the memory, NDJSON; the types of a storage of your own.
 *
 * @module scripstream/sinks
 * @public
 */
export type { Item, ItemOutcome, RowList } from '../src/model/outcome.js'
export type { Row } from '../src/model/row.js'
export {
  type ArrayPerItem,
  type CandlesPerItem,
  type DocumentPerItem,
  type Output,
  type RowsInOneFile,
  type TextFile,
  toFilePath,
} from '../src/pipeline/output.js'
export type {
  CarriedRecord,
  EarlierRuns,
  EndedRun,
  Journal,
  JournalFacts,
  LockedStorage,
  RunRecord,
  RunSelection,
  Session,
  SessionChoice,
  SessionRequest,
  SinkItem,
} from '../src/pipeline/session.js'
export type { Sink, SinkContext, Storage, Stored, Tail } from '../src/pipeline/storage.js'
export { callbackStorage } from '../src/storage/callback-storage.js'
export { createTail, type FileChunk, type FileStore } from '../src/storage/file-store.js'
export { parseRecords } from '../src/storage/record-file.js'
export { createStorage } from './create-storage.js'
export { folder } from './folder.js'
export { type MemoryFiles, memory, memorySession } from './memory.js'
export { type LineWriter, ndjson } from './ndjson.js'
