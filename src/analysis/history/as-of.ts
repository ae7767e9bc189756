import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { DamagedFileError, UsageError } from '../../model/errors.js'
import type { Columned, Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteList, quoteName, quoteText } from '../../storage/duckdb.js'
import { listDays, readRecordedDay, readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import { createHistoryReader } from '../../storage/history/history-reader.js'
import type { TableFolder } from '../../storage/table-folder.js'
import { buildEmptySelect, buildSelect } from '../../storage/table-views.js'
import { openFirstSeen, openTableCopy, type RecordedSource, readRecorded, type TableReader } from './day-copies.js'
import { withHistory } from './open-history.js'

/** The schema with all days of each recorded table. */
export const HISTORY_SCHEMA = 'history'

/** A table with all recorded days of another one. */
export interface HistoryTable extends Columned {
  readonly table: Table
}

const DAY_COLUMNS = [
  { name: 'day', type: 'DATE', comment: 'the day that the row is about' },
  { name: 'known_at', type: 'TIMESTAMP', comment: 'when it was collected, India time' },
] as const

/** The tables of the schema `history`: those whose files are recorded whole. */
export const listHistoryTables = (tables: readonly Table[]): readonly HistoryTable[] =>
  tables.filter(isRecorded).map((table) => ({
    table,
    name: `${HISTORY_SCHEMA}.${table.name}`,
    shape: table.shape,
    columns: [...DAY_COLUMNS, ...table.columns],
  }))

/** Whether the files of a table are lists, and none of them is one of a stock or an index. */
const isRecorded = ({ shape, files }: Table): boolean => shape !== 'candles' && files.every(({ path }) => !/\{(?!exch\})\w+\}/.test(path))

/** What reads a table as it stood on a day. */
export interface DayReader {
  readonly day: Day
  /** The newest recorded day until then; absent if none of the tables needs one. */
  readonly used?: Day
  readonly read: (table: Table) => Promise<TableReader>
}

/** A day, and a temporary folder for its lists, which the caller removes. */
export const createPast = async (day: Day) => {
  const work = await mkdtemp(join(tmpdir(), 'scripstream-as-of-'))
  return { day, work, remove: (): void => rmSync(work, { recursive: true, force: true }) }
}

export interface PastDay {
  readonly folder: TableFolder
  readonly tables: readonly Table[]
  readonly day: Day
  /** A folder for the lists of that day. */
  readonly work: string
  /** Gets the damaged days. */
  readonly warn: Warn
}

/**
 * Reads tables as they stood on a day: lists as the newest record until then has them; filings and news that were known by then; candles
 * until then.
 *
 * @throws UsageError if a list is needed, and the history begins later
 * @throws DamagedFileError if the record that answers is damaged; other days are left out
 */
export const openDay = async (connection: DuckDBConnection, { folder, tables, day, work, warn }: PastDay): Promise<DayReader> => {
  const all = await listDays(folder.root)
  const days = all.filter((one) => one <= day)
  const used = tables.every(({ shape }) => shape === 'candles') ? undefined : findUsedDay(folder.root, all, day)
  const read = async (table: Table): Promise<TableReader> => {
    if (isRecorded(table)) {
      const sources = await findNewest(folder.root, { table, days, warn })
      if (sources.length === 0) return { files: [], select: buildEmptySelect(table) }
      const reader = createHistoryReader(folder.root, work)
      return readRecorded({ root: folder.root, reader, table, sources }, work).finally(reader.close)
    }
    const files = (await folder.listFiles(table)).flatMap(({ paths }) => paths)
    if (table.shape === 'candles')
      return { files, select: `SELECT * FROM (${await buildSelect(table, folder)}) WHERE date <= DATE ${quoteText(day)}` }
    if (table.identity === undefined) throw new UsageError(`the days of ${table.name} are not kept`)
    // Without the record of that day it is unknown what was new on it.
    if (used !== undefined) await readRecordedDay(folder.root, used)
    const seen = await openFirstSeen(connection, { root: folder.root, days: all, warn })
    return { files: [...files, seen], select: await buildSelect(table, folder, { known: { day, seen } }) }
  }
  return { day, read, ...(used === undefined ? {} : { used }) }
}

