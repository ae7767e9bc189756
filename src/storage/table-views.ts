import { CANDLE_COLUMNS } from '../model/candle.js'
import type { SqlType, TableColumn } from '../model/row-schema.js'
import { type Columned, EXTRA, listColumns, type Table } from '../model/table.js'
import { indexReaders, listKeysIn, type RowSource, takesAnyValue } from './column-keys.js'
import { disk } from './disk.js'
import { quoteList, quoteName, quoteText, toJsonPath } from './duckdb.js'
import { withFileSync } from './file-system.js'
import { buildKnownSelect, type KnownOn } from './seen-records.js'
import type { LabelledFiles, TableFolder, TableItem } from './table-folder.js'
import { nameColumns } from './table-rows.js'

/**
 * `any` accepts all cells. `sound` is several times as fast, but fails if a line of a candle file does not
 * have six numbers.
 */
export type CsvMode = 'any' | 'sound'

export interface SelectOptions {
  readonly reading?: CsvMode | undefined
  /** Only records that were known on a day, of tables with an `identity`. */
  readonly known?: KnownOn | undefined
}

/**
 * The SELECT that reads a table from the current files of a folder. A value that does not fit its column is
 * NULL there and appears in `extra`. Without files there are no rows.
 */
export const buildSelect = async (
  table: Table,
  folder: TableFolder,
  { reading, known }: SelectOptions = {},
): Promise<string> => {
  const groups = (await folder.listFiles(table)).filter(({ paths }) => paths.length > 0)
  if (groups.length === 0) return buildEmptySelect(table)
  const item = buildItem(table, await folder.listItems(table))
  const values = table.columns.map(
    (column) => `${buildValue(column, table, item)} AS ${quoteName(column.name)}`,
  )
  const extra = table.shape === 'candles' ? [] : [`${buildExtra(table)} AS ${EXTRA.name}`]
  const records = groups.map((files) => buildRecordSelect(table, files, reading)).join(' UNION ALL ')
  const source =
    known === undefined
      ? records
      : buildKnownSelect(records, {
          ...known,
          root: folder.root,
          identity: table.identity ?? [],
          time: buildOwnTime(table),
        })
  return `SELECT ${[...values, ...extra].join(', ')} FROM (${source})`
}

/** The SQL of the time of a record: the first column with one. */
const buildOwnTime = ({ columns }: Table): string => {
  const time = columns.find(({ type }) => type === 'TIMESTAMP' || type === 'DATE')
  const keys = time && 'row' in time.from ? time.from.row : []
  return time
    ? buildCast(time, buildCoalesce(keys.map((key) => `json_extract_string(record, ${toJsonPath(key)})`)))
    : 'NULL'
}

export const buildEmptySelect = (table: Columned): string =>
  `SELECT ${listColumns(table)
    .map(({ name, type }) => `CAST(NULL AS ${type}) AS ${quoteName(name)}`)
    .join(', ')} WHERE false`

/**
 * The symbol and sid of a file. They depend on the file's name alone, so that DuckDB skips the files of other
 * items.
 */
const buildItem = (
  { files }: Table,
  items: ReadonlyMap<string, TableItem>,
): Record<'symbol' | 'sid', string> => {
  const [, after = ''] = files[0]?.path.split(/\{\w+\}/) ?? []
  const name = `left(parse_filename(filename), -${after.length})`
  const chosen = (pairs: readonly (readonly [string, string])[], otherwise: string) =>
    pairs.length === 0
      ? otherwise
      : `coalesce(MAP {${pairs.map((pair) => pair.map(quoteText).join(': ')).join(', ')}}[${name}], ${otherwise})`
  const all = [...items]
  return {
    symbol: chosen(
      all.flatMap(([file, { symbol }]) => (file === symbol ? [] : [[file, symbol]])),
      name,
    ),
    sid: chosen(
      all.map(([file, { sid }]) => [file, sid]),
      "''",
    ),
  }
}

const buildValue = (
  column: TableColumn,
  { shape }: Table,
  item: Record<'symbol' | 'sid', string>,
): string => {
  const { from, convert } = column
  if ('history' in from) return from.history
  if ('file' in from) {
    const value = from.file === 'label' ? 'label' : item[from.file]
    return convert === undefined ? value : convert.sql(value)
  }
  if (!('row' in from)) return nameDocumentValue(column)
  return shape === 'candles'
    ? buildCandleValue(column, quoteName(from.row[0] ?? ''))
    : buildField('record', from.row, column)
}

