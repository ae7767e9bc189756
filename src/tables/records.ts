import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { CANDLE_COLUMNS } from '../model/candle.js'
import type { Table } from '../model/table.js'
import type { LabelledFiles } from './folder.js'
import { quoteList, quoteName, quoteText, toJsonPath } from './sql.js'

/** `any` accepts all cells. `sound` is several times as fast, but fails if a line of a candle file does not have six numbers. */
export type CsvMode = 'any' | 'sound'

/**
 * The SELECT over the files, with `filename` and `label`. Candles: cells as text. Others: `record` as JSON, and `document` if records are
 * in a list of a document.
 */
export const buildRecordSelect = (table: Table, { paths, label }: LabelledFiles, reading: CsvMode = 'any'): string => {
  const labelSql = label === undefined ? 'NULL' : quoteText(label)
  switch (table.shape) {
    case 'candles':
      return `SELECT *, ${labelSql} AS label FROM ${reading === 'sound' ? buildCandleSource(paths) : buildCsvSource(paths, CANDLE_COLUMNS)}`
    case 'csv':
      return paths
        .map(
          (file) =>
            `SELECT ${buildRecord(readHeader(file))} AS record, filename, ${labelSql} AS label FROM ${buildCsvSource([file], readHeader(file))}`,
        )
        .join(' UNION ALL ')
    case 'array':
    case 'document':
      return table.lists === undefined
        ? `SELECT json AS record, filename, ${labelSql} AS label FROM ${buildJsonSource(table, paths)}`
        : `SELECT unnest(flatten([${table.lists.map(buildList).join(', ')}])) AS record, json AS document, filename, ${labelSql} AS label FROM ${buildJsonSource(table, paths)}`
  }
}

const MIN_OBJECT_BYTES = 16_777_216

const buildJsonSource = ({ shape }: Table, files: readonly string[]): string => {
  // DuckDB allocates twice `maximum_object_size`, so pass the size of the largest document.
  const largest = shape === 'document' ? Math.max(...files.map((file) => statSync(file).size)) : 0
  const format = shape === 'array' ? 'array' : 'unstructured'
  return `read_json_objects(${quoteList(files)}, format = '${format}', maximum_object_size = ${Math.max(largest + 1, MIN_OBJECT_BYTES)}, filename = true)`
}

/** The records under a key of a document; a single record counts as a list of one. */
const buildList = (key: string): string => {
  const path = toJsonPath(key)
  return `CASE WHEN json_type(json, ${path}) = 'OBJECT' THEN [json_extract(json, ${path})] ELSE json_extract(json, ${toJsonPath(`$."${key}"[*]`)}) END`
}

/** All cells as text; missing cells are NULL. */
const buildCsvSource = (files: readonly string[], header: readonly string[]): string => {
  const columns = header.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', null_padding = true, strict_mode = false, parallel = false, filename = true)`
}

/** Volume is read as DOUBLE (exact up to 2^53), because as BIGINT DuckDB would round 12.7. */
const buildCandleSource = (files: readonly string[]): string => {
  const columns = CANDLE_COLUMNS.map((name) => `${quoteText(name)}: '${name === 'Timestamp' ? 'BIGINT' : 'DOUBLE'}'`).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', filename = true)`
}

const buildRecord = (header: readonly string[]): string =>
  `json_object(${header.map((name) => `${quoteText(name.trim())}, trim(${quoteName(name)})`).join(', ')})`

const HEADER_BYTES = 4_096

/** The names in the first line of a CSV; empty and repeated names get a number. */
const readHeader = (file: string): readonly string[] => {
  const handle = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(HEADER_BYTES)
    const [line = ''] = bytes.toString('utf8', 0, readSync(handle, bytes)).split(/\r?\n/)
    const names = line.split(',').map((name) => name.trim().replace(/^\ufeff|"/g, ''))
    return names.map((name, index) => (name !== '' && names.indexOf(name) === index ? name : `${name}#${index + 1}`))
  } finally {
    closeSync(handle)
  }
}
