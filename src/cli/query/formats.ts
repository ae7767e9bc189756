import { stringify } from 'csv-stringify/sync'
import { escapeFormula } from '../../market/formula.js'

/** Formats rows as text, chunk by chunk. */
export type RowFormatter = (columns: readonly ColumnFacts[], rows: RowChunks) => AsyncIterable<string>

/** Safe for spreadsheets: a text that looks like a formula gets a leading `'`. Programs that need the exact text use ndjson or json. */
const formatCsvRows: RowFormatter = async function* (columns, rows) {
  yield stringify([columns.map(({ name }) => escapeFormula(name))])
  for await (const some of rows) yield stringify(some.rows().map((row) => row.map((value, index) => csvCell(value, columns[index]))))
}

const csvCell = (value: Value, column: ColumnFacts | undefined): string | undefined => {
  const text = cellText(value, column?.isJson)
  return text === undefined || column?.isNumber ? text : escapeFormula(text)
}

const formatNdjsonRows: RowFormatter = async function* (columns, rows) {
  const toObject = createObjectFormatter(columns)
  for await (const some of rows)
    yield some
      .rows()
      .map((row) => `${toObject(row)}\n`)
      .join('')
}

/** One array, one row per line. */
const formatJsonRows: RowFormatter = async function* (columns, rows) {
  const toObject = createObjectFormatter(columns)
  let before = '[\n'
  for await (const some of rows) {
    if (some.count === 0) continue
    yield before + some.rows().map(toObject).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

/** The formatters by the names of `--format`. */
export const rowFormatters = { csv: formatCsvRows, ndjson: formatNdjsonRows, json: formatJsonRows }

const createObjectFormatter = (columns: readonly ColumnFacts[]): ((row: readonly Value[]) => string) => {
  const names = numberDuplicates(columns.map(({ name }) => name)).map((name) => JSON.stringify(name))
  return (row) => `{${row.map((value, index) => `${names[index]}:${toJson(value, columns[index]?.isJson)}`).join(',')}}`
}

/** Numbers repeated column names: an object can have each name once. */
const numberDuplicates = (names: readonly string[]): readonly string[] => {
  const taken = new Set<string>()
  return names.map((name) => {
    let free = name
    for (let next = 2; taken.has(free); next++) free = `${name}_${next}`
    taken.add(free)
    return free
  })
}

/** A value from DuckDB: a text, number, boolean or null, or an object with its own `toString`. */
export type Value = unknown

export interface ColumnFacts {
  readonly name: string
  readonly isNumber: boolean
  /** Whether its texts are JSON. */
  readonly isJson: boolean
}

/** A chunk of rows; `rows` decodes them on demand. */
export interface RowChunk {
  readonly count: number
  readonly rows: () => readonly (readonly Value[])[]
}

/** Rows as they arrive, in chunks. */
export type RowChunks = AsyncIterable<RowChunk>

/** A value as exact text; undefined for NULL. Lists and structures become JSON. */
export const cellText = (value: Value, isJson = false): string | undefined => {
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' && (toListItems(value) || toFields(value)) ? toJson(value, isJson) : String(value)
}

/** A value as exact JSON: integers and decimals keep all digits, dates are text. */
export const toJson = (value: Value, isJson = false): string => {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : JSON.stringify(String(value))
  if (typeof value === 'bigint' || typeof value === 'boolean' || isDecimal(value)) return String(value)
  if (typeof value === 'string') return isJson ? value : JSON.stringify(value)
  const items = toListItems(value)
  if (items) return `[${items.map((item) => toJson(item)).join(',')}]`
  const fields = toFields(value)
  if (fields) return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${toJson(field)}`).join(',')}}`
  return JSON.stringify(String(value))
}

const isDecimal = (value: Value): boolean => typeof value === 'object' && value !== null && 'scale' in value && 'width' in value

const toListItems = (value: object): readonly Value[] | undefined =>
  'items' in value && Array.isArray(value.items) ? value.items : undefined

const toFields = (value: object): readonly (readonly [string, Value])[] | undefined => {
  if (!('entries' in value) || typeof value.entries !== 'object' || value.entries === null) return undefined
  if (!Array.isArray(value.entries)) return Object.entries(value.entries)
  return value.entries.map(({ key, value: field }: { readonly key: Value; readonly value: Value }) => [cellText(key) ?? 'null', field])
}
