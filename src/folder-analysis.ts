/**
 * Reads an output folder: checks it, compares its last two runs, answers SQL, exports to DuckDB and
 * PostgreSQL, writes the lake. Nothing here requests anything; only `verify` with `accept`, the lake, exports
 * and queries of large tables write, the latter three to `lake/`.
 *
 * @module scripstream/analysis
 * @beta
 */
import { streams as builtIn } from '../streams/registry.js'
import { listTables, type StreamDefinition } from './engine/define-stream.js'
import { type Optional, omitUndefined, type Row } from './model/row.js'
import type { Day } from './model/trading-day.js'
import { type Difference, type DiffOptions, diff as diffFolder } from './tables/changes/diff.js'
import { queryRows } from './tables/query.js'
import type { Verification, VerifyOptions } from './verify/finding.js'
import { verify as verifyFolder } from './verify/verify.js'

export type { Change } from './model/change.js'
export type { Optional } from './model/row.js'
export * from './tables/export/index.js'
export { wholeLake } from './tables/lake/whole-lake.js'
export { readReport } from './tables/output-folder.js'
export { type Finding, REMEDIES } from './verify/finding.js'
export type { Difference, DiffOptions, Verification, VerifyOptions }

const EXCHANGE = 'NSE'

/**
 * Reads the files of a folder once and reports what is wrong: missing sessions, impossible candles,
 * unadjusted splits, damaged files and more. Findings that were accepted are not reported.
 *
 * @param options `streams`: those that wrote the folder (default: the built-in ones); `exchange`: default
 * NSE; `limits`: how many findings are allowed, by check, `errors` or `warnings`
 * @throws UsageError if there is no such folder, or no master list in it, or for a symbol that is not listed
 * @throws StorageError if the list of accepted findings is damaged
 * @example
 * const { findings } = await verify('./data', { only: ['missing-sessions'], symbols: ['TCS'] })
 */
export const verify = (folder: string, options: Optional<VerifyOptions> = {}): Promise<Verification> =>
  verifyFolder(folder, { streams: builtIn, exchange: EXCHANGE, limits: {}, ...omitUndefined(options) })

/**
 * Lists what the last run that wrote files changed, or what changed since a recorded day: stocks, bands,
 * surveillance, deals, results, filings, news and more.
 *
 * @throws UsageError if there is no such folder, for a symbol that is listed neither now nor before, or for a
 * day that cannot be compared
 * @example
 * const { changes } = await diff('./data', { only: ['surveillance'] })
 */
export const diff = (folder: string, options: Optional<DiffOptions> = {}): Promise<Difference> =>
  diffFolder(folder, { streams: builtIn, exchange: EXCHANGE, ...omitUndefined(options) })

/** What a statement reads. */
export interface QueryOptions {
  /** The streams that wrote the folder. Default: the built-in ones. */
  readonly streams?: readonly StreamDefinition[] | undefined
  /** Tables are read as they stood on this day, which the history of the folder must have. Default: now. */
  readonly asOf?: Day | undefined
}

/**
 * The rows of one SELECT over the files of a folder, with the tables, views and limits of `scripstream
 * query`: the statement can open no other files and change nothing. Integers beyond 2^53, decimals, dates and
 * times are text. Needs the package `@duckdb/node-api`.
 *
 * @throws UsageError for a statement that is wrong or not permitted, or if the package is missing
 * @throws DamagedFileError for a file that cannot be read
 * @example
 * const rows = await query('./data', 'SELECT symbol, close_inr FROM screener ORDER BY market_cap_cr DESC LIMIT 10')
 */
export const query = (
  folder: string,
  sql: string,
  { streams = builtIn, asOf }: QueryOptions = {},
): Promise<readonly Row[]> => queryRows(sql, { out: folder, tables: listTables(streams), asOf })
