import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { PREVIOUS_FOLDER } from '../engine/storage.js'
import { MASTER_MAP } from '../market/listings.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import { readFormerName, toStockItems } from '../model/stock.js'
import type { Table } from '../model/table.js'
import { type Day, toDay } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { quoteList, quoteText } from '../storage/duckdb.js'
import { listNames, readStateDocument, statFile } from '../storage/file-system.js'
import { type History, listHistoryTables, readAllDays, type Warn } from './history/as-of.js'
import { FORMER_TYPE, FORMER_VIEW } from './views/symbols.js'
import type { View } from './views/view.js'

/** A symbol and the ISIN that it means; `until`: see `FORMER_TYPE`. */
export interface SymbolIsin {
  readonly symbol: string
  readonly isin: string
  readonly until?: Day | undefined
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
    .map(([symbol, isin]) => ({ symbol: String(symbol), isin: String(isin) }))
}

export const toFormerSql = (symbols: readonly SymbolIsin[]): string =>
  `CAST([${symbols.map(({ symbol, isin, until }) => `{'symbol': ${quoteText(symbol)}, 'isin': ${quoteText(isin)}, 'until': ${until === undefined ? 'NULL' : quoteText(until)}}`).join(', ')}] AS ${FORMER_TYPE})`

const CANDLE_FOLDER = 'ohlcv_data'

/** The stocks whose files lost their name to another company, with the day of their last candle. */
const readFormerOwners = async (root: string, items: readonly Item[]): Promise<readonly SymbolIsin[]> => {
  const present = new Set(items.map(({ fileName }) => fileName))
  const names = (await listNames(join(root, CANDLE_FOLDER))).map((name) => name.replace(/\.csv$/, ''))
  const former = names.filter((name) => name.includes('~') && !present.has(name)).slice(0, MAX_LEFT)
  return Promise.all(
    former.flatMap((symbol) => {
      const { isin } = readFormerName(symbol) ?? {}
      if (isin === undefined) return []
      return disk.readFile(join(root, CANDLE_FOLDER, `${symbol}.csv`), 'utf8').then(
        (text) => {
          const time = Number.parseInt(text.slice(text.trimEnd().lastIndexOf('\n') + 1), 10)
          return { symbol, isin, ...(time > 0 ? { until: toDay(time * 1_000) } : {}) }
        },
        () => ({ symbol, isin }),
      )
    }),
  )
}

const NEWS = 'market_news'
const MAX_LEFT = 500
const OWNER = /^\{"Symbol":"([^"\\]*)","ISIN":"([^"\\]*)"/

/** The symbols of a master list of the folder; none without it. */
const readListed = async (root: string, file: string, warn?: Warn): Promise<readonly SymbolIsin[]> => {
  // A damaged list is undefined, one that cannot be read an error: both are warned of.
  const rows: unknown = await readStateDocument(join(root, file)).catch(() => undefined)
  if (Array.isArray(rows))
    return rows.filter(isRow).map((row) => ({ symbol: readText(row.Symbol), isin: readText(row.ISIN) }))
  if (statFile(join(root, file)))
    warn?.(`${file} cannot be read: candles of a former symbol may count as those of another stock`)
  return []
}

/**
 * Symbols that are not listed, of the master list before the last one and of news that renamed stocks have
 * left.
 */
export const readFormerSymbols = async (
  root: string,
  items: readonly Item[],
  warn?: Warn,
): Promise<readonly SymbolIsin[]> => {
  const present = new Set(items.map(({ fileName }) => `${fileName}_news.json`))
  const left = (await listNames(join(root, NEWS))).filter(
    (name) => name.endsWith('_news.json') && !present.has(name),
  )
  const texts = await Promise.all(
    left.slice(0, MAX_LEFT).map((name) => disk.readFile(join(root, NEWS, name), 'utf8').catch(() => '')),
  )
  const owners = texts.map((text): SymbolIsin => {
    const [, symbol = '', isin = ''] = OWNER.exec(text) ?? []
    return { symbol, isin }
  })
  const listed = new Set(items.map(({ key }) => key))
  const all = [...(await readListed(root, `${PREVIOUS_FOLDER}/${MASTER_MAP}`, warn)), ...owners]
  return all.filter(({ symbol, isin }) => symbol !== '' && isin !== '' && !listed.has(symbol))
}

interface FormerOf {
  readonly root: string
  readonly views: readonly View[]
  /** Whether the views may show an earlier day. */
  readonly mayBePast: boolean
  readonly warn?: Warn
}

/**
 * The symbols that views need besides those of the master list, with their ISINs, as far as the files of the
 * folder name them.
 */
export const readFormer = async ({
  root,
  views,
  mayBePast,
  warn,
}: FormerOf): Promise<readonly SymbolIsin[]> => {
  if (!views.some(({ name }) => name === FORMER_VIEW)) return []
  const listed = await readListed(root, MASTER_MAP, warn)
  const items = toStockItems(
    listed.map(({ symbol, isin }) => ({ Symbol: symbol, ISIN: isin, Name: '', Sid: '', FnoFlag: 0 })),
  )
  // Candles of a former symbol must not count as those of another stock, also if no list of today has that
  // symbol. As of a day before a rename, that is true of the present symbol.
  return [
    ...(await readFormerOwners(root, items)),
    ...(await readFormerSymbols(root, items, warn)),
    ...(mayBePast ? listed : []),
  ]
}
