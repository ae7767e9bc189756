/**
 * Where outputs are stored: a folder, the memory, NDJSON; the types of a storage of your own.
 *
 * @module scripstream/sinks
 * @public
 */

export { toFilePath } from '../src/engine/define-stream.js'
export type {
  Session,
  SessionRequest,
  Sink,
  SinkContext,
  SinkItem,
  Storage,
  Stored,
  Tail,
} from '../src/engine/storage.js'
export { createTail, type FileStore, parseRecords } from '../src/storage/record-file.js'
export { createStorage } from './create-storage.js'
export { folder } from './folder.js'
export { callbackStorage, type MemoryFiles, memory, memorySession } from './memory.js'
export { ndjson } from './ndjson.js'
