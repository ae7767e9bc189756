import type { DuckDBResult } from '@duckdb/node-api'

/** A value from DuckDB: a text, number, boolean or null, or an object with its own `toString`. */
export type CellValue = unknown

export interface ResultColumn {
  readonly name: string
  readonly isNumber: boolean
  readonly isJson: boolean
}

/** A chunk of rows; `rows` decodes them on demand. */
export interface RowChunk {
  readonly count: number
  readonly rows: () => readonly (readonly CellValue[])[]
}

export type RowChunks = AsyncIterable<RowChunk>

/** A value as exact text; undefined for NULL. Lists and structures become JSON. */
export const valueToText = (value: CellValue, isJson = false): string | undefined => {
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' && (toListItems(value) || listFields(value))
    ? valueToJson(value, isJson)
    : String(value)
}

/** A value as exact JSON: integers and decimals keep all digits, dates are text. */
export const valueToJson = (value: CellValue, isJson = false): string => {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : JSON.stringify(String(value))
  if (typeof value === 'bigint' || typeof value === 'boolean' || isDecimal(value)) return String(value)
  if (typeof value === 'string') return isJson ? value : JSON.stringify(value)
  const items = toListItems(value)
  if (items) return `[${items.map((item) => valueToJson(item)).join(',')}]`
  const fields = listFields(value)
  if (fields)
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${valueToJson(field)}`).join(',')}}`
  return JSON.stringify(String(value))
}

const isDecimal = (value: CellValue): boolean =>
  typeof value === 'object' && value !== null && 'scale' in value && 'width' in value

const toListItems = (value: object): readonly CellValue[] | undefined =>
  'items' in value && Array.isArray(value.items) ? value.items : undefined

const listFields = (value: object): readonly (readonly [string, CellValue])[] | undefined => {
  if (!('entries' in value) || typeof value.entries !== 'object' || value.entries === null) return undefined
  if (!Array.isArray(value.entries)) return Object.entries(value.entries)
  return value.entries.map(
    ({ key, value: field }: { readonly key: CellValue; readonly value: CellValue }) => [
      valueToText(key) ?? 'null',
      field,
    ],
  )
}

export const describeResultColumns = (result: DuckDBResult): readonly ResultColumn[] =>
  result.columnNames().map((name, index) => {
    const type = result.columnType(index)
    return {
      name,
      isNumber: /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL)\b/.test(String(type)),
      isJson: type.alias === 'JSON',
    }
  })

export const readChunks = async function* (result: DuckDBResult): AsyncGenerator<RowChunk> {
  for await (const chunk of result) yield { count: chunk.rowCount, rows: () => chunk.getRows() }
}
