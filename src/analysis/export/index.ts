export type { Export, ExportOptions, LoadedTable } from './define-export.js'
export { duckdb } from './duckdb.js'
export { parquet } from './parquet.js'
export { type PostgresOptions, postgres } from './postgres.js'
