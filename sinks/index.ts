/**
 * Where outputs are stored: a folder, the memory, NDJSON; the types of a storage of your own.
 *
 * @module scripstream/sinks
 * @public
 */

export {
  type ArrayPerItem,
  type CandlesPerItem,
  type DocumentPerItem,
  type Output,
  type RowsInOneFile,
  type TextFile,
  toFilePath,
} from '../src/engine/define-stream.js'
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
  Sink,
  SinkContext,
  SinkItem,
  Storage,
  Stored,
  Tail,
} from '../src/engine/storage.js'
export type { Item, ItemOutcome, RowList } from '../src/model/outcome.js'
export type { Row } from '../src/model/row.js'
export type { FileChunk } from '../src/storage/file-system.js'
export { createTail, type FileStore, parseRecords } from '../src/storage/record-file.js'
export { createStorage } from './create-storage.js'
export { folder } from './folder.js'
export { callbackStorage, type MemoryFiles, memory, memorySession } from './memory.js'
export { type LineWriter, ndjson } from './ndjson.js'
