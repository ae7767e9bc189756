import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { PREVIOUS_FOLDER } from '../engine/storage.js'
import { MASTER_MAP } from '../market/listings.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import { toStockItems } from '../model/stock.js'
import { type Day, lastWeekday, toDay } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { listNames, readStateDocument, statFile } from '../storage/file-system.js'
import type { Warn } from '../storage/history/record.js'
import { readReport } from './output-folder.js'
import { readRecordedSymbols, type SymbolIsin, toFormerSql } from './recorded-symbols.js'
import { FORMER_VIEW } from './views/symbols.js'
import type { View } from './views/view.js'

const NEWS = 'market_news'
const MAX_LEFT = 500
const OWNER = /^\{"Symbol":"([^"\\]*)","ISIN":"([^"\\]*)"/

/** The symbols of a master list of the folder; none without it. */
const readListed = async (root: string, file: string, warn?: Warn): Promise<readonly SymbolIsin[]> => {
  // A damaged list is undefined, one that cannot be read an error: both are warned of.
  const rows: unknown = await readStateDocument(join(root, file)).catch(() => undefined)
  if (Array.isArray(rows)) return rows.filter(isRow).map((row) => ({ symbol: readText(row.Symbol), isin: readText(row.ISIN) }))
  if (statFile(join(root, file))) warn?.(`${file} cannot be read: candles of a former symbol may count as those of another stock`)
  return []
}

/** Symbols that are not listed, of the master list before the last one and of news that renamed stocks have left. */
export const readFormerSymbols = async (root: string, items: readonly Item[], warn?: Warn): Promise<readonly SymbolIsin[]> => {
  const present = new Set(items.map(({ fileName }) => `${fileName}_news.json`))
  const left = (await listNames(join(root, NEWS))).filter((name) => name.endsWith('_news.json') && !present.has(name))
  const texts = await Promise.all(left.slice(0, MAX_LEFT).map((name) => disk.readFile(join(root, NEWS, name), 'utf8').catch(() => '')))
  const owners = texts.map((text): SymbolIsin => {
    const [, symbol = '', isin = ''] = OWNER.exec(text) ?? []
    return { symbol, isin }
  })
  const listed = new Set(items.map(({ key }) => key))
  const all = [...(await readListed(root, `${PREVIOUS_FOLDER}/${MASTER_MAP}`, warn)), ...owners]
  return all.filter(({ symbol, isin }) => symbol !== '' && isin !== '' && !listed.has(symbol))
}

/** The day of the last run. */
export const readRunDay = async (root: string): Promise<Day | undefined> => {
  const report = await readReport(root)
  return report && toDay(Date.parse(report.asOf))
}

interface FormerOf {
  readonly root: string
  readonly views: readonly View[]
  /** Whether the views may show an earlier day. */
  readonly mayBePast: boolean
  readonly warn?: Warn
}

/** The symbols that views need besides those of the master list, with their ISINs, as far as the files of the folder name them. */
export const readFormer = async ({ root, views, mayBePast, warn }: FormerOf): Promise<readonly SymbolIsin[]> => {
  if (!views.some(({ name }) => name === FORMER_VIEW)) return []
  const listed = await readListed(root, MASTER_MAP, warn)
  const items = toStockItems(listed.map(({ symbol, isin }) => ({ Symbol: symbol, ISIN: isin, Name: '', Sid: '', FnoFlag: 0 })))
  // Candles of a former symbol must not count as those of another stock, also if no list of today has that symbol. As of a day before a
  // rename, that is true of the present symbol.
  return [...(await readFormerSymbols(root, items, warn)), ...(mayBePast ? listed : [])]
}

interface Variables {
  /** The day that snapshots are about: that of the run, on a weekend the Friday before; undefined before the first run. */
  readonly day: Day | undefined
  readonly former: readonly SymbolIsin[]
  readonly recorded: Parameters<typeof readRecordedSymbols>[2]
}

/** Sets what views read besides tables. */
export const setVariables = async (connection: DuckDBConnection, views: readonly View[], variables: Variables): Promise<void> => {
  if (views.length === 0) return
  const { day, former, recorded } = variables
  const symbols = [...former, ...(await readRecordedSymbols(connection, views, recorded))]
  if (day !== undefined) await connection.run(`SET VARIABLE run_day = DATE '${lastWeekday(day)}'`)
  if (symbols.length > 0) await connection.run(`SET VARIABLE former = ${toFormerSql(symbols)}`)
}
