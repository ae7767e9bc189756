import { CANDLE_COLUMNS } from '../model/candle.js'
import type { Table } from '../model/table.js'
import { disk } from './disk.js'
import { quoteList, quoteName, quoteText, toJsonPath } from './duckdb.js'
import { withFileSync } from './file-system.js'

const MIN_OBJECT_BYTES = 16_777_216

/** The SQL that reads whole documents, or the elements of an array, as `json`. */
export const buildJsonSource = ({ shape }: Table, files: readonly string[]): string => {
  // DuckDB allocates twice `maximum_object_size`, so pass the size of the largest document.
  const largest = shape === 'document' ? Math.max(...files.map((file) => disk.statSync(file).size)) : 0
  const format = shape === 'array' ? 'array' : 'unstructured'
  return `read_json_objects(${quoteList(files)}, format = '${format}', maximum_object_size = ${Math.max(largest + 1, MIN_OBJECT_BYTES)}, filename = true)`
}

/** The records under a key of a document; a single record counts as a list of one. */
export const buildList = (key: string): string => {
  const path = toJsonPath(key)
  return `CASE WHEN json_type(json, ${path}) = 'OBJECT' THEN [json_extract(json, ${path})] ELSE json_extract(json, ${toJsonPath(`$."${key}"[*]`)}) END`
}

/** All cells as text; missing cells are NULL. */
export const buildCsvSource = (files: readonly string[], header: readonly string[]): string => {
  const columns = header.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', null_padding = true, strict_mode = false, parallel = false, filename = true)`
}

/** Volume is read as DOUBLE, which is exact up to 2^53: as BIGINT, a file with 1e300 could not be read. */
export const buildCandleSource = (files: readonly string[]): string => {
  const columns = CANDLE_COLUMNS.map((name) => `${quoteText(name)}: '${name === 'Timestamp' ? 'BIGINT' : 'DOUBLE'}'`).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', filename = true)`
}

/** The SQL of a CSV row as a JSON object. */
export const buildRecord = (header: readonly string[]): string =>
  `json_object(${header.map((name) => `${quoteText(name.trim())}, trim(${quoteName(name)})`).join(', ')})`

const HEADER_BYTES = 4_096

/** The names in the first line of a CSV. */
export const readHeader = (file: string): readonly string[] => {
  const bytes = Buffer.alloc(HEADER_BYTES)
  const read = withFileSync(file, (fd) => disk.readSync(fd, bytes))
  const [line = ''] = bytes.toString('utf8', 0, read).split(/\r?\n/)
  return nameColumns(line.split(',').map((name) => name.trim().replace(/^\ufeff|"/g, '')))
}

/** The names of a first line; empty and repeated names get a number. */
export const nameColumns = (header: readonly string[]): readonly string[] => {
  const names = header.map((name) => name.trim())
  return names.map((name, index) => (name !== '' && names.indexOf(name) === index ? name : `${name}#${index + 1}`))
}
