import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { type ColumnData, parquetMetadata, parquetRead, type SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { SqlType } from '../model/row-schema.js'
import { yieldTurn } from './file-system.js'
import type { Columns, TableRow, Value } from './table-rows.js'

export interface ParquetColumn {
  readonly name: string
  readonly type: SqlType
  /** The value of every row, which need not have it. */
  readonly constant?: Value
}

/** Nested values are text, so that every reader has them; times have no zone and are those of India. */
const ELEMENTS: Readonly<Record<SqlType, Omit<SchemaElement, 'name'>>> = {
  VARCHAR: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  JSON: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  DOUBLE: { type: 'DOUBLE' },
  BIGINT: { type: 'INT64' },
  DATE: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  TIMESTAMP: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' } },
}

const DAY_LENGTH_MS = 86_400_000

const ENCODERS: Readonly<Partial<Record<SqlType, (value: NonNullable<Value>) => number | bigint>>> = {
  BIGINT: BigInt,
  DATE: (day) => Date.parse(`${day}T00:00:00Z`) / DAY_LENGTH_MS,
  TIMESTAMP: (time) => BigInt(Date.parse(`${String(time).replace(' ', 'T')}Z`)) * 1_000n,
}

/** A long list is written and read in groups of so many rows, so that it needs the memory of one. */
export const GROUP_ROWS = 1 << 14
/** A column of a group is one page. */
const PAGE_BYTES = 1 << 30
/** Higher qualities gain 2 % and take twice as long. */
const QUALITY = 5

/** A Parquet file that is being written. Texts must be well-formed. */
export interface NewParquet {
  /** Adds a group of rows, column by column. Columns that are not given have their constants. */
  readonly addGroup: (columns: Columns) => void
  /** The bytes of the file, compressed with brotli. */
  readonly finish: () => Buffer
}

export const createParquet = (columns: readonly ParquetColumn[]): NewParquet => {
  const writer = new ByteWriter()
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(
        ({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] }),
      ),
    ],
    codec: 'BROTLI',
    compressors: { BROTLI: compressPage },
    // Without them fastparquet reads other integers, and nobody can skip groups. They take about 400 bytes.
    statistics: true,
    createdBy: 'scripstream',
  })
  return {
    addGroup: (all) => {
      const rows = all[0]?.length ?? 0
      const columnData = columns.map((column, at) => ({
        name: column.name,
        data: encodeColumn(column, all[at], rows),
        offsetIndex: false,
      }))
      if (rows > 0) void file.write({ columnData, rowGroupSize: rows, pageSize: PAGE_BYTES })
    },
    finish: () => {
      void file.finish()
      return Buffer.from(writer.getBytes())
    },
  }
}

export const writeParquet = (columns: readonly ParquetColumn[], rows: readonly TableRow[]): Buffer => {
  const file = createParquet(columns)
  for (let from = 0; from < rows.length; from += GROUP_ROWS) {
    const group = rows.slice(from, from + GROUP_ROWS)
    file.addGroup(columns.map(({ name }) => group.map((row) => row[name] ?? null)))
  }
  return file.finish()
}

const encodeColumn = (
  { type, constant = null }: ParquetColumn,
  own: readonly Value[] | undefined,
  rows: number,
): unknown[] => {
  const encode = ENCODERS[type]
  // Many rows have the same day or time as the one before.
  let last: Value = null
  let encoded: unknown = null
  const values = new Array<unknown>(rows)
  for (let row = 0; row < rows; row++) {
    const value = own?.[row] ?? constant
    if (value !== last) encoded = value === null || encode === undefined ? value : encode(value)
    last = value
    values[row] = encoded
  }
  return values
}

const compressPage = (bytes: Uint8Array): Uint8Array =>
  brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  })

/** The rows of a file that `writeParquet` wrote. Throws if it is damaged, as far as that can be seen. */
export const readParquet = async (bytes: Buffer): Promise<readonly TableRow[]> => {
  const rows: TableRow[] = []
  for await (const group of readParquetGroups(bytes))
    for (let row = 0; row < group.rows; row++) rows.push(group.rowAt(row))
  return rows
}

/**
 * Reads the groups of rows of a file, each from a place on, column by column: most readers need few of the
 * rows as objects. Groups without a wanted row are left out. Each group is read in a turn of its own.
 */
export async function* readParquetGroups(bytes: Buffer, isWanted = (_from: number, _until: number) => true) {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const metadata = parquetMetadata(file)
  const names = metadata.schema.slice(1).map(({ name }) => name)
  let from = 0
  for (const { num_rows } of metadata.row_groups) {
    const [first, rows] = [from, Number(num_rows)]
    from += rows
    if (!isWanted(first, from)) continue
    const columns = new Map(names.map((name) => [name, new Array<Value>(rows).fill(null)]))
    const onChunk = ({ columnName, columnData, rowStart }: ColumnData) => {
      const values = columns.get(columnName) ?? []
      for (let at = 0; at < columnData.length; at++)
        values[rowStart - first + at] = toReadValue(columnData[at])
    }
    await parquetRead({
      file,
      metadata,
      rowStart: first,
      rowEnd: from,
      onChunk,
      compressors: DECOMPRESSORS,
      parsers: PARSERS,
    })
    yield {
      from: first,
      rows,
      /** The values of some columns; null where the file lacks a column. */
      select: (some: readonly string[]): Columns =>
        some.map((name) => columns.get(name) ?? new Array<Value>(rows).fill(null)),
      rowAt: (row: number): TableRow =>
        Object.fromEntries(names.map((name) => [name, columns.get(name)?.[row] ?? null])),
    }
    await yieldTurn()
  }
}

/** The rows at some places, by their place, ascending. */
export const readRowsAt = async (
  bytes: Buffer,
  places: readonly number[],
): Promise<ReadonlyMap<number, TableRow>> => {
  const found = new Map<number, TableRow>()
  const isWanted = (from: number, until: number) => places.some((place) => place >= from && place < until)
  for await (const { from, rows, rowAt } of readParquetGroups(bytes, isWanted))
    for (const place of places)
      if (place >= from && place < from + rows) found.set(place, rowAt(place - from))
  return found
}

const toReadValue = (value: unknown): Value =>
  typeof value === 'bigint' && Number.isSafeInteger(Number(value))
    ? Number(value)
    : ((value ?? null) as Value)

const DECOMPRESSORS = { BROTLI: (page: Uint8Array) => brotliDecompressSync(page) }

const PARSERS = {
  // `TextDecoder` would drop a byte order mark.
  stringFromBytes: (text: Uint8Array | undefined) =>
    text && Buffer.from(text.buffer, text.byteOffset, text.length).toString(),
  dateFromDays: (days: number | undefined) =>
    days === undefined ? days : new Date(days * DAY_LENGTH_MS).toISOString().slice(0, 10),
  timestampFromMicroseconds: (micros: bigint) =>
    new Date(Number(micros / 1_000n)).toISOString().slice(0, 19).replace('T', ' '),
}
