import { basename } from 'node:path'
import type { DuckDBConnection, DuckDBDateValue, DuckDBTimestampValue } from '@duckdb/node-api'
import type { SheetData } from 'write-excel-file/node'
import { UsageError } from '../../model/errors.js'
import { formatQuantity } from '../../model/format.js'
import { requireOptional } from '../../model/optional-package.js'
import type { SqlType } from '../../model/row-schema.js'
import { ONLY_LARGE } from '../lake/lake.js'
import { defineExport, type ExportedTable, loadEach, selectTables } from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import { replaceExport } from './replace-file.js'

/**
 * A workbook is put together in memory: this many cells take 0.9 GB, a screener of 2,775 stocks a quarter of
 * that.
 */
const MAX_CELLS = 2_000_000
/** Of a sheet, with the names of its columns. */
const MAX_ROWS = 1_048_576
const MAX_TEXT = 32_767

interface SheetRows extends Pick<ExportedTable, 'name' | 'columns' | 'select'>, Pick<ExportOptions, 'warn'> {}

/**
 * Exports one table or view to an Excel workbook that is named after it, such as `screener.xlsx`. The file is
 * replaced at once when it is complete.
 *
 * @throws UsageError if no table has that name, or with the install command if the package is missing
 */
export const workbook = (path: string, options: ExportOptions): Export => {
  const name = basename(path, '.xlsx')
  if (options.tables?.includes(name) === false)
    throw new UsageError(`${path} has the table ${name}, which is not among the chosen ones`)
  try {
    selectTables(options.streams, [name])
  } catch (error) {
    throw new UsageError(
      `${path}: ${(error as Error).message}; name the file after a table, such as screener.xlsx`,
    )
  }
  const writeRows = loadSheetWriter()
  return defineExport({ ...options, name: path, tables: [name], lake: ONLY_LARGE }, (exporting) =>
    loadEach(exporting, ({ columns, select, shape }) => {
      const ordered = shape === 'view' ? `FROM (${select}) ORDER BY symbol, day` : select
      const sheet = { name, columns, select: ordered, warn: options.warn }
      return replaceExport(path, (temporary) => writeRows(exporting.connection, temporary, sheet), exporting)
    }),
  )
}

/**
 * What writes rows as a workbook with one sheet: numbers and dates have the type of their column, and the row
 * with the names stays in place.
 *
 * @throws UsageError with the install command if the package is missing
 */
export const loadSheetWriter = (maxCells = MAX_CELLS) => {
  const { default: writeWorkbook } = requireOptional<typeof import('write-excel-file/node')>(
    'write-excel-file/node',
    'write-excel-file is not installed',
    'write-excel-file',
  )
  return async (connection: DuckDBConnection, path: string, sheet: SheetRows): Promise<number> => {
    const { name, columns } = sheet
    const data = await readCells(connection, sheet, Math.min(maxCells, MAX_ROWS * columns.length))
    const widths = columns.map((column) => ({ width: Math.max(WIDTHS[column.type], column.name.length + 2) }))
    await writeWorkbook(data, { sheet: name, stickyRowsCount: 1, columns: widths }).toFile(path)
    return data.length - 1
  }
}

/** In characters. */
const WIDTHS: Readonly<Record<SqlType, number>> = {
  VARCHAR: 16,
  JSON: 16,
  DOUBLE: 12,
  BIGINT: 12,
  DATE: 12,
  TIMESTAMP: 20,
}

const readCells = async (
  connection: DuckDBConnection,
  { name, columns, select, warn }: SheetRows,
  maxCells: number,
): Promise<SheetData> => {
  const long = new Map<string, number>()
  const cut = (text: string, column = ''): string => {
    if (text.length <= MAX_TEXT) return text
    long.set(column, (long.get(column) ?? 0) + 1)
    return text.slice(0, MAX_TEXT).replace(HALF_CHARACTER, '')
  }
  const rows: SheetData[number][] = [columns.map((column) => ({ value: column.name, fontWeight: 'bold' }))]
  for await (const chunk of await connection.stream(select)) {
    for (const row of chunk.getRows())
      rows.push(
        row.map((value, place) => {
          const cell = toCell(value, columns[place]?.type)
          return typeof cell === 'string' ? cut(cell, columns[place]?.name) : cell
        }),
      )
    if (rows.length * columns.length > maxCells)
      throw new UsageError(
        `${name} has more than the ${maxCells} cells of a workbook; query fewer columns as CSV, or read the lake`,
      )
  }
  for (const [column, count] of long)
    warn?.(
      `${name}: ${formatQuantity(count, 'text')} of ${column} cut after ${MAX_TEXT} characters, the most that a cell can have`,
    )
  return rows
}

/** The first half of a character that has two. */
const HALF_CHARACTER = /[\uD800-\uDBFF]$/

const toCell = (value: unknown, type: SqlType | undefined) => {
  if (value === null) return null
  if (typeof value === 'number') return value
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value)
  const instant = toSheetDate(value, type)
  if (instant !== undefined)
    return { value: instant, format: type === 'DATE' ? 'yyyy-mm-dd' : 'yyyy-mm-dd hh:mm:ss' }
  return String(value)
}

const MS_PER_DAY = 86_400_000
/** Workbooks take 1900 for a leap year, and end with 9999. */
const [FIRST, END] = [Date.UTC(1900, 2, 1), Date.UTC(10_000, 0, 1)]

/** A day or a time that a workbook can have. */
const toSheetDate = (value: unknown, type: SqlType | undefined): Date | undefined => {
  if (type !== 'DATE' && type !== 'TIMESTAMP') return undefined
  const ms =
    type === 'DATE'
      ? (value as DuckDBDateValue).days * MS_PER_DAY
      : Number((value as DuckDBTimestampValue).micros) / 1_000
  return ms >= FIRST && ms < END ? new Date(ms) : undefined
}
