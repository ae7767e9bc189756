import { join } from 'node:path'
import { parseLines } from '../analysis/verify/record-checks.js'
import { MASTER_MAP } from '../market/listings.js'
import type { Item } from '../model/outcome.js'
import { isRow, type Row, readText } from '../model/row.js'
import { type Stock, toStockItems } from '../model/stock.js'
import { PREVIOUS_FOLDER } from '../pipeline/storage.js'
import { disk } from '../storage/disk.js'
import { listNames } from '../storage/file-system.js'
import { parseOwners, readRecords } from '../storage/record-file.js'
import { catchUnreadable, type MarketFolder, readList, type StoredList } from './folder.js'

/** The stocks of a folder and the symbols by which its files name them. */
export interface StockNames {
  readonly items: readonly Item<Stock>[]
  readonly bySymbol: ReadonlyMap<string, Item<Stock>>
  readonly byIsin: ReadonlyMap<string, Item<Stock>>
  /** The symbol that a stock has now, whichever of its symbols a list has; the same symbol if no list with ISINs names it. */
  readonly toPresent: (symbol: string) => string
  /** Symbols that listed stocks had earlier. */
  readonly former: readonly { readonly symbol: string; readonly item: Item<Stock> }[]
  /** Why the master list cannot be read. */
  readonly problem?: string
}

type Named = readonly [symbol: string, isin: string]

/** Reads the master list and the lists that name both symbol and ISIN. */
export const readStockNames = async (folder: MarketFolder): Promise<StockNames> => {
  const exchange = folder.exchange.toLowerCase()
  const files = [
    MASTER_MAP,
    ...[`${exchange}_equity_list.csv`, `${exchange}_asm_list.json`, `${exchange}_gsm_list.json`, 'fundamental_data.json'],
    ...['bulk_block_deals.json', 'all_company_announcements.json'],
  ]
  return folder.remember('stock names', [...files, PREVIOUS_FOLDER, 'market_news'], async () => {
    const { rows: stocks, isMissing, damage } = await readStoredStocks(folder)
    const items = toStockItems(stocks)
    const byIsin = new Map(items.toReversed().map((item) => [item.value.ISIN, item]))
    // The same order as in the SQL views: of two stocks that have had a symbol, the first list decides.
    const named: Named[] = stocks.map(({ Symbol: symbol, ISIN }) => [symbol, ISIN])
    for (const file of files.slice(1)) named.push(...(await readNamed(folder, file)))
    const isins = new Map(named.toReversed())
    const now = new Map<string, string>()
    for (const { Symbol: symbol, ISIN } of stocks) if (symbol < (now.get(ISIN) ?? '\uffff')) now.set(ISIN, symbol)
    const problem = damage ?? (isMissing ? 'there is no master list' : undefined)
    return {
      items,
      bySymbol: new Map(items.toReversed().map((item) => [item.key, item])),
      byIsin,
      toPresent: (symbol) => now.get(isins.get(symbol) ?? '') ?? symbol,
      former: findFormer([...named, ...(await readEarlier(folder, items))], items, byIsin),
      ...(problem === undefined ? {} : { problem }),
    }
  })
}

const readStoredStocks = (folder: MarketFolder): Promise<StoredList<Stock>> =>
  readList(folder, MASTER_MAP, (rows) =>
    rows.flatMap(({ Symbol: symbol, ISIN, Name, Sid, FnoFlag }) =>
      typeof symbol === 'string' && typeof ISIN === 'string'
        ? [{ Symbol: symbol, ISIN, Name: readText(Name), Sid: readText(Sid), FnoFlag: Number(FnoFlag) || 0 }]
        : [],
    ),
  )

/** The symbols and ISINs of a list. */
const readNamed = async (folder: MarketFolder, file: string): Promise<readonly Named[]> => {
  const { rows } = await catchUnreadable(file, async () => ({ rows: await readOwners(folder, file), isMissing: false }))
  return rows
    .map((row): Named => [readText(row.Symbol ?? row.sym ?? row.SYMBOL), readText(row.ISIN ?? row.isin ?? row['ISIN NUMBER'])])
    .filter(([symbol, isin]) => symbol !== '' && isin !== '')
}

