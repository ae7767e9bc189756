import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import type { RunOptions } from '../engine/run-options.js'
import { readKnownStocks } from '../engine/select-items.js'
import { MASTER_MAP } from '../market/listings.js'
import { createUnknownSymbolsError, describeWrongSymbol, resolveSymbols } from '../market/symbols.js'
import { DamagedFileError, UsageError } from '../model/errors.js'
import type { RunReport, WrongSymbol } from '../model/report.js'
import { isRow } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import { readStateDocument, statPath } from '../storage/file-system.js'
import { readRunRecords } from '../storage/run-records.js'
import { requireFolder } from '../storage/run-state.js'

export { readFormerList } from './former-list.js'

/** @throws UsageError if the path is not an output folder */
export const checkFolder = async (root: string): Promise<void> => {
  await requireFolder(root)
  if ((await statPath(join(root, MASTER_MAP))) === undefined)
    throw new UsageError(`${root} has no master list (${MASTER_MAP})`, { code: 'no-outputs' })
}

/**
 * The report of the last run in a folder, from the log of runs while it is damaged; undefined without one.
 */
export const readReport = async (root: string): Promise<RunReport | undefined> =>
  (await readRunRecords(root)).report

/** The stocks of the master list. @throws StorageError if the list is damaged */
export const readStocks = async (root: string): Promise<readonly Stock[]> => {
  const list = await readStateDocument(join(root, MASTER_MAP))
  if (!Array.isArray(list)) throw new DamagedFileError(`${join(root, MASTER_MAP)} is damaged`)
  return list.filter(
    (row): row is Stock & Record<string, unknown> =>
      isRow(row) && typeof row.Symbol === 'string' && typeof row.ISIN === 'string',
  )
}

/** The stocks of the master list; undefined while it is damaged. */
export const readStocksIfIntact = (root: string): Promise<readonly Stock[] | undefined> =>
  readStocks(root).catch((error: unknown) => {
    if (error instanceof DamagedFileError) return undefined
    throw error
  })

/** Those of some symbols that stocks had earlier, and the present symbols of these stocks. */
export const findRenames = async (
  root: string,
  stocks: readonly Stock[],
  symbols: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const listed = new Set(stocks.map(({ Symbol: symbol }) => symbol))
  const unlisted = [...new Set(symbols)].filter((symbol) => !listed.has(symbol))
  if (unlisted.length === 0) return new Map()
  const { earlier } = await firstValueFrom(readKnownStocks(folder(root).stored, unlisted))
  return new Map(
    resolveSymbols(unlisted, stocks, earlier).wrong.flatMap(({ given, now }) =>
      now === undefined ? [] : [[given, now]],
    ),
  )
}

/** Stocks as `RunOptions` names them. */
export interface SymbolOptions {
  readonly symbols?: readonly string[] | undefined
  /** Whether symbols that are not listed are an error (default), or a note. */
  readonly wrongSymbols?: RunOptions['wrongSymbols']
}

export interface FolderSymbols {
  readonly wanted: ReadonlySet<string> | undefined
  /** Symbols that are not listed, or that have changed. */
  readonly wrong: readonly WrongSymbol[]
}

/**
 * The stocks that symbols mean in a folder; see `RunOptions.symbols`. `gone` are stocks that are no longer
 * listed.
 * @throws UsageError for an unknown symbol, unless wrong symbols are only reported
 */
export const selectFolderSymbols = async (
  root: string,
  { symbols, wrongSymbols = 'reject' }: SymbolOptions,
  { stocks, gone = [] }: { readonly stocks: readonly Stock[]; readonly gone?: readonly Stock[] },
): Promise<FolderSymbols> => {
  if (symbols === undefined) return { wanted: undefined, wrong: [] }
  const { earlier } = await firstValueFrom(readKnownStocks(folder(root).stored, symbols))
  const now = resolveSymbols(symbols, stocks, earlier)
  const unknown = now.wrong.filter((wrong) => wrong.now === undefined)
  const before = resolveSymbols(
    unknown.map(({ given }) => given),
    gone,
  )
  const isNowhere = ({ given }: WrongSymbol) => before.wrong.some((one) => one.given === given)
  const wrong = now.wrong.filter((one) => one.now !== undefined || isNowhere(one))
  const nowhere = unknown.filter(isNowhere)
  if (nowhere.length > 0 && (wrongSymbols === 'reject' || nowhere.length === symbols.length))
    throw createUnknownSymbolsError(nowhere)
  return { wanted: new Set([...now.symbols, ...before.symbols]), wrong }
}

/** A note for each of the wrong symbols that is not listed. */
export const describeUnlisted = ({ wrong }: FolderSymbols): readonly string[] =>
  wrong.filter(({ now }) => now === undefined).map((one) => `not listed: ${describeWrongSymbol(one)}`)
