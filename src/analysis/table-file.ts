import { basename, extname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { loadWithDuckDb } from '../../sinks/define-export.js'
import type { Export, ExportOptions } from '../../sinks/export.js'
import { DamagedFileError, UsageError } from '../model/errors.js'
import { type Columned, listColumns, type Table } from '../model/table.js'
import { findClosest, suggest } from '../model/text.js'
import { listTables } from '../pipeline/define-stream.js'
import { quoteName, quoteText } from '../storage/duckdb.js'
import { openFolder } from '../storage/table-folder.js'
import { MIN_LAKE_BYTES } from './lake/lake.js'
import { openRelations } from './relations.js'
import { replaceFile } from './replace-file.js'
import { loadSheetWriter, type WriteRows } from './sheet-file.js'
import { listViews } from './tables/index.js'

/**
 * Exports one table or view to a file that is named after it, such as `screener.csv`. The file is replaced at once when it is complete.
 *
 * @throws UsageError if no table has that name, or if the package of its format is missing
 */
export const tableFile = (path: string, { streams }: ExportOptions): Export => {
  const format = extname(path)
  const name = basename(path, format)
  const tables = listTables(streams)
  const all: readonly Columned[] = [...tables, ...listViews(tables)]
  const table = all.find((one) => one.name === name)
  if (table === undefined) {
    const near = suggest(
      findClosest(
        name,
        all.map((one) => one.name),
      ),
    )
    throw new UsageError(`${path}: unknown table ${name}${near}; name the file after a table, such as screener.csv`)
  }
  const writeRows = format === '.xlsx' ? loadSheetWriter() : writeFormat(FORMATS[format] ?? '')
  return {
    name: path,
    write: (out) =>
      loadWithDuckDb(async (run, isStopped) => {
        const began = performance.now()
        const rows = { name, columns: listColumns(table), select: buildRows(table, format) }
        const count = await run(async ({ connection }) => {
          await createTable(connection, table, { out, tables })
          return await replaceFile(path, (temporary) => writeRows(connection, temporary, rows), { isStopped })
        })
        return [{ table: name, rows: count, leftOut: 0, ms: Math.round(performance.now() - began), isSkipped: false }]
      }),
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  '.json': 'FORMAT json, ARRAY true',
  '.csv': 'FORMAT csv, HEADER',
  '.parquet': 'FORMAT parquet, COMPRESSION zstd',
}

const writeFormat =
  (format: string): WriteRows =>
  async (connection, path, { select }) =>
    Number((await connection.run(`COPY (${select}) TO ${quoteText(path)} (${format})`)).rowsChanged)

/** Creates the table or view and what it needs. */
const createTable = async (
  connection: DuckDBConnection,
  table: Columned,
  { out, tables }: { readonly out: string; readonly tables: readonly Table[] },
): Promise<void> => {
  const { files } = await openRelations(connection, [table], {
    tables,
    folder: await openFolder(out),
    lake: { minBytes: MIN_LAKE_BYTES },
    // A file has no place for a warning.
    warn: (text) => {
      throw new DamagedFileError(text)
    },
  })
  if (files.length === 0) throw new UsageError(`${out} has no outputs to load`, { code: 'no-outputs' })
}

/** The rows in a steady order. In CSV, a text that a spreadsheet would run as a formula starts with `'`. */
const buildRows = (table: Columned, format: string): string => {
  const columns = listColumns(table).map(({ name, type }) => {
    const column = quoteName(name)
    if (format !== '.csv' || type !== 'VARCHAR') return column
    const isFormula = `regexp_matches(${column}, '^([\\t\\r]|\\s*[=+@-])') AND TRY_CAST(${column} AS DOUBLE) IS NULL AND trim(${column}) <> '-'`
    return `CASE WHEN ${isFormula} THEN '''' || ${column} ELSE ${column} END AS ${column}`
  })
  return `SELECT ${columns.join(', ')} FROM ${quoteName(table.name)}${table.shape === 'view' ? ' ORDER BY symbol, day' : ''}`
}