/** The newest recorded day until a day. @throws UsageError if the history begins later */
export const findUsedDay = (root: string, all: readonly Day[], day: Day): Day => {
  const used = all.findLast((one) => one <= day)
  if (used !== undefined) return used
  throw new UsageError(
    all.length === 0
      ? `no day is recorded in ${root}; each complete run records its day`
      : `the history begins on ${all[0]}; there is no record of ${day}`,
  )
}

interface RecordedDays {
  readonly table: Table
  readonly days: readonly Day[]
  readonly warn: Warn
}

/** The newest record of each file of a table. @throws DamagedFileError if the newest day is damaged */
const findNewest = async (root: string, { table, days, warn }: RecordedDays): Promise<readonly RecordedSource[]> => {
  const sources: RecordedSource[] = []
  const missing = new Set(table.files.map(({ path }) => path))
  for (const day of days.toReversed()) {
    if (missing.size === 0) break
    const record = await (day === days.at(-1) ? readRecordedDay(root, day) : readUndamaged(root, day, warn))
    for (const path of missing) {
      const found = selectSources(record, path)
      sources.push(...found)
      if (found.length > 0) missing.delete(path)
    }
  }
  return sources
}

/** The recorded files of a day that a path of a table means. */
const selectSources = (
  { entries = {} }: { readonly entries?: Readonly<Record<string, RecordedSource['entry']>> } = {},
  path: string,
): readonly RecordedSource[] => {
  const [before = '', after] = path.split('{exch}')
  const isMeant = (file: string): boolean =>
    after === undefined
      ? file === path
      : file.startsWith(before) && file.endsWith(after) && /^[a-z]{2,10}$/.test(file.slice(before.length, file.length - after.length))
  return Object.entries(entries).flatMap(([file, entry]) => (isMeant(file) ? [{ file, entry }] : []))
}

type DayCopy = readonly [path: string, day: Day, knownAt: string]

const openAllCopies = (connection: DuckDBConnection, root: string, { table, days, warn }: RecordedDays): Promise<readonly DayCopy[]> =>
  withHistory(root, async (history) => {
    const copies: DayCopy[] = []
    for (const day of days) {
      const record = await readUndamaged(root, day, warn)
      const sources = table.files.flatMap(({ path }) => selectSources(record, path))
      if (sources.length === 0) continue
      const knownAt = sources.map(({ entry }) => entry.knownAt).sort()
      try {
        copies.push([await openTableCopy(connection, { ...history, table, sources }), day, knownAt.at(-1) ?? ''])
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error
        warn(error.message)
      }
    }
    return copies
  })

/** Which days are read. */
export interface DaySelection {
  /** The last day; all if absent: a query as of a day must not see later ones. */
  readonly until?: Day | undefined
  readonly warn: Warn
}

/** Reads all recorded days of a table, or those until a day. `first` is the first of them. `warn` gets what is damaged and left out. */
export const readAllDays = async (
  connection: DuckDBConnection,
  folder: TableFolder,
  history: HistoryTable,
  { until = '9999', warn }: DaySelection,
): Promise<TableReader & { readonly first?: Day }> => {
  const { table } = history
  const days = (await listDays(folder.root)).filter((one) => one <= until)
  const copies = await openAllCopies(connection, folder.root, { table, days, warn })
  if (copies.length === 0) return { files: [], select: buildEmptySelect(history) }
  // The same list on two days is one file.
  const files = [...new Set(copies.map(([path]) => path))]
  const values = copies.map((copy) => `(${copy.map(quoteText).join(', ')})`).join(', ')
  const columns = table.columns.map(({ name }) => `t.${quoteName(name)}`)
  const select = `SELECT CAST(d.day AS DATE) AS day, CAST(timezone('Asia/Kolkata', CAST(d.known_at AS TIMESTAMPTZ)) AS TIMESTAMP) AS known_at, ${[...columns, 't.extra'].join(', ')}
    FROM read_parquet(${quoteList(files)}, filename = true) t JOIN (VALUES ${values}) d(path, day, known_at) ON d.path = t.filename`
  return { files, select, ...(copies[0] && { first: copies[0][1] }) }
}
