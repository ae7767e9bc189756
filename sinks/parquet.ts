import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import { catalogue } from '../src/tables/catalogue.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Table } from '../src/tables/table.js'
import { type Export, type Exporting, exportTo, type Loaded, timed } from './export.js'
import { codeOf } from './file-error.js'
import { doubledIn, uniqueOf } from './unique.js'

/**
 * A folder of Parquet, one folder in it for each table. Candles lie in a folder for each year, `year=2026`, so that a reader opens only
 * the years that it asks for. All is written beside first, then moved into place table by table; what else lies in the folder stays.
 */
export const parquet = (dir: string): Export =>
  exportTo(dir, async (exporting) => {
    const target = resolve(dir)
    const temporary = join(target, `.scripstream-${randomUUID()}.tmp`)
    await guarded(dir, () => mkdir(temporary, { recursive: true }))
    try {
      await guarded(dir, () => mustBeOurs(target))
      const loaded: Loaded[] = []
      for (const table of catalogue)
        loaded.push({ table: table.name, ...(await timed(exporting, () => load(exporting, table, join(temporary, table.name)))) })
      await guarded(dir, async () => {
        for (const { name } of catalogue) await replaced(join(target, name), join(temporary, name), join(temporary, `${name}.before`))
      })
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

/** Puts a folder in the place of another, or of none. */
const replaced = async (target: string, made: string, before: string): Promise<void> => {
  await rename(target, before).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  await rename(made, target)
}

/** A folder that bears the name of a table and holds other things than Parquet was not made here. */
const mustBeOurs = async (target: string): Promise<void> => {
  for (const { name } of catalogue) {
    const names = await readdir(join(target, name), { recursive: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    const foreign = names.find((file) => !/(^|[\\/])(year=[^\\/]+|[^\\/]+\.parquet)$/.test(file))
    if (foreign !== undefined)
      throw new UsageError(`${join(target, name)} holds ${foreign}, which no export made: choose another folder, or move it away`)
  }
}

const guarded = async (dir: string, act: () => Promise<unknown>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new StorageError(`${dir} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}
