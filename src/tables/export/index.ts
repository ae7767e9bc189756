export { duckdb } from './duckdb.js'
export type { Export, ExportOptions, LoadedTable } from './export.js'
export { parquet } from './parquet.js'
export { type PostgresOptions, postgres } from './postgres.js'