/** `verify` finds prices that are no numbers; to look at each one here would slow down all queries. */
const buildCandleValue = (column: TableColumn, text: string): string =>
  column.type === 'DOUBLE' && column.convert === undefined
    ? `TRY_CAST(${text} AS DOUBLE)`
    : buildCast(column, text)

const buildField = (where: RowSource, keys: readonly string[], column: TableColumn): string => {
  if (column.type === 'JSON')
    return buildCoalesce(keys.map((key) => `NULLIF(json_extract(${where}, ${toJsonPath(key)}), 'null')`))
  return buildCast(
    column,
    buildCoalesce(keys.map((key) => `json_extract_string(${where}, ${toJsonPath(key)})`)),
  )
}

const nameDocumentValue = ({ name }: TableColumn): string => quoteName(`document_${name}`)

/**
 * The alias `r` of the rows of a recorded list, whose file may lack a column or have it with another type.
 */
const RECORDED_EXTRA = 'r.extra'

/**
 * The columns of a recorded list. What its file has no column for is in its `extra`, under the names of the
 * provider.
 */
export const buildRecordedValues = (table: Table): string => {
  const values = table.columns.map((column) => {
    const keys = listKeysIn(RECORDED_EXTRA, column)
    const own = buildRecordedValue(column.type, `r.${quoteName(column.name)}`)
    return `${keys.length === 0 ? own : `coalesce(${own}, ${buildField(RECORDED_EXTRA, keys, column)})`} AS ${quoteName(column.name)}`
  })
  const rest = `NULLIF(${buildRest(RECORDED_EXTRA, table)}, '{}')`
  // Few rows have such a field, and to merge JSON is slow.
  const keys = quoteList(table.columns.flatMap((column) => listKeysIn(RECORDED_EXTRA, column)))
  const extra = `CASE WHEN list_has_any(json_keys(${RECORDED_EXTRA}), ${keys}) THEN ${rest} ELSE CAST(${RECORDED_EXTRA} AS JSON) END`
  return [...values, `${extra} AS ${EXTRA.name}`].join(', ')
}

const buildRecordedValue = (type: SqlType, value: string): string => {
  if (type === 'VARCHAR') return `CAST(${value} AS VARCHAR)`
  if (type === 'JSON') return `coalesce(TRY_CAST(${value} AS JSON), to_json(${value}))`
  return `CASE WHEN typeof(${value}) = '${type}' THEN TRY_CAST(${value} AS ${type}) ELSE ${buildCast({ type }, `CAST(${value} AS VARCHAR)`)} END`
}

/**
 * What rows take from the document around their list. Read before the list is unnested: parsing a document
 * for each of its rows is quadratic.
 */
const buildDocumentValues = (table: Table): string =>
  [
    ...table.columns.flatMap((column) =>
      'document' in column.from
        ? [`${buildField('json', column.from.document, column)} AS ${nameDocumentValue(column)}`]
        : [],
    ),
    ...(table.shape === 'document' ? [] : [`${buildRest('json', table)} AS document_rest`]),
  ]
    .map((value) => `, ${value}`)
    .join('')

const buildCoalesce = (values: readonly string[]): string =>
  values.length === 1 ? values.join('') : `coalesce(${values.join(', ')})`

const buildCast = ({ type, convert }: Pick<TableColumn, 'type' | 'convert'>, text: string): string => {
  if (convert !== undefined) return `TRY(${convert.sql(text)})`
  switch (type) {
    case 'VARCHAR':
    case 'JSON':
      return text
    // Texts such as NaN and 1e400 are no numbers.
    case 'DOUBLE':
      return `CASE WHEN isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END`
    // A cast alone would round 12.7 to 13.
    case 'BIGINT':
      return `CASE WHEN TRY_CAST(${text} AS DOUBLE) % 1 = 0 THEN TRY_CAST(${text} AS BIGINT) END`
    // A time of day or an offset may follow. A cast alone reads texts such as 2026/2/1 and infinity, too.
    case 'DATE':
      return `CASE WHEN ${text} LIKE '____-__-__%' THEN TRY_CAST(left(${text}, 10) AS DATE) END`
    case 'TIMESTAMP':
      return `CASE WHEN ${text} LIKE '____-__-__%' THEN TRY_CAST(left(${text}, 19) AS TIMESTAMP) END`
  }
}

/** The fields of a row, and of the record around it, that no column reads. */
const buildExtra = (table: Table): string => {
  const row = buildRest('record', table)
  const all =
    table.lists === undefined || table.shape === 'document' ? row : `json_merge_patch(document_rest, ${row})`
  return `NULLIF(CASE WHEN json_type(record) = 'OBJECT' THEN ${all} ELSE record END, '{}')`
}

