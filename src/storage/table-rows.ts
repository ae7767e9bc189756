import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { isRow, type Row, toNumber } from '../model/row.js'
import type { TableColumn } from '../model/row-schema.js'
import { EXTRA, listColumnNames, listColumns, type Table } from '../model/table.js'
import { readDay } from '../model/trading-day.js'
import { indexReaders, listKeysIn, takesAnyValue } from './column-keys.js'
import { disk } from './disk.js'
import { statFile } from './file-system.js'
import { readRecords } from './record-file.js'

/**
 * A value of a row: a day as `2026-02-12`, a time in India as `2026-02-12 18:30:00`, nested values as JSON,
 * and null for NULL.
 */
export type Value = string | number | bigint | null

/**
 * A row of a table, by the names of its columns. `table-views.ts` selects the same with SQL; a test compares
 * them.
 */
export type TableRow = Readonly<Record<string, Value>>

/** The values of rows, column by column, in the order of `listColumns`. */
export type Columns = readonly Value[][]

export const createColumns = (table: Table): Columns => listColumns(table).map(() => [])

/**
 * Reads tables of the same files, which are lists, in one pass, and adds their rows to columns. Emits after
 * some rows each, so that the caller can take them out; never if no file exists.
 *
 * @throws DamagedFileError if a file is no list of records
 */
export async function* readTables(
  root: string,
  tables: readonly (readonly [Table, Columns])[],
): AsyncGenerator<void> {
  const { files = [], shape } = tables[0]?.[0] ?? {}
  for (const [at, { path }] of files.entries()) {
    const file = join(root, path)
    if (statFile(file) === undefined) continue
    const makers = tables.map(([table, into]) => createRowMaker(table, table.files[at]?.label ?? '', into))
    const batches =
      shape === 'csv' ? [parseCsv(await disk.readFile(file, 'utf8'))] : readRecords(file, basename(file))
    for await (const records of batches) {
      for (const addRows of makers) for (const record of records) addRows(record)
      yield
    }
  }
}

/** Cells without the spaces around them; a missing or empty one is null. */
export const parseCsv = (text: string): readonly Row[] => {
  const [header = [], ...lines] = parse(text, {
    relaxColumnCount: true,
    relaxQuotes: true,
    skipEmptyLines: true,
    bom: true,
  }) as string[][]
  const names = nameColumns(header)
  return lines.map((cells) =>
    Object.fromEntries(names.map((name, at) => [name, cells[at] ? cells[at].replace(/^ +| +$/g, '') : null])),
  )
}

/** The names of a first line; empty and repeated names get a number. */
export const nameColumns = (header: readonly string[]): readonly string[] => {
  const names = header.map((name) => name.trim())
  return names.map((name, index) =>
    name !== '' && names.indexOf(name) === index ? name : `${name}#${index + 1}`,
  )
}

/**
 * Creates a function that adds the rows of a table in one record of a file to its columns: one, or those of
 * the lists in it.
 */
const createRowMaker = (table: Table, label: string, into: Columns): ((record: Row) => void) => {
  const { columns, lists } = table
  const restOfRow = createRest(table, 'record')
  const restOfDocument = createRest(table, 'json')
  const readers = columns.map((column) => createReader(column, label))
  const extras = into.at(-1)
  const addRow = (record: unknown, document: Row, restOf?: Row) => {
    const fields = isRow(record) ? record : {}
    let mayMisfit = false
    // Loops by index: `for … of` allocates an object per step until it is optimised, and most runs read too
    // few rows for that.
    for (let at = 0; at < readers.length; at++) {
      const value = readers[at]?.(fields, document) ?? null
      if (value === MISFIT) mayMisfit = true
      into[at]?.push(value === MISFIT ? null : value)
    }
    const rest = isRow(record) ? restOfRow(record, mayMisfit) : record
    extras?.push(toExtra(restOf === undefined ? rest : mergePatch(restOf, rest)))
  }
  if (lists === undefined) return (record) => addRow(record, {})
  return (document) => {
    const rest = restOfDocument(document, true)
    for (const key of lists) for (const record of toList(document[key])) addRow(record, document, rest)
  }
}

/** A single record counts as a list of one. */
const toList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : isRow(value) ? [value] : []

const toExtra = (rest: unknown): string | null => {
  if (isRow(rest)) for (const _ in rest) return toSqlJson(rest)
  return isRow(rest) ? null : toSqlJson(rest)
}

/** RFC 7396, as `json_merge_patch` in SQL: keys of the patch go last, and its nulls remove. */
const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isRow(patch)) return patch
  const merged: Record<string, unknown> = {}
  if (isRow(target))
    for (const [key, value] of Object.entries(target)) if (!(key in patch)) merged[key] = value
  for (const [key, value] of Object.entries(patch))
    if (value !== null) merged[key] = mergePatch(isRow(target) ? target[key] : undefined, value)
  return merged
}

/** A value that does not fit its column. */
const MISFIT = Symbol('misfit')

