import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import type { Table } from '../src/model/table.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Export, ExportOptions, Loaded } from './export.js'
import { type Exporting, exportTo, loadedFrom } from './exporting.js'
import { codeOf } from './file-error.js'
import { doubledIn, uniqueOf } from './unique.js'

/** The path of a table's old content while it is replaced. Only the next export of the table removes it. */
const beforeOf = (target: string, { name }: Table): string => join(target, `.before-${name}`)

/**
 * Exports to Parquet, one folder for each table. Candles are partitioned by year (`year=2026`), so that a reader opens only the years it
 * needs. All files are written to a temporary folder and then renamed; an error undoes the renames. A kill between renames can leave some
 * tables new, some old, and one only in `.before-TABLE`: the next export restores that one first.
 */
export const parquet = (dir: string, { streams }: ExportOptions): Export =>
  exportTo({ name: dir, streams }, async (exporting) => {
    const target = resolve(dir)
    const temporary = join(target, `.scripstream-${randomUUID()}.tmp`)
    await guarded(dir, () => mkdir(temporary, { recursive: true }))
    try {
      await guarded(dir, async () => {
        for (const table of exporting.all) await putBack(target, table)
        for (const table of exporting.tables) await mustBeOurs(target, table)
      })
      const loaded = await loadedFrom(exporting, (table) => load(exporting, table, join(temporary, table.name)))
      await guarded(dir, () => moveAll(exporting.tables, temporary, target))
      return loaded
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  })

const load = async ({ connection }: Exporting, table: Table, folder: string): Promise<Pick<Loaded, 'rows' | 'leftOut'>> => {
  await mkdir(folder)
  const duplicates = await doubledIn(connection, table, named(table.name))
  const unique = uniqueOf(table, duplicates)
  const isCandles = table.key !== undefined
  const select = isCandles ? `SELECT *, year(date) AS year FROM (${unique})` : unique
  const [path, options] = isCandles ? [folder, ', PARTITION_BY (year)'] : [join(folder, 'data.parquet'), '']
  const result = await connection.run(`COPY (${select}) TO ${quoted(path)} (FORMAT parquet, COMPRESSION zstd${options})`)
  const rows = Number(result.rowsChanged)
  const all =
    duplicates === undefined
      ? rows
      : Number((await connection.runAndReadAll(`SELECT count(*) FROM ${named(table.name)}`)).getRows()[0]?.[0])
  return { rows, leftOut: all - rows }
}

/** Renames all tables into the target. An error undoes the renames. */
const moveAll = async (tables: readonly Table[], source: string, target: string): Promise<void> => {
  const moved: Table[] = []
  try {
    for (const table of tables) {
      await rm(beforeOf(target, table), { recursive: true, force: true })
      await moveIfThere(join(target, table.name), beforeOf(target, table))
      moved.push(table)
      await rename(join(source, table.name), join(target, table.name))
    }
  } catch (error) {
    for (const table of moved) {
      await moveIfThere(join(target, table.name), join(source, table.name))
      await moveIfThere(beforeOf(target, table), join(target, table.name))
    }
    throw error
  }
  for (const table of tables) await rm(beforeOf(target, table), { recursive: true, force: true })
}

/** Restores a table after a kill between two renames. */
const putBack = async (target: string, table: Table): Promise<void> => {
  const exists = await readdir(join(target, table.name)).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false
      throw error
    },
  )
  if (!exists) await moveIfThere(beforeOf(target, table), join(target, table.name))
}

const moveIfThere = (from: string, to: string): Promise<void> =>
  rename(from, to).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })

/** Throws if a folder named like a table has files that no export creates. */
const mustBeOurs = async (target: string, { name }: Table): Promise<void> => {
  const names = await readdir(join(target, name), { recursive: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  const foreign = names.find((file) => !/(^|[\\/])(year=[^\\/]+|[^\\/]+\.parquet)$/.test(file))
  if (foreign !== undefined)
    throw new UsageError(`${join(target, name)} has a file that no export creates: ${foreign}; choose another folder or move it away`)
}

const guarded = async (dir: string, act: () => Promise<unknown>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new StorageError(`${dir} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}
