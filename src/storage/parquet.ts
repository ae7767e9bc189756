import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { parquetReadObjects, type SchemaElement } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { SqlType } from '../model/row-schema.js'
import type { TableRow, Value } from './table-rows.js'

/** A column of a Parquet file. */
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

const DAY_MS = 86_400_000

const ENCODERS: Readonly<Partial<Record<SqlType, (value: NonNullable<Value>) => number | bigint>>> = {
  BIGINT: BigInt,
  DATE: (day) => Date.parse(`${day}T00:00:00Z`) / DAY_MS,
  TIMESTAMP: (time) => BigInt(Date.parse(`${String(time).replace(' ', 'T')}Z`)) * 1_000n,
}

/** All rows are in one group, and a column in few pages: the lists of a market are short. */
const ONE_GROUP = 1 << 30
const PAGE_BYTES = 1 << 24
/** Higher qualities gain 2 % and take twice as long. */
const QUALITY = 5

/** The bytes of a Parquet file, compressed with brotli. Texts must be well-formed. */
export const writeParquet = (columns: readonly ParquetColumn[], rows: readonly TableRow[]): Buffer => {
  const bytes = parquetWriteBuffer({
    columnData: columns.map((column) => ({ name: column.name, data: encodeColumn(rows, column), offsetIndex: false })),
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] })),
    ],
    ...{ codec: 'BROTLI', compressors: { BROTLI: compress }, statistics: false, rowGroupSize: ONE_GROUP, pageSize: PAGE_BYTES },
    createdBy: 'scripstream',
  })
  return Buffer.from(bytes)
}

const encodeColumn = (rows: readonly TableRow[], { name, type, constant = null }: ParquetColumn): unknown[] => {
  const encode = ENCODERS[type]
  // Many rows have the same day or time.
  const encoded = new Map<Value, unknown>([[null, null]])
  const values: unknown[] = []
  for (const { [name]: own } of rows) {
    const value = own ?? constant
    if (encode !== undefined && !encoded.has(value)) encoded.set(value, encode(value as NonNullable<Value>))
    values.push(encode === undefined ? value : encoded.get(value))
  }
  return values
}

const compress = (bytes: Uint8Array): Uint8Array =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } })

/** The rows of a file that `writeParquet` wrote. Throws if it is damaged, as far as that can be seen. */
export const readParquet = async (bytes: Buffer): Promise<readonly TableRow[]> => {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const rows = await parquetReadObjects({
    file,
    compressors: { BROTLI: (page) => brotliDecompressSync(page) },
    parsers: {
      // `TextDecoder` would drop a byte order mark.
      stringFromBytes: (text: Uint8Array | undefined) => text && Buffer.from(text.buffer, text.byteOffset, text.length).toString(),
      dateFromDays: (days: number | undefined) => (days === undefined ? days : new Date(days * DAY_MS).toISOString().slice(0, 10)),
      timestampFromMicroseconds: (micros: bigint) => new Date(Number(micros / 1_000n)).toISOString().slice(0, 19).replace('T', ' '),
    },
  })
  for (const row of rows) for (const [name, value] of Object.entries(row)) if (typeof value === 'bigint') row[name] = toNumber(value)
  return rows as readonly TableRow[]
}

const toNumber = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value)
