export { qlib, zipline } from './bundle.js'
export { duckdb } from './duckdb.js'
export type { Export } from './export.js'
export { postgres } from './postgres.js'
