export { duckdb } from './duckdb.js'
export type { Export } from './export.js'
export { parquet } from './parquet.js'
export { postgres } from './postgres.js'
