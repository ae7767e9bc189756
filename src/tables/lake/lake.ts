import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { formatError, StorageError } from '../../model/errors.js'
import { type Columned, listColumns, type Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { statFile } from '../../storage/file-system.js'
import { forEachYielding } from '../../storage/output-files.js'
import type { TableFolder } from '../../storage/table-folder.js'
import { buildSelect, type CsvMode } from '../../storage/table-views.js'
import { replaceExport } from '../export/replace-file.js'
import { addNeeded, isView, listViews } from '../views/index.js'
import type { View } from '../views/view.js'
import { pinFile, removeOldPins } from './pin-file.js'

/** Raise it when the same SQL gives other files. */
const FORMAT = 2
/** The name of the key in the metadata of a file. */
const LAKE_KEY = 'scripstream'

export const toLakePath = (root: string, ...names: readonly string[]): string => join(root, 'lake', ...names)

/** A table is one file, so that one rename replaces all of it. */
export const nameLakeFile = (table: string): string => `${table}/${table}.parquet`

type Relation = Columned & Pick<Table, 'key'>

export type LakeTable = ReturnType<typeof buildReader>

interface Inputs {
  readonly bytes: number
  readonly key: string
}

/** Files of the lake that are present are read. */
export interface LakeUse {
  /** The folder with all outputs, of which files are made. */
  readonly folder: TableFolder
  /** The size of outputs from which on a table is written to the lake. */
  readonly minBytes: number
  /** Whether every table and view that is chosen is written. */
  readonly isWhole?: boolean
  /** Whether a file that cannot be written is an error. */
  readonly isRequired?: boolean
}

/** Smaller outputs are read as quickly as a copy of them. */
export const MIN_LAKE_BYTES = 4_000_000

export const ONLY_LARGE: Partial<LakeUse> = { minBytes: MIN_LAKE_BYTES, isWhole: false }

/** Views whose rows take time and little room: the first query stores them. */
const COSTLY: readonly string[] = [
  'screener',
  'breadth',
  'events',
  'symbol_isins',
  'adjustments',
  'quarters',
  'shareholding',
]

/** Where tables come from. */
export interface LakeSource {
  /** The outputs that are read: all, or those of one stock. */
  readonly folder: TableFolder
  readonly tables: readonly Table[]
  /** Absent: nothing is read or written. */
  readonly lake?: LakeUse | undefined
  /** The day as of which tables are read, the present if absent: then views are neither read nor written. */
  readonly past?: Day | undefined
  /** Whether tables are only listed, so that nothing is read or written. */
  readonly isListing?: boolean | undefined
}

/**
 * The tables of a folder as Parquet files. The key in a file depends on the SQL that made it, and on the
 * names, sizes and times of the outputs, so that a file of earlier outputs is never read. `context` is what
 * views depend on besides; without it they are neither read nor written.
 */
export const openLake = (
  connection: DuckDBConnection,
  { folder: shown, tables, lake: use, past, isListing = false }: LakeSource,
  context?: string,
) => {
  const { folder } = use ?? { folder: shown }
  const inputs = createInputs(folder, tables, context)
  const stored = new Map<string, LakeTable>()
  const canRead = (relation: Columned) => {
    if (use === undefined) return false
    if (isView(relation))
      return past === undefined && context !== undefined && listViews(tables).includes(relation)
    // The own files of one stock are smaller than what the lake has of all.
    return folder === shown || !('items' in relation) || relation.items !== 'stocks'
  }
  const isWritten = async (relation: Columned, isCostly: boolean) => {
    if (use === undefined || isListing) return false
    // Of the same bytes, a view takes longer than a table: 1.4 MB of lists that name symbols take 0.1 s of
    // CPU.
    const minBytes = isView(relation) ? use.minBytes / 4 : use.minBytes
    return use.isWhole === true || (isCostly && (await inputs.describe(relation)).bytes >= minBytes)
  }
  const { readFile, writeFile } = createFiles(connection, folder.root, inputs)
  const keep = async (relation: Columned, open: () => Promise<LakeTable | undefined>) => {
    const file = await open().catch((error: unknown) => {
      if (use?.isRequired || /\bINTERRUPT/.test(formatError(error))) throw error
      return undefined
    })
    if (file) stored.set(relation.name, file)
    return file
  }
  return {
    /** What was read or written, by table. */
    stored: stored as ReadonlyMap<string, LakeTable>,
    isListing,
    /** Opens the file of a table or view, if it is made of the present outputs. */
    read: async (relation: Columned) =>
      canRead(relation) ? keep(relation, () => readFile(relation)) : undefined,
    /** Reads candle files as a run writes them, which takes half the time, or as they are. */
    writeTable: async (table: Table) => {
      if (!(await isWritten(table, true))) return undefined
      const copy = async (reading: CsvMode) => writeFile(table, await buildSelect(table, folder, { reading }))
      return keep(table, () =>
        copy('sound').catch((error: unknown) =>
          /CSV Error|Conversion Error/i.test(formatError(error)) ? copy('any') : Promise.reject(error),
        ),
      )
    },
    /** Writes the rows of a view that was created. */
    writeView: async (view: View) => {
      if (stored.has(view.name) || !canRead(view) || !(await isWritten(view, COSTLY.includes(view.name))))
        return undefined
      return keep(view, () => writeFile(view, `FROM ${quoteName(view.name)}`))
    },
  }
}

const createFiles = (connection: DuckDBConnection, root: string, inputs: ReturnType<typeof createInputs>) => {
  const pins = toLakePath(root, '.reading')
  const readFile = async (relation: Columned) => {
    const file = toLakePath(root, nameLakeFile(relation.name))
    if (statFile(file) === undefined) return undefined
    const path = pinFile(connection, file, pins)
    const described = await inputs.describe(relation)
    return (await readKey(connection, path)) === described.key
      ? buildReader(relation, path, described)
      : undefined
  }
  const writeFile = async (relation: Relation, select: string) => {
    const described = await inputs.describe(relation)
    const { key } = described
    const startedAt = performance.now()
    const path = toLakePath(root, nameLakeFile(relation.name))
    const write = async (temporary: string) => {
      await writeSorted(connection, temporary, { relation, select, key })
      if ((await inputs.describeAgain(relation)).key !== key)
        throw new StorageError(
          `a run changed ${relation.name} while it was read; run the command again when the run has ended`,
        )
    }
    await replaceExport(path, write, { workFolder: toLakePath(root) })
    await removeOldPins(pins)
    return buildReader(
      relation,
      pinFile(connection, path, pins),
      described,
      Math.round(performance.now() - startedAt),
    )
  }
  return { readFile, writeFile }
}

/** What files of the lake are made of, described once. */
const createInputs = (folder: TableFolder, tables: readonly Table[], context = '') => {
  const known = new Map<string, Promise<Inputs>>()
  const describeTable = (table: Table) => {
    const described = known.get(table.name) ?? describeFiles(table, folder)
    known.set(table.name, described)
    return described
  }
  const describe = async (relation: Columned): Promise<Inputs> => {
    const { tables: needed, views } = addNeeded([relation], tables)
    const all = await Promise.all(needed.map(describeTable))
    const facts = [
      FORMAT,
      relation.name,
      views.length > 0 ? context : '',
      ...views.map(({ sql }) => sql),
      ...all.map(({ key }) => key),
    ]
    return {
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      key: createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32),
    }
  }
  return {
    describe,
    describeAgain: (relation: Columned): Promise<Inputs> => {
      known.clear()
      return describe(relation)
    },
  }
}