const readOwners = async ({ root }: MarketFolder, file: string): Promise<readonly Row[]> => {
  const path = join(root, file)
  if (file.endsWith('.csv')) return parseLines((await disk.readFile(path, 'utf8')).split('\n'))
  const owners: Row[] = []
  for await (const some of readRecords(path, file, parseOwners)) owners.push(...some)
  return owners
}

/** What earlier runs left: the master list before the last one, and the news of stocks under former symbols. */
const readEarlier = async (folder: MarketFolder, items: readonly Item<Stock>[]): Promise<readonly Named[]> => {
  const present = new Set(items.map(({ fileName }) => `${fileName}_news.json`))
  const left = (await listNames(join(folder.root, 'market_news'))).filter((name) => name.endsWith('_news.json') && !present.has(name))
  const news = await Promise.all(
    left.slice(0, MAX_LEFT).map((name) =>
      disk.readFile(join(folder.root, 'market_news', name), 'utf8').then(
        (text): readonly Named[] => {
          const [, symbol = '', isin = ''] = OWNER.exec(text) ?? []
          return [[symbol, isin]]
        },
        () => [],
      ),
    ),
  )
  return [...(await readNamed(folder, `${PREVIOUS_FOLDER}/${MASTER_MAP}`)), ...news.flat()]
}

const MAX_LEFT = 500
const OWNER = /^\{"Symbol":"([^"\\]*)","ISIN":"([^"\\]*)"/

const findFormer = (
  named: readonly Named[],
  items: readonly Item<Stock>[],
  byIsin: ReadonlyMap<string, Item<Stock>>,
): StockNames['former'] => {
  const present = new Set(items.map(({ key }) => key))
  const pairs = new Map(named.filter(([symbol]) => symbol !== '' && !present.has(symbol)))
  return [...pairs].flatMap(([symbol, isin]) => {
    const item = byIsin.get(isin)
    return item === undefined ? [] : [{ symbol, item }]
  })
}

/** The stream that lists the indices. */
export const INDICES = 'all-indices'
const FILE = 'all_indices_list.json'

/** The indices as items, each with the name of its candle file. */
export const readIndices = async (folder: MarketFolder): Promise<StoredList<Item>> => {
  const offers = folder.streams.find(({ name }) => name === INDICES)?.offers
  return readList<Item>(folder, FILE, (rows) => offers?.(rows, () => undefined) ?? [])
}

export const nameIndex = ({ value }: Item): string => (isRow(value) && typeof value.DispSym === 'string' ? value.DispSym : '')

/** The id of an index, which tells those that share a symbol apart. */
export const readSid = ({ value }: Item): string => (isRow(value) ? readText(value.Sid) : '')

const HEADLINES = [
  ...['NIFTY', 'SENSEX', 'BANKNIFTY', 'NIFTYNXT50', 'NIFTY 500', 'NIFTY MID100 FREE', 'NIFTY SMALLCAP 100', 'INDIA VIX'],
  ...['NIFTYIT', 'NIFTY AUTO', 'NIFTY FMCG', 'NIFTY PHARMA', 'NIFTY METAL', 'NIFTY ENERGY', 'NIFTY REALTY', 'NIFTY PSU BANK'],
]

/** Well-known indices first, in the order of the list above; then the others as listed. */
export const orderIndices = <T extends { readonly symbol: string; readonly name: string }>(rows: readonly T[]): readonly T[] => {
  const rankOf = ({ symbol, name }: T): number => {
    const ranks = [symbol, name].map((text) => HEADLINES.indexOf(text.toUpperCase())).filter((rank) => rank >= 0)
    return Math.min(HEADLINES.length, ...ranks)
  }
  return rows.toSorted((one, other) => rankOf(one) - rankOf(other))
}
