import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { UsageError } from '../../model/errors.js'
import { disk } from '../../storage/disk.js'
import { quoteText } from '../../storage/duckdb.js'
import { createFolder, describeFileError, ignoreMissing } from '../../storage/file-system.js'
import { defineExport, type ExportContext, type ExportedTable, loadEach } from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import { createWriteError } from './replace-file.js'

/** The path of a table's old content while it is replaced. Only the next export of the table removes it. */
const backupPath = (target: string, { name }: ExportedTable): string => join(target, `.before-${name}`)

/**
 * Exports to Parquet, one folder for each table. Candles are partitioned by year (`year=2026`), so that a
 * reader opens only the years it needs. All files are written to a temporary folder and then renamed; an
 * error undoes the renames. A kill between renames can leave some tables new, some old, and one only in
 * `.before-TABLE`: the next export restores that one first.
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if the target cannot be
 * written
 * @example parquet('./parquet', { streams }).write('./data').subscribe()
 */
export const parquet = (dir: string, options: ExportOptions): Export =>
  defineExport({ ...options, name: dir }, async (exporting) => {
    const tables = exporting.tables.filter(({ isSkipped }) => !isSkipped)
    const target = resolve(dir)
    const temporary = join(target, `.scripstream-${randomUUID()}.tmp`)
    await withStorageErrors(dir, () => createFolder(temporary))
    try {
      await withStorageErrors(dir, async () => {
        for (const table of exporting.tables) await restoreBackup(target, table)
        for (const table of tables) await assertOwnFolder(target, table)
      })
      const loaded = await loadEach(exporting, (table) =>
        writeParquetTable(exporting, table, join(temporary, table.name)),
      )
      await withStorageErrors(dir, () => moveTables(tables, temporary, target))
      return loaded
    } finally {
      await disk.rm(temporary, { recursive: true, force: true })
    }
  })

const writeParquetTable = async (
  { connection }: ExportContext,
  { key, select }: ExportedTable,
  folder: string,
): Promise<number> => {
  await disk.mkdir(folder)
  const isCandles = key !== undefined
  const rows = isCandles ? `SELECT *, year(date) AS year FROM (${select})` : select
  const [path, options] = isCandles ? [folder, ', PARTITION_BY (year)'] : [join(folder, 'data.parquet'), '']
  const copy = `COPY (${rows}) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd${options})`
  return Number((await connection.run(copy)).rowsChanged)
}

/** Renames all tables into the target. An error undoes the renames. */
const moveTables = async (
  tables: readonly ExportedTable[],
  source: string,
  target: string,
): Promise<void> => {
  const moved: ExportedTable[] = []
  try {
    for (const table of tables) {
      await disk.rm(backupPath(target, table), { recursive: true, force: true })
      await moveIfPresent(join(target, table.name), backupPath(target, table))
      moved.push(table)
      await disk.rename(join(source, table.name), join(target, table.name))
    }
  } catch (error) {
    for (const table of moved) {
      await moveIfPresent(join(target, table.name), join(source, table.name))
      await moveIfPresent(backupPath(target, table), join(target, table.name))
    }
    throw error
  }
  for (const table of tables) await disk.rm(backupPath(target, table), { recursive: true, force: true })
}

/** Restores a table after a kill between two renames. */
const restoreBackup = async (target: string, table: ExportedTable): Promise<void> => {
  const names = await disk.readdir(join(target, table.name)).catch(ignoreMissing)
  if (names === undefined) await moveIfPresent(backupPath(target, table), join(target, table.name))
}

const moveIfPresent = (from: string, to: string): Promise<void> => disk.rename(from, to).catch(ignoreMissing)

/** Throws if a folder named like a table has files that no export creates. */
const assertOwnFolder = async (target: string, { name }: ExportedTable): Promise<void> => {
  const names = await disk.readdir(join(target, name), { recursive: true }).catch(ignoreMissing)
  const foreign = names?.find((file) => !/(^|[\\/])(year=[^\\/]+|[^\\/]+\.parquet)$/.test(file))
  if (foreign !== undefined)
    throw new UsageError(
      `${join(target, name)} has a file that no export creates: ${foreign}; choose another folder or move it away`,
    )
}

const withStorageErrors = async (dir: string, act: () => Promise<unknown>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw createWriteError(dir, describeFileError(error), error)
  }
}
