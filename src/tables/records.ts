import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { CANDLE_HEADER } from './candles.js'
import type { LabelledFiles } from './folder.js'
import { listed, named, pathOf, quoted } from './sql.js'
import type { Table } from './table.js'

/** `any` takes whatever cells hold; `sound` is some times as fast, and an error where a candle file holds more or less than six figures a line. */
export type Reading = 'any' | 'sound'

/**
 * The SELECT of what files hold, with `filename` and `label`: the cells of candles as text, else `record` as JSON, and `document` where a
 * record lies in a list of one.
 */
export const recordsOf = (table: Table, { found, label }: LabelledFiles, reading: Reading = 'any'): string => {
  const said = label === undefined ? 'NULL' : quoted(label)
  switch (table.shape) {
    case 'candles':
      return `SELECT *, ${said} AS label FROM ${reading === 'sound' ? figuresOf(found) : csvOf(found, CANDLE_HEADER)}`
    case 'csv':
      return found
        .map((file) => `SELECT ${recordIn(headerOf(file))} AS record, filename, ${said} AS label FROM ${csvOf([file], headerOf(file))}`)
        .join(' UNION ALL ')
    case 'array':
    case 'document':
      return table.lists === undefined
        ? `SELECT json AS record, filename, ${said} AS label FROM ${jsonOf(table, found)}`
        : `SELECT unnest(flatten([${table.lists.map(listAt).join(', ')}])) AS record, json AS document, filename, ${said} AS label FROM ${jsonOf(table, found)}`
  }
}

const USUAL_BYTES = 16_777_216

const jsonOf = ({ shape }: Table, files: readonly string[]): string => {
  // The reader wants to know the size of the largest document; it takes twice as much memory at once.
  const largest = shape === 'document' ? Math.max(...files.map((file) => statSync(file).size)) : 0
  const format = shape === 'array' ? 'array' : 'unstructured'
  return `read_json_objects(${listed(files)}, format = '${format}', maximum_object_size = ${Math.max(largest + 1, USUAL_BYTES)}, filename = true)`
}

/** The records under a key of a document; one that is in no list counts as a list of one. */
const listAt = (key: string): string => {
  const path = pathOf(key)
  return `CASE WHEN json_type(json, ${path}) = 'OBJECT' THEN [json_extract(json, ${path})] ELSE json_extract(json, ${pathOf(`$."${key}"[*]`)}) END`
}

/** Cells as text, whatever they hold; a line that is too short is filled up with NULL. */
const csvOf = (files: readonly string[], header: readonly string[]): string => {
  const columns = header.map((name) => `${quoted(name)}: 'VARCHAR'`).join(', ')
  return `read_csv(${listed(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', null_padding = true, strict_mode = false, parallel = false, filename = true)`
}

/** Volume is read as a figure with decimals, for DuckDB would round 12.7 to a whole one; it is exact up to 2^53. */
const figuresOf = (files: readonly string[]): string => {
  const columns = CANDLE_HEADER.map((name) => `${quoted(name)}: '${name === 'Timestamp' ? 'BIGINT' : 'DOUBLE'}'`).join(', ')
  return `read_csv(${listed(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', filename = true)`
}

const recordIn = (header: readonly string[]): string =>
  `json_object(${header.map((name) => `${quoted(name.trim())}, trim(${named(name)})`).join(', ')})`

const HEADER_BYTES = 4_096

/** The names in the first line of a CSV; one that is empty or there before gets a number. */
const headerOf = (file: string): readonly string[] => {
  const handle = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(HEADER_BYTES)
    const [line = ''] = bytes.toString('utf8', 0, readSync(handle, bytes)).split(/\r?\n/)
    const names = line.split(',').map((name) => name.trim().replace(/^\ufeff|"/g, ''))
    return names.map((name, place) => (name !== '' && names.indexOf(name) === place ? name : `${name}#${place + 1}`))
  } finally {
    closeSync(handle)
  }
}