export type Lake = ReturnType<typeof openLake>

/**
 * The size of the files of a table, and a hash that changes with any of them and with the SQL that reads
 * them.
 */
const describeFiles = async (table: Table, folder: TableFolder): Promise<Inputs> => {
  const select = await buildSelect(table, { ...folder, listFiles: folder.listOutputs })
  // The place of the folder does not count.
  const hash = createHash('sha256').update(select.replaceAll(folder.root, ''))
  let bytes = 0
  const paths = (await folder.listOutputs(table)).flatMap((files) => files.paths)
  await forEachYielding(paths, (path) => {
    const { size = 0, mtimeMs, ctimeMs } = statFile(path) ?? {}
    // A run may give a new file the time of an earlier one: only the system sets `ctime`.
    hash.update(`\n${size} ${mtimeMs} ${ctimeMs}`)
    bytes += size
  })
  return { bytes, key: hash.digest('hex') }
}

/** The key in a file; undefined if the file cannot be read, such as one that is cut off. */
const readKey = (connection: DuckDBConnection, path: string): Promise<string | undefined> =>
  connection
    .runAndReadAll(
      `SELECT decode(value) FROM parquet_kv_metadata(${quoteText(path)}) WHERE decode(key) = '${LAKE_KEY}'`,
    )
    .then(
      (reader) => String(reader.getRows()[0]?.[0]),
      () => undefined,
    )

