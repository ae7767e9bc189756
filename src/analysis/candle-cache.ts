import { createHash, randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { duplicateKeys } from '../../sinks/define-export.js'
import { formatError } from '../model/errors.js'
import type { Table } from '../model/table.js'
import { disk } from '../storage/disk.js'
import { quoteName, quoteText } from '../storage/duckdb.js'
import { statePaths } from '../storage/run-state.js'
import type { TableFolder } from '../storage/table-folder.js'
import { buildSelect } from '../storage/table-views.js'

/** Smaller candle files are read as quickly as a copy of them. */
export const MIN_CACHED_BYTES = 32_000_000

/** A Parquet copy of the candle files, and the SQL that reads it. */
export interface CandleCache {
  readonly path: string
  /** Reads what the view over the files reads. */
  readonly candles: string
  /** Reads what the view `candle_days` reads, without sorting. */
  readonly candleDays: string
}

interface CacheRequest {
  readonly table: Table
  readonly folder: TableFolder
  /** Smaller candle files are read as they are. */
  readonly minBytes: number
}

/**
 * Opens the copy of the current candle files, and writes it first if it is missing. Its name depends on the sizes and times of the files, so
 * that an old copy is never used. Undefined if it cannot be written, or is not worth it.
 */
export const openCandleCache = async (connection: DuckDBConnection, request: CacheRequest): Promise<CandleCache | undefined> => {
  const { table, folder, minBytes } = request
  const select = await buildSelect(table, folder)
  const current = await describeFiles(request, select)
  if (current.bytes < minBytes) return undefined
  const path = join(statePaths(folder.root).cache, `candles-${current.hash}.parquet`)
  const names = table.columns.map(({ name }) => quoteName(name)).join(', ')
  const source = `read_parquet(${quoteText(path)})`
  const cache: CandleCache = {
    path,
    candles: `SELECT ${names} FROM ${source}`,
    candleDays: `SELECT symbol, date AS day, open, high, low, close, volume FROM ${source} WHERE is_last AND date IS NOT NULL`,
  }
  if (await isReadable(connection, cache)) return cache
  try {
    await disk.mkdir(dirname(path), { recursive: true })
    const temporary = join(dirname(path), `candles-${randomUUID()}.tmp`)
    try {
      await writeCache(connection, temporary, { table, select })
      // A run may have changed a file in the meantime.
      if ((await describeFiles(request, select)).hash !== current.hash) return undefined
      await disk.rename(temporary, path)
    } finally {
      await disk.rm(temporary, { force: true })
    }
    for (const name of await disk.readdir(dirname(path)))
      if (name.endsWith('.parquet') && name !== basename(path)) await disk.rm(join(dirname(path), name), { force: true })
    return cache
  } catch (error) {
    if (/\bINTERRUPT/.test(formatError(error))) throw error
    return undefined
  }
}

/** The total size of the candle files, and a hash that changes with any of them and with the SQL that reads them. */
const describeFiles = async ({ table, folder }: CacheRequest, select: string) => {
  const hash = createHash('sha256').update(select)
  let bytes = 0
  for (const path of (await folder.listFiles(table)).flatMap(({ paths }) => paths)) {
    const { size, mtimeMs } = await disk.stat(path)
    hash.update(`\n${path} ${size} ${mtimeMs}`)
    bytes += size
  }
  return { bytes, hash: hash.digest('hex').slice(0, 24) }
}

/** A copy that a crash cut off has no footer, so that it cannot be opened. */
const isReadable = (connection: DuckDBConnection, { path, candleDays }: CandleCache): Promise<boolean> =>
  disk
    .stat(path)
    .then(() => connection.run(`${candleDays} LIMIT 0`))
    .then(
      () => true,
      () => false,
    )

const writeCache = async (
  connection: DuckDBConnection,
  path: string,
  { table, select }: { readonly table: Table; readonly select: string },
): Promise<void> => {
  const names = table.columns.map(({ name }) => quoteName(name)).join(', ')
  const repeated = await duplicateKeys(connection, table, `(${select})`)
  const marked =
    repeated === undefined
      ? `SELECT *, true AS is_last FROM (${select})`
      : `SELECT *, true AS is_last FROM (${select}) WHERE NOT (${repeated}) UNION ALL SELECT ${names}, is_last FROM (
          SELECT *, row_number() OVER (PARTITION BY symbol, date ORDER BY place DESC) = 1 AS is_last
          FROM (SELECT *, row_number() OVER () AS place FROM (${select}) WHERE ${repeated}) ORDER BY place)`
  await connection.run(`COPY (${marked}) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`)
}