const buildRest = (where: RowSource, table: Table): string => {
  const removals = [...indexReaders(table.columns, where)].map(
    ([key, columns]) => `${quoteText(key)}, ${buildRemoval(key, columns, where)}`,
  )
  const holdsLists = (where === 'json') === (table.lists !== undefined)
  const others = holdsLists
    ? [...(table.lists ?? []), ...(table.elsewhere ?? [])].map((key) => `${quoteText(key)}, NULL`)
    : []
  return `json_merge_patch(${where}, json_object(${[...removals, ...others].join(', ')}))`
}

/** A value is removed (NULL) if a column can read it, and stays if none can. */
const buildRemoval = (key: string, columns: readonly TableColumn[], where: string): string => {
  if (columns.some(takesAnyValue)) return 'NULL'
  const text = `json_extract_string(${where}, ${toJsonPath(key)})`
  return `CASE WHEN ${columns.map((column) => `${buildCast(column, text)} IS NULL`).join(' AND ')} THEN json_extract(${where}, ${toJsonPath(key)}) END`
}

/**
 * The SELECT over the files, with `filename` and `label`. Candles: cells as text. Others: `record` as JSON,
 * and what rows take from the document if records are in a list of it.
 */
const buildRecordSelect = (
  table: Table,
  { paths, label }: LabelledFiles,
  reading: CsvMode = 'any',
): string => {
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
        : `SELECT unnest(list) AS record, * EXCLUDE (list), ${labelSql} AS label FROM (SELECT flatten([${table.lists.map(buildList).join(', ')}]) AS list, filename${buildDocumentValues(table)} FROM ${buildJsonSource(table, paths)})`
  }
}

/** A record of a list is never larger. */
const MAX_RECORD_BYTES = 16_777_216
const MIN_OBJECT_BYTES = 1_048_576
/**
 * DuckDB takes this much for each scan, however small the file is, and counts it as used: its default of 32
 * MB was the memory of a query with 40 scans.
 */
const CSV_BUFFER_BYTES = 4_194_304

/** The SQL that reads whole documents, or the elements of an array, as `json`. */
const buildJsonSource = ({ shape }: Table, files: readonly string[]): string => {
  // DuckDB allocates twice `maximum_object_size`, so pass the size of the largest document.
  const largest = Math.max(...files.map((file) => disk.statSync(file).size))
  const [format, most] =
    shape === 'array' ? ['array', Math.min(largest, MAX_RECORD_BYTES)] : ['unstructured', largest]
  return `read_json_objects(${quoteList(files)}, format = '${format}', maximum_object_size = ${Math.max(most + 1, MIN_OBJECT_BYTES)}, filename = true)`
}

/** The records under a key of a document; a single record counts as a list of one. */
const buildList = (key: string): string => {
  const path = toJsonPath(key)
  return `CASE WHEN json_type(json, ${path}) = 'OBJECT' THEN [json_extract(json, ${path})] ELSE json_extract(json, ${toJsonPath(`$."${key}"[*]`)}) END`
}

/** All cells as text; missing cells are NULL. */
const buildCsvSource = (files: readonly string[], header: readonly string[]): string => {
  const columns = header.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', null_padding = true, strict_mode = false, parallel = false, buffer_size = ${CSV_BUFFER_BYTES}, filename = true)`
}

/** Volume is read as DOUBLE, which is exact up to 2^53: as BIGINT, a file with 1e300 could not be read. */
const buildCandleSource = (files: readonly string[]): string => {
  const columns = CANDLE_COLUMNS.map(
    (name) => `${quoteText(name)}: '${name === 'Timestamp' ? 'BIGINT' : 'DOUBLE'}'`,
  ).join(', ')
  return `read_csv(${quoteList(files)}, columns = {${columns}}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', buffer_size = ${CSV_BUFFER_BYTES}, filename = true)`
}

/** The SQL of a CSV row as a JSON object. */
const buildRecord = (header: readonly string[]): string =>
  `json_object(${header.map((name) => `${quoteText(name.trim())}, trim(${quoteName(name)})`).join(', ')})`

const HEADER_BYTES = 4_096

/** The names in the first line of a CSV. */
const readHeader = (file: string): readonly string[] => {
  const bytes = Buffer.alloc(HEADER_BYTES)
  const read = withFileSync(file, (fd) => disk.readSync(fd, bytes))
  const [line = ''] = bytes.toString('utf8', 0, read).split(/\r?\n/)
  return nameColumns(line.split(',').map((name) => name.trim().replace(/^\ufeff|"/g, '')))
}
