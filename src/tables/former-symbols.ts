import type { DuckDBConnection } from '@duckdb/node-api'
import { firstValueFrom } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { createOwnerFinder } from '../market/former-stocks.js'
import { type FormerEntry, readStoredStocks } from '../market/listings.js'
import { type Stock, toFormerName, toStockItems } from '../model/stock.js'
import type { Table } from '../model/table.js'
import type { Day } from '../model/trading-day.js'
import { quoteList, quoteText } from '../storage/duckdb.js'
import { type History, listHistoryTables, readAllDays, type Warn } from './history/as-of.js'
import { readFormerList } from './output-folder.js'
import { FORMER_TYPE, FORMER_VIEW } from './views/symbols.js'
import type { View } from './views/view.js'

/** A symbol and the ISIN that it means; for the others see `FORMER_TYPE`. */
export interface SymbolIsin {
  readonly symbol: string
  readonly isin: string
  readonly was?: string
  readonly until?: Day | undefined
  readonly name?: string | undefined
  readonly otherNames?: readonly string[]
  readonly isRecorded?: boolean
}

/** The symbols that a recorded master list has had, also those after the day as of which tables are read. */
export const readRecordedSymbols = async (
  connection: DuckDBConnection,
  views: readonly View[],
  {
    history,
    tables,
    warn,
  }: { readonly history: History; readonly tables: readonly Table[]; readonly warn: Warn },
): Promise<readonly SymbolIsin[]> => {
  const [master] = listHistoryTables(tables.filter(({ name }) => name === 'master'))
  if (master === undefined || !views.some(({ name }) => name === FORMER_VIEW)) return []
  const { files } = await readAllDays(history, master, { warn })
  if (files.length === 0) return []
  const rows = `SELECT symbol, max_by(isin, known_at) FROM read_parquet(${quoteList(files)}, union_by_name = true) WHERE isin <> '' GROUP BY symbol`
  return (await connection.runAndReadAll(rows))
    .getRows()
    .map(([symbol, isin]) => ({ symbol: String(symbol), isin: String(isin), isRecorded: true }))
}

const quoteOrNull = (text: string | undefined): string => (text === undefined ? 'NULL' : quoteText(text))

export const toFormerSql = (symbols: readonly SymbolIsin[]): string =>
  `CAST([${symbols.map(({ symbol, isin, was, until, name, otherNames = [], isRecorded = false }) => `{'symbol': ${quoteText(symbol)}, 'isin': ${quoteText(isin)}, 'was': ${quoteOrNull(was)}, 'until': ${quoteOrNull(until)}, 'name': ${quoteOrNull(name)}, 'other_names': ${quoteList(otherNames)}, 'is_recorded': ${isRecorded}}`).join(', ')}] AS ${FORMER_TYPE})`

/**
 * The stocks that left the master list, under the name of their files and with the ISIN that they have now;
 * with the last day of each time that they had their symbol, if another company has had it, too.
 */
const listFormerOwners = (
  former: readonly FormerEntry[],
  listed: readonly Stock[],
): readonly SymbolIsin[] => {
  const { present, lastIsin } = createOwnerFinder(listed, former)
  const owners = new Map(former.map(({ fileName, stock }) => [fileName, lastIsin(stock)]))
  for (const { fileName, value } of toStockItems(listed)) owners.set(fileName, value.ISIN)
  const stocks = [...listed, ...former.map(({ stock }) => stock)]
  const all = former.flatMap(({ stock, fileName, until }): readonly SymbolIsin[] => {
    const { Symbol: symbol, Name } = stock
    const isin = lastIsin(stock)
    const others = stocks
      .filter((one) => one.Symbol === symbol && lastIsin(one) !== isin)
      .map((one) => one.Name)
    const isBack = present(stock)?.Symbol === symbol
    if (others.length === 0 && isBack) return []
    const isOwn = isBack || owners.get(fileName) === isin
    if (others.length === 0 && isOwn) return [{ symbol: fileName, isin }]
    const name = Name === '' || others.includes(Name) ? undefined : Name
    const otherNames = others.filter((one) => one !== '' && one !== Name)
    const last = former.findLast((one) => one.fileName === fileName && lastIsin(one.stock) === isin)
    const file = isOwn ? fileName : toFormerName(last ?? { stock, fileName })
    return [{ symbol: file, isin, until, name, otherNames }]
  })
  return [
    ...new Map(all.map((one) => [`${one.symbol} ${one.until}`, one])).values(),
    ...former.flatMap(({ stock }) => {
      const isin = lastIsin(stock)
      return isin === stock.ISIN ? [] : [{ symbol: '', isin, was: stock.ISIN }]
    }),
  ]
}

interface FormerOf {
  readonly root: string
  readonly views: readonly View[]
  /** Whether the views may show an earlier day. */
  readonly mayBePast: boolean
  readonly warn?: Warn
}

/** The symbols that views need besides those of the master list, with their ISINs. */
export const readFormer = async ({
  root,
  views,
  mayBePast,
  warn,
}: FormerOf): Promise<readonly SymbolIsin[]> => {
  if (!mayBePast && !views.some(({ name }) => name === FORMER_VIEW)) return []
  const listed = await firstValueFrom(readStoredStocks(folder(root).stored))
  const former = await readFormerList(root, warn)
  // Candles of a former symbol must not count as those of another stock, also if no list of today has that
  // symbol. As of a day before a rename, that is true of the present symbol; as of one before a stock got the
  // symbol of another, its candles are under the name that those of the other have now.
  const owners = listFormerOwners(former, listed)
  if (!mayBePast) return owners
  const taken = new Set(former.map(({ fileName }) => fileName))
  return [
    ...listed.map(({ Symbol: symbol, ISIN: isin }) => ({ symbol, isin })),
    ...owners.toReversed(),
    ...toStockItems(listed).flatMap(({ fileName, value }) =>
      taken.has(fileName) ? [{ symbol: toFormerName({ stock: value, fileName }), isin: value.ISIN }] : [],
    ),
  ]
}
