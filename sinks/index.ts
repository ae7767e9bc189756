export { folder } from './folder.js'
export { type MemoryFiles, memory } from './memory.js'
export { ndjson } from './ndjson.js'
