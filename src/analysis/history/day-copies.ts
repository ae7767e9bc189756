import { createHash, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StorageError } from '../../model/errors.js'
import { listColumns, type Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { describeFileError, getErrorCode, statPath } from '../../storage/file-system.js'
import { type Entry, FIRST_SEEN, unpack } from '../../storage/history/day-file.js'
import type { FirstSeen } from '../../storage/history/first-seen.js'
import { readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import { openFolder } from '../../storage/table-folder.js'
import { buildSelect } from '../../storage/table-views.js'
import { type OpenHistory, toCopyFolder } from './open-history.js'

/** A file to open, and the SQL that reads from it. */
export interface TableReader {
  readonly files: readonly string[]
  readonly select: string
}

/** A recorded file of a table. */
export interface RecordedSource {
  readonly file: string
  readonly entry: Entry
}

interface CopySource extends OpenHistory {
  readonly table: Table
  readonly sources: readonly RecordedSource[]
}

/** The name of a copy of a table. It depends on the content of the files and on the columns, so that an old copy is never used. */
const nameCopy = ({ table, sources }: Pick<CopySource, 'table' | 'sources'>): string => {
  const columns = table.columns.map(({ name, type, from, convert }) => [name, type, from, convert?.('text')])
  const facts = [columns, table.files, table.lists, sources.map(({ file, entry }) => [file, entry.base, hash(entry.bytes)])]
  return `${table.name}-${hash(JSON.stringify(facts))}`
}

/** Writes recorded files as they were to a new folder. */
const writeFiles = async (folder: string, { reader, sources }: Pick<CopySource, 'reader' | 'sources'>): Promise<void> => {
  await mkdir(folder, { recursive: true })
  for (const { file, entry } of sources) await writeFile(join(folder, file), reader.read(entry))
}

/**
 * Reads a table from recorded files: from its copy if there is one, else from files that are written to `work`. A copy takes several times as
 * long to write as a query of few columns.
 */
export const readRecorded = async (source: CopySource, work: string): Promise<TableReader> => {
  const copy = join(toCopyFolder(source.root), `${nameCopy(source)}.parquet`)
  if (await statPath(copy)) return { files: [copy], select: `FROM read_parquet(${quoteText(copy)})` }
  const target = join(work, source.table.name)
  await writeFiles(target, source)
  const folder = await openFolder(target)
  const files = (await folder.listFiles(source.table)).flatMap(({ paths }) => paths)
  return { files, select: await buildSelect(source.table, folder) }
}

/** The path of a Parquet copy of a table from recorded files; written first if missing. */
export const openTableCopy = async (connection: DuckDBConnection, source: CopySource): Promise<string> => {
  const { root, table } = source
  return openCopy(root, nameCopy(source), async (path, work) => {
    await writeFiles(work, source)
    const select = await buildSelect(table, await openFolder(work))
    const typed = listColumns(table).map(({ name, type }) => `CAST(${quoteName(name)} AS ${type}) AS ${quoteName(name)}`)
    await connection.run(`COPY (SELECT ${typed.join(', ')} FROM (${select})) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`)
  })
}

interface SeenDays {
  readonly root: string
  readonly days: readonly Day[]
  /** Gets the damaged days. */
  readonly warn: Warn
}

/** The path of a Parquet copy of the days on which records of single stocks appeared: file, key and day. */
export const openFirstSeen = async (connection: DuckDBConnection, { root, days, warn }: SeenDays): Promise<string> => {
  const entries: (readonly [day: Day, entry: Entry])[] = []
  for (const day of days) {
    const entry = (await readUndamaged(root, day, warn))?.entries[FIRST_SEEN]
    if (entry) entries.push([day, entry])
  }
  const name = `first-seen-${hash(entries.map(([day, { bytes }]) => `${day} ${hash(bytes)}`).join('\n'))}`
  return openCopy(root, name, async (path, work) => {
    const lines: string[] = []
    for (const [day, entry] of entries)
      for (const [file, keys] of Object.entries((await unpack(entry)) as FirstSeen))
        for (const key of keys === 'all' ? ['all'] : keys) lines.push(JSON.stringify({ file, key, day }))
    const list = join(work, 'first-seen.ndjson')
    await writeFile(list, lines.join('\n'))
    const source = `read_json(${quoteText(list)}, format = 'newline_delimited', columns = {file: 'VARCHAR', key: 'VARCHAR', day: 'DATE'})`
    await connection.run(`COPY (FROM ${source}) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`)
  })
}

const hash = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex').slice(0, 24)

/** Writes a copy beside its place and renames it. `work` is a folder for the files that it is made of. */
const openCopy = async (root: string, name: string, write: (path: string, work: string) => Promise<void>): Promise<string> => {
  const folder = toCopyFolder(root)
  const path = join(folder, `${name}.parquet`)
  if (await statPath(path)) return path
  try {
    await mkdir(folder, { recursive: true })
    const work = await mkdtemp(join(folder, 'work-'))
    try {
      const temporary = join(work, `${randomUUID()}.tmp`)
      await write(temporary, work)
      await rename(temporary, path)
      return path
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  } catch (error) {
    if (getErrorCode(error) === undefined || error instanceof StorageError) throw error
    throw new StorageError(`the copy of a day in ${folder} cannot be written: ${describeFileError(error)}`, { cause: error })
  }
}
