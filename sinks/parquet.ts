import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import { catalogue } from '../src/tables/catalogue.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Table } from '../src/tables/table.js'
import type { Export, Loaded } from './export.js'
import { type Exporting, exportTo, loadedFrom } from './exporting.js'
import { codeOf } from './file-error.js'
import { doubledIn, uniqueOf } from './unique.js'

/** Where what a table held lies while another takes its place. Nothing but the next export of the table removes it. */
const beforeOf = (target: string, { name }: Table): string => join(target, `.before-${name}`)

/**
 * A folder of Parquet, one folder in it for each table. Candles lie in a folder for each year, `year=2026`, so that a reader opens only
 * the years that it asks for. All is written beside first, then moved into place; an error there moves back what was moved. A kill there
 * can leave some tables new, some as before, and one in `.before-TABLE` alone: the next export puts that one back before it begins.
 */
export const parquet = (dir: string): Export =>
  exportTo(dir, async (exporting) => {
    const target = resolve(dir)
    const temporary = join(target, `.scripstream-${randomUUID()}.tmp`)
    await guarded(dir, () => mkdir(temporary, { recursive: true }))
    try {
      await guarded(dir, async () => {
        for (const table of catalogue) await putBack(target, table)
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
  const doubled = await doubledIn(connection, table, named(table.name))
  const unique = uniqueOf(table, doubled)
  const isCandles = table.key !== undefined
  const select = isCandles ? `SELECT *, year(date) AS year FROM (${unique})` : unique
  const [place, options] = isCandles ? [folder, ', PARTITION_BY (year)'] : [join(folder, 'data.parquet'), '']
  const result = await connection.run(`COPY (${select}) TO ${quoted(place)} (FORMAT parquet, COMPRESSION zstd${options})`)
  const rows = Number(result.rowsChanged)
  const all =
    doubled === undefined ? rows : Number((await connection.runAndReadAll(`SELECT count(*) FROM ${named(table.name)}`)).getRows()[0]?.[0])
  return { rows, leftOut: all - rows }
}

/** Moves every table into place or, upon an error, none: what was moved goes back. */
const moveAll = async (tables: readonly Table[], made: string, target: string): Promise<void> => {
  const moved: Table[] = []
  try {
    for (const table of tables) {
      await rm(beforeOf(target, table), { recursive: true, force: true })
      await moveIfThere(join(target, table.name), beforeOf(target, table))
      moved.push(table)
      await rename(join(made, table.name), join(target, table.name))
    }
  } catch (error) {
    for (const table of moved) {
      await moveIfThere(join(target, table.name), join(made, table.name))
      await moveIfThere(beforeOf(target, table), join(target, table.name))
    }
    throw error
  }
  for (const table of tables) await rm(beforeOf(target, table), { recursive: true, force: true })
}

/** What a kill left between two moves. */
const putBack = async (target: string, table: Table): Promise<void> => {
  const isThere = await readdir(join(target, table.name)).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false
      throw error
    },
  )
  if (!isThere) await moveIfThere(beforeOf(target, table), join(target, table.name))
}

const moveIfThere = (from: string, to: string): Promise<void> =>
  rename(from, to).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })

/** A folder that bears the name of a table and holds other things than Parquet was not made here. */
const mustBeOurs = async (target: string, { name }: Table): Promise<void> => {
  const names = await readdir(join(target, name), { recursive: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  const foreign = names.find((file) => !/(^|[\\/])(year=[^\\/]+|[^\\/]+\.parquet)$/.test(file))
  if (foreign !== undefined)
    throw new UsageError(`${join(target, name)} holds ${foreign}, which no export made: choose another folder, or move it away`)
}

const guarded = async (dir: string, act: () => Promise<unknown>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new StorageError(`${dir} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}