/**
 * Reads a file. `unique`: of candles, each day once, the last one of the file; `ms`: how long it took to
 * write it, 0 if it was read.
 */
const buildReader = (relation: Columned, path: string, inputs: Inputs, ms = 0) => {
  const select = `SELECT ${castJson(relation, 'JSON').join(', ')} FROM read_parquet(${quoteText(path)})`
  return { files: [path], select, unique: `${select} WHERE is_last AND date IS NOT NULL`, inputs, ms }
}

/**
 * The columns, with those of JSON in a type. Files have text: of a JSON column some readers get bytes, some
 * round long integers, and some fail.
 */
const castJson = (relation: Columned, to: 'JSON' | 'VARCHAR'): readonly string[] =>
  listColumns(relation).map(({ name, type }) => {
    const quoted = quoteName(name)
    return type === 'JSON' ? `CAST(${quoted} AS ${to}) AS ${quoted}` : quoted
  })

interface NewLakeFile {
  readonly relation: Relation
  readonly select: string
  readonly key: string
}

/** Rows by symbol and day. Files of candles have this order, and sorting them would take much memory. */
const writeSorted = async (
  connection: DuckDBConnection,
  path: string,
  { relation, select, key }: NewLakeFile,
): Promise<void> => {
  const columns = listColumns(relation)
  const time = columns.find(({ type }) => type === 'DATE' || type === 'TIMESTAMP')
  const order = [...columns.filter(({ name }) => name === 'symbol'), ...(time ? [time] : [])].map(
    ({ name }) => quoteName(name),
  )
  const own = castJson(relation, 'VARCHAR').join(', ')
  const sorted = `FROM (SELECT ${own}, row_number() OVER () AS lake_place FROM (${select})) ORDER BY ${[...order, 'lake_place'].join(', ')}`
  const { key: day = [] } = relation
  const rows =
    day.length === 0
      ? `SELECT * EXCLUDE (lake_place) ${sorted}`
      : (await hasRepeatedDays(connection, day, select))
        ? `SELECT * EXCLUDE (lake_place), row_number() OVER (PARTITION BY ${day.map(quoteName).join(', ')} ORDER BY lake_place DESC) = 1 AS is_last ${sorted}`
        : `SELECT ${own}, true AS is_last FROM (${select})`
  await connection.run(
    `COPY (${rows}) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {${LAKE_KEY}: ${quoteText(key)}})`,
  )
}

/** Whether an item has a day twice, or one that cannot be read. */
const hasRepeatedDays = async (
  connection: DuckDBConnection,
  key: readonly string[],
  select: string,
): Promise<boolean> => {
  const item = key.filter((name) => name !== 'date').map(quoteName)
  // A bit per day costs a tenth of a set of days. Days out of range share a bit, which only means that rows
  // are sorted.
  const days = "bit_count(bitstring_agg(greatest(0, least(99999, date - DATE '1900-01-01')), 0, 99999))"
  const found = `SELECT 1 FROM (${select}) GROUP BY ${item.join(', ')} HAVING count(*) <> coalesce(${days}, 0) LIMIT 1`
  return (await connection.runAndReadAll(found)).currentRowCount > 0
}