/** Creates a function that reads the value of a column: the first of its keys that is there. */
const createReader = (
  column: TableColumn,
  label: string,
): ((row: Row, document: Row) => Value | typeof MISFIT) => {
  const { from } = column
  if ('file' in from) {
    const value = from.file === 'label' ? (column.convert?.value(label) ?? label) : null
    return () => value
  }
  const ofRow = 'row' in from
  const finders = (ofRow ? from.row : 'document' in from ? from.document : []).map(createValueFinder)
  return (row, document) => {
    const source = ofRow ? row : document
    for (const find of finders) {
      const found = find(source)
      if (found !== undefined && found !== null) return toValue(column, found) ?? MISFIT
    }
    return null
  }
}

/**
 * Creates a function that finds the value under a key, or under a JSON path such as `$.Pivot[0].Classic.PP`.
 */
const createValueFinder = (key: string): ((source: Row) => unknown) => {
  if (!key.startsWith('$')) return (source) => source[key]
  const parts = key.match(/[^.[\]$]+/g) ?? []
  return (source) => parts.reduce((value: unknown, part) => (value as Row | null | undefined)?.[part], source)
}

/** JSON as SQL writes it: `1e21` without a plus. */
const toSqlJson = (value: unknown): string => {
  const json = JSON.stringify(value)
  return json?.includes('e+')
    ? json.replace(/"(?:[^"\\]|\\.)*"|e\+/g, (part) => (part === 'e+' ? 'e' : part))
    : json
}

/** The value of a column; null if it does not fit. */
export const toValue = ({ type, convert }: TableColumn, found: unknown): Value => {
  // Most values are of the type of their column.
  if (
    convert === undefined &&
    typeof found === 'number' &&
    (type === 'DOUBLE' || (type === 'BIGINT' && Number.isSafeInteger(found)))
  )
    return found
  if (type === 'JSON') return toSqlJson(found)
  const text = typeof found === 'string' ? found : toSqlJson(found)
  if (convert !== undefined) return convert.value(text) ?? null
  switch (type) {
    case 'VARCHAR':
      return text
    case 'DOUBLE':
      return toNumber(text) ?? null
    case 'BIGINT':
      return toWhole(text)
    case 'DATE':
      return readDay(text.slice(0, 10)) ?? null
    case 'TIMESTAMP':
      return toTimestamp(text.slice(0, 19))
  }
}

const toWhole = (text: string): Value => {
  const number = toNumber(text)
  if (number === undefined || !Number.isInteger(number)) return null
  if (Number.isSafeInteger(number)) return number
  return /^\s*[+-]?\d{1,18}\s*$/.test(text) ? BigInt(text) : null
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})(?:[ T]((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?)?\s*$/

const toTimestamp = (text: string): string | null => {
  const [, day, time = '00:00', seconds = ':00'] = TIMESTAMP.exec(text) ?? []
  return readDay(day) === undefined ? null : `${day} ${time}${seconds}`
}

/**
 * Creates a function that selects the fields that no column reads, and the values that fit none of the
 * columns that do. Without `mayMisfit` all values that columns have read fit; a column with several keys
 * reads only one of them.
 */
const createRest = (
  { columns, lists = [], elsewhere = [] }: Table,
  of: 'record' | 'json',
): ((source: Row, mayMisfit: boolean) => Row) => {
  const readers = indexReaders(columns, of)
  const dropped = new Set((of === 'json') === lists.length > 0 ? [...lists, ...elsewhere] : [])
  const strict = [...readers]
    .map(([key, own]) => ({ key, own }))
    .filter(({ own }) => !own.some(takesAnyValue))
  const unread = strict.filter(({ own }) => own.every((column) => listKeysIn(of, column).length > 1))
  const known = new Set([...readers.keys(), ...dropped])
  return (source, mayMisfit) => {
    const rest: Record<string, unknown> = {}
    for (const key in source) if (!known.has(key)) rest[key] = source[key]
    for (const { key, own } of mayMisfit ? strict : unread) {
      const value = source[key]
      if (value !== undefined && value !== null && own.every((column) => toValue(column, value) === null))
        rest[key] = mergePatch(undefined, value)
    }
    return rest
  }
}

export const hasFile = (root: string, { files }: Table): boolean =>
  files.some(({ path }) => statFile(join(root, path)) !== undefined)

/**
 * Reads all rows of a table whose files are lists, with the exchange in their paths; undefined if none of
 * them exists.
 *
 * @throws DamagedFileError if one is no list of records
 */
export const readTable = async (root: string, table: Table): Promise<readonly TableRow[] | undefined> => {
  const columns = createColumns(table)
  for await (const _ of readTables(root, [[table, columns]]));
  if (!hasFile(root, table)) return undefined
  const names = listColumnNames(table)
  return (columns[0] ?? []).map((_, row) =>
    Object.fromEntries(names.map((name, at) => [name, columns[at]?.[row] ?? null])),
  )
}

/**
 * Digests rows: two rows of a table are the same if their digests are, and two lists in whatever order if
 * their contents are.
 */
export interface RowDigests {
  /** Adds the rows of some columns, from a row on. */
  readonly add: (columns: Columns, from?: number) => void
  /** The digest of each row, in the order in which they were added. */
  readonly keys: readonly number[]
  /** The digest of all rows, under the names of their columns. */
  readonly content: () => string
}

export const createRowDigests = (table: Table): RowDigests => {
  const keys: number[] = []
  const hashRow = createRowHash()
  return {
    keys,
    add: (columns, from = 0) => {
      for (let row = from; row < (columns[0]?.length ?? 0); row++) keys.push(hashRow(columns, row))
    },
    content: () =>
      createHash('sha256')
        .update(JSON.stringify(listColumnNames(table)))
        .update(Float64Array.from(keys).sort())
        .digest('hex'),
  }
}

/** The values of rows that are objects. A column that they lack is null. */
export const toColumnValues = (table: Table, rows: readonly TableRow[]): Columns =>
  listColumns(table).map(({ name }) => rows.map((row) => row[name] ?? null))

export const digestRows = (table: Table, rows: readonly TableRow[]): string => {
  const digests = createRowDigests(table)
  digests.add(toColumnValues(table, rows))
  return digests.content()
}

/**
 * Creates a function that hashes a row to 53 bits (cyrb53). It compares the rows of one list with each other,
 * a quarter of a million a day; a cryptographic hash of each row and the text it needs take five times as
 * long.
 */
const createRowHash = (): ((columns: Columns, row: number) => number) => {
  const double = new Float64Array(1)
  const halves = new Uint32Array(double.buffer)
  let [one, other] = [0, 0]
  const mix = (part: number) => {
    // The shifts carry a difference in the upper bits, such as that of a sign, to all others.
    one = Math.imul(one ^ part, 2_654_435_761)
    one ^= one >>> 15
    other = Math.imul(other ^ part, 1_597_334_677)
    other ^= other >>> 13
  }
  const mixValue = (value: Value) => {
    if (value === null) mix(1)
    else if (typeof value === 'number') {
      // JSON has no negative zero.
      double[0] = value + 0
      mix(2)
      mix(halves[0] as number)
      mix(halves[1] as number)
    } else {
      const text = typeof value === 'string' ? value : `${value}`
      mix(typeof value === 'string' ? 3 : 4)
      mix(text.length)
      for (let at = 0; at < text.length; at++) mix(text.charCodeAt(at))
    }
  }
  return (columns, row) => {
    one = 0xdeadbeef
    other = 0x41c6ce57
    for (let at = 0; at < columns.length; at++) mixValue(columns[at]?.[row] as Value)
    one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909)
    other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909)
    return (other & 0x1f_ffff) * 2 ** 32 + (one >>> 0)
  }
}

