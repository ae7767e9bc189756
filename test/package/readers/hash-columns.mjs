/** Prints a digest of each column of each Parquet file below a folder, as one reader sees its values. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [reader = '', lake = ''] = process.argv.slice(2)

/** A time to the millisecond; a nested value as JSON. */
const toText = (value) => {
  if (value === null || value === undefined) return 'NULL'
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : `${value}`
}

const openDuckDb = async (name) => {
  const { DuckDBInstance } = await import(name)
  const connection = await (await DuckDBInstance.create()).connect()
  return async (path) => {
    const result = await connection.runAndReadAll(`FROM read_parquet('${path}')`)
    const columns = result.getColumnsJS()
    return result.columnNames().map((column, place) => [column, columns[place] ?? []])
  }
}

const openHyparquet = async () => {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import('hyparquet')
  const { compressors } = await import('hyparquet-compressors')
  return async (path) => {
    const file = await asyncBufferFromFile(path)
    const [, ...columns] = (await parquetMetadataAsync(file)).schema.map(({ name }) => name)
    const rows = await parquetReadObjects({ file, compressors })
    return columns.map((column) => [column, rows.map((row) => row[column])])
  }
}

const openParquetWasm = async () => {
  const { readParquet } = await import('parquet-wasm')
  const { tableFromIPC } = await import('apache-arrow')
  return async (path) => {
    const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream())
    return table.schema.fields.map(({ name, type }, place) => {
      const isTime = /^(Date|Timestamp)/.test(`${type}`)
      const values = [...(table.getChildAt(place) ?? [])]
      return [name, values.map((value) => (isTime && value !== null ? new Date(Number(value)) : value))]
    })
  }
}

const readers = {
  'duckdb-oldest': () => openDuckDb('duckdb-oldest'),
  'duckdb-newest': () => openDuckDb('duckdb-newest'),
  hyparquet: openHyparquet,
  'parquet-wasm': openParquetWasm,
}

const read = await readers[reader]()
const digests = {}
for (const file of readdirSync(lake, { recursive: true }).map(String).sort()) {
  if (!file.endsWith('.parquet')) continue
  for (const [column, values] of await read(join(lake, file))) {
    const hash = createHash('md5')
    for (const value of values) hash.update(`${toText(value)}\n`)
    digests[`${dirname(file)}.${column}`] = `${values.length} ${hash.digest('hex')}`
  }
}
process.stdout.write(JSON.stringify(digests))
