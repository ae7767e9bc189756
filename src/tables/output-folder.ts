import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import type { RunOptions } from '../engine/run-options.js'
import { readKnownStocks } from '../engine/select-items.js'
import { FORMER_STOCKS_FILE, parseFormerStocks } from '../market/former-stocks.js'
import { type FormerEntry, MASTER_MAP, readStoredStocks } from '../market/listings.js'
import { createUnknownSymbolsError, describeWrongSymbol, resolveSymbols } from '../market/symbols.js'
import { DamagedFileError, UsageError } from '../model/errors.js'
import type { RunReport, WrongSymbol } from '../model/report.js'
import { isRow } from '../model/row.js'
import { type Stock, toFormerName, toStockItems } from '../model/stock.js'
import { toDay } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { readStateDocument, statFile, statPath } from '../storage/file-system.js'
import { readRunRecords } from '../storage/run-records.js'
import { requireFolder } from '../storage/run-state.js'

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

const CANDLES = 'ohlcv_data'
const FORMER_CANDLES = /^((.+)~([A-Z0-9]{12}))\.csv$/

/**
 * The unlisted stocks with candles under the name of a former one, as far as they are not known: a folder may
 * have lost the document of former stocks. Their names are not known.
 */
const findFormerCandles = async (
  root: string,
  known: readonly FormerEntry[],
): Promise<readonly FormerEntry[]> => {
  const names = new Set(known.map(toFormerName))
  const files = (await disk.readdir(join(root, CANDLES)).catch(() => [])).flatMap((file) => {
    const [, name = '', symbol = '', ISIN = ''] = FORMER_CANDLES.exec(file) ?? []
    return name === '' || names.has(name)
      ? []
      : [{ file, name, stock: { Symbol: symbol, ISIN, Name: '', Sid: '' } }]
  })
  if (files.length === 0) return []
  const { stored } = folder(root)
  const items = toStockItems(await firstValueFrom(readStoredStocks(stored)))
  const isins = new Set(items.map(({ value }) => value.ISIN))
  const taken = new Set(items.map(({ fileName }) => fileName))
  const entries = files
    .filter(({ stock }) => !isins.has(stock.ISIN))
    .map(async ({ file, name, stock }): Promise<readonly FormerEntry[]> => {
      const tail = await firstValueFrom(stored.tail(`${CANDLES}/${file}`)).catch(() => undefined)
      const seconds = Number.parseInt(tail?.lines.at(-1) ?? '', 10)
      const fileName = taken.has(stock.Symbol) ? stock.Symbol : name
      return Number.isNaN(seconds) ? [] : [{ stock, fileName, until: toDay(seconds * 1_000) }]
    })
  return (await Promise.all(entries)).flat()
}

/** The stocks that left the master list of a folder, the earliest first. */
export const readFormerList = async (
  root: string,
  warn?: (text: string) => void,
): Promise<readonly FormerEntry[]> => {
  const path = join(root, FORMER_STOCKS_FILE)
  // A damaged document is undefined, one that cannot be read an error: both are warned of.
  const document = await readStateDocument(path).catch(() => undefined)
  if (document === undefined && statFile(path))
    warn?.(
      `${FORMER_STOCKS_FILE} cannot be read: candles of a former symbol may count as those of another stock`,
    )
  const known = parseFormerStocks(document)
  const found = await findFormerCandles(root, known)
  return found.length === 0
    ? known
    : [...known, ...found].sort((one, other) =>
        one.until < other.until ? -1 : Number(one.until > other.until),
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
  const isNowhere = ({ given }: WrongSymbol): boolean => before.wrong.some((one) => one.given === given)
  const wrong = now.wrong.filter((one) => one.now !== undefined || isNowhere(one))
  const nowhere = unknown.filter(isNowhere)
  if (nowhere.length > 0 && (wrongSymbols === 'reject' || nowhere.length === symbols.length))
    throw createUnknownSymbolsError(nowhere)
  return { wanted: new Set([...now.symbols, ...before.symbols]), wrong }
}

/** A note for each of the wrong symbols that is not listed. */
export const describeUnlisted = ({ wrong }: FolderSymbols): readonly string[] =>
  wrong.filter(({ now }) => now === undefined).map((one) => `not listed: ${describeWrongSymbol(one)}`)
