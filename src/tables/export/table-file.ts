import { basename, extname } from 'node:path'
import { UsageError } from '../../model/errors.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { MIN_LAKE_BYTES } from '../lake/lake.js'
import { defineExport, type ExportedTable, loadEach, selectTables } from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import { replaceExport } from './replace-file.js'
import { loadSheetWriter, type WriteRows } from './sheet-file.js'

/**
 * Exports one table or view to a file that is named after it, such as `screener.csv`. The file is replaced at
 * once when it is complete.
 *
 * @throws UsageError if no table has that name, or if the package of its format is missing
 */
export const tableFile = (path: string, options: ExportOptions): Export => {
  const format = extname(path)
  const name = basename(path, format)
  if (options.tables?.includes(name) === false)
    throw new UsageError(`${path} has the table ${name}, which is not among the chosen ones`)
  try {
    selectTables(options.streams, [name])
  } catch (error) {
    throw new UsageError(
      `${path}: ${(error as Error).message}; name the file after a table, such as screener.csv`,
    )
  }
  const writeRows = format === '.xlsx' ? loadSheetWriter() : writeFormat(COPY_OPTIONS[format] ?? '')
  return defineExport(
    { ...options, name: path, tables: [name], lake: { minBytes: MIN_LAKE_BYTES, isWhole: false } },
    (exporting) =>
      loadEach(exporting, (table) => {
        const rows = { name, columns: table.columns, select: buildRows(table, format) }
        return replaceExport(path, (temporary) => writeRows(exporting.connection, temporary, rows), exporting)
      }),
  )
}

const COPY_OPTIONS: Readonly<Record<string, string>> = {
  '.json': 'FORMAT json, ARRAY true',
  '.csv': 'FORMAT csv, HEADER',
  '.parquet': 'FORMAT parquet, COMPRESSION zstd',
}

const writeFormat =
  (format: string): WriteRows =>
  async (connection, path, { select }) =>
    Number((await connection.run(`COPY (${select}) TO ${quoteText(path)} (${format})`)).rowsChanged)

/** The rows in a steady order. In CSV, a text that a spreadsheet would run as a formula starts with `'`. */
const buildRows = ({ columns, select, shape }: ExportedTable, format: string): string => {
  const values = columns.map(({ name, type }) => {
    const column = quoteName(name)
    if (format !== '.csv' || type !== 'VARCHAR') return column
    const isFormula = `regexp_matches(${column}, '^([\\t\\r]|\\s*[=+@-])') AND TRY_CAST(${column} AS DOUBLE) IS NULL AND trim(${column}) <> '-'`
    return `CASE WHEN ${isFormula} THEN '''' || ${column} ELSE ${column} END AS ${column}`
  })
  return `SELECT ${values.join(', ')} FROM (${select})${shape === 'view' ? ' ORDER BY symbol, day' : ''}`
}
