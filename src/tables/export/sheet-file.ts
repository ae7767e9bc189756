import type { DuckDBConnection, DuckDBDateValue, DuckDBTimestampValue } from '@duckdb/node-api'
import type { Cell, SheetData } from 'write-excel-file/node'
import { UsageError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import type { SqlType } from '../../model/row-schema.js'
import type { ShownColumn } from '../../model/table.js'

/**
 * A workbook is put together in memory: this many cells take 0.9 GB, a screener of 2,775 stocks a quarter of
 * that.
 */
const MAX_CELLS = 2_000_000
const MAX_TEXT = 32_767

interface SheetRows {
  readonly name: string
  readonly columns: readonly ShownColumn[]
  readonly select: string
}

export type WriteRows = (connection: DuckDBConnection, path: string, rows: SheetRows) => Promise<number>

/**
 * What writes rows as an Excel workbook with one sheet: numbers and dates have the type of their column, and
 * the row with the names stays in place.
 *
 * @throws UsageError with the install command if the package is missing
 */
export const loadSheetWriter = (maxCells = MAX_CELLS): WriteRows => {
  const { default: writeWorkbook } = requireOptional<typeof import('write-excel-file/node')>(
    'write-excel-file/node',
    'write-excel-file is not installed',
    'write-excel-file',
  )
  return async (connection, path, sheet) => {
    const { name, columns } = sheet
    const data = await readCells(connection, sheet, maxCells)
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
  { name, columns, select }: SheetRows,
  maxCells: number,
): Promise<SheetData> => {
  const rows: SheetData[number][] = [columns.map((column) => ({ value: column.name, fontWeight: 'bold' }))]
  for await (const chunk of await connection.stream(select)) {
    for (const row of chunk.getRows())
      rows.push(row.map((value, place) => toCell(value, columns[place]?.type)))
    if (rows.length * columns.length > maxCells)
      throw new UsageError(
        `${name} has more than the ${maxCells} cells of a workbook; write ${name}.csv or ${name}.parquet`,
      )
  }
  return rows
}

const toCell = (value: unknown, type: SqlType | undefined): Cell => {
  if (value === null) return null
  if (typeof value === 'number') return value
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value)
  const instant = toSheetDate(value, type)
  if (instant !== undefined)
    return { value: instant, format: type === 'DATE' ? 'yyyy-mm-dd' : 'yyyy-mm-dd hh:mm:ss' }
  return String(value).slice(0, MAX_TEXT)
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
