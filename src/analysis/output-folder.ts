import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DamagedFileError, StorageError, UsageError } from '../model/errors.js'
import type { RunReport } from '../model/report.js'
import { isRow } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import { findClosest } from '../model/text.js'
import { getErrorCode, readStateDocument, toStorageError } from '../storage/file-system.js'
import { statePaths } from '../storage/run-state.js'

const MASTER_MAP = 'master_isin_map.json'

/** @throws StorageError with the remedy if the path is not an output folder */
export const checkFolder = async (root: string): Promise<void> => {
  if (!(await statPath(root))?.isDirectory()) throw new StorageError(`there is no folder ${root}`, { code: 'no-outputs' })
  if (!(await statPath(join(root, MASTER_MAP))))
    throw new StorageError(`${root} has no master list (${MASTER_MAP})`, { code: 'no-outputs' })
}

/** Undefined if the path does not exist. @throws StorageError if it is not accessible */
const statPath = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(getErrorCode(error) ?? '')) return undefined
    throw toStorageError(error, 'read', path)
  })

/** The report of the last run in a folder; undefined if there is none. */
export const readReport = async (root: string): Promise<RunReport | undefined> => {
  const report = await readStateDocument(statePaths(root).report)
  return isRow(report) && isRow(report.scripts) && typeof report.asOf === 'string' ? (report as unknown as RunReport) : undefined
}

/** The stocks of the master list. @throws StorageError if the list is damaged */
export const readStocks = async (root: string): Promise<readonly Stock[]> => {
  const list = await readStateDocument(join(root, MASTER_MAP))
  if (!Array.isArray(list)) throw new DamagedFileError(`${join(root, MASTER_MAP)} is damaged`)
  return list.filter(
    (row): row is Stock & Record<string, unknown> => isRow(row) && typeof row.Symbol === 'string' && typeof row.ISIN === 'string',
  )
}

/** The given symbols in the spelling of the master list. @throws UsageError for an unknown symbol */
export const resolveSymbols = (symbols: readonly string[], stocks: readonly Stock[]): ReadonlySet<string> => {
  const byCapitals = new Map(stocks.map(({ Symbol: symbol }) => [symbol.toUpperCase(), symbol]))
  return new Set(
    symbols.map((symbol) => {
      const listed = byCapitals.get(symbol.toUpperCase())
      if (listed !== undefined) return listed
      const meant = findClosest(symbol, [...byCapitals.values()])
      throw new UsageError(
        `unknown symbol: ${JSON.stringify(symbol)} is not in the master list${meant === undefined ? '' : `. Did you mean ${meant}?`}`,
      )
    }),
  )
}