/** The rows of one file of a table, and the records of the provider that they stand for. */
export interface FileRecords {
  readonly rows: readonly TableRow[]
  readonly records: readonly Row[]
}

/**
 * Creates a function that turns rows into records, by the path of their file: fields under the names that the
 * provider has for them, as far as columns and `extra` have them. The same row is the same record. Times keep
 * the form of the columns, so compare only such records.
 */
export const createRecordReader = ({
  columns,
  files,
  lists,
}: Table): ((rows: readonly TableRow[]) => ReadonlyMap<string, FileRecords>) => {
  const label = columns.find(({ from }) => 'file' in from && from.file === 'label')
  const isOf = (row: TableRow, own = '') =>
    label === undefined || row[label.name] === (label.convert?.value(own) ?? own)
  const toRecord = createRecordMaker(columns, lists?.[0])
  const known = new WeakMap<TableRow, Row>()
  const findRecord = (row: TableRow) => {
    const record = known.get(row) ?? toRecord(row)
    known.set(row, record)
    return record
  }
  return (all) =>
    new Map(
      files.map(({ path, label: own }) => {
        const rows = all.filter((row) => isOf(row, own))
        return [path, { rows, records: rows.map(findRecord) }]
      }),
    )
}

const createRecordMaker = (
  columns: readonly TableColumn[],
  list: string | undefined,
): ((row: TableRow) => Row) => {
  const readers = columns.flatMap((column) => {
    const { from, convert } = column
    const [key = '$'] = 'row' in from ? from.row : 'document' in from ? from.document : []
    return key.startsWith('$') || convert ? [] : [{ column, key, isOfRow: 'row' in from }]
  })
  return (row) => {
    const own: Record<string, unknown> =
      typeof row[EXTRA.name] === 'string' ? { ...JSON.parse(row[EXTRA.name] as string) } : {}
    const document: Record<string, unknown> = {}
    for (const { column, key, isOfRow } of readers) {
      const target = isOfRow ? own : document
      const stored = row[column.name] ?? null
      // An older file can lack the column, or have it with another type.
      const value =
        target[key] ?? (stored !== null && column.type === 'JSON' ? JSON.parse(String(stored)) : stored)
      if (value !== null) target[key] = column.type === 'JSON' ? value : (toValue(column, value) ?? value)
    }
    return list === undefined ? own : { ...document, [list]: [own] }
  }
}
