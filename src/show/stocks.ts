import { join } from 'node:path'
import { MASTER_MAP } from '../market/listings.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import { type Stock, toStockItems } from '../model/stock.js'
import { PREVIOUS_FOLDER } from '../pipeline/storage.js'
import { disk } from '../storage/disk.js'
import { listNames } from '../storage/file-system.js'
import { type MarketFolder, readList, type StoredList } from './folder.js'

/** The stocks of a folder, and the symbols that they had earlier. */
export interface StockNames {
  readonly items: readonly Item<Stock>[]
  /** The stock of a symbol, also of an earlier one. */
  readonly find: (symbol: string) => Item<Stock> | undefined
  readonly former: ReadonlyMap<string, Item<Stock>>
}

/** Reads the master list, the one before it, and the owners of news that stocks have left under former symbols. */
export const readStockNames = (folder: MarketFolder): Promise<StockNames> =>
  folder.remember('stock names', [MASTER_MAP, PREVIOUS_FOLDER, NEWS], async () => {
    const items = toStockItems((await readStoredStocks(folder, MASTER_MAP)).rows)
    const bySymbol = new Map(items.toReversed().map((item) => [item.key, item]))
    const byIsin = new Map(items.toReversed().map((item) => [item.value.ISIN, item]))
    const before = (await readStoredStocks(folder, `${PREVIOUS_FOLDER}/${MASTER_MAP}`)).rows
    const earlier = [...before.map(({ Symbol: symbol, ISIN }) => [symbol, ISIN] as const), ...(await readNewsOwners(folder, items))]
    const former = new Map(
      earlier.flatMap(([symbol, isin]) => {
        const item = bySymbol.has(symbol) || symbol === '' ? undefined : byIsin.get(isin)
        return item === undefined ? [] : [[symbol, item] as const]
      }),
    )
    return { items, former, find: (symbol) => bySymbol.get(symbol) ?? former.get(symbol) }
  })

const readStoredStocks = (folder: MarketFolder, file: string): Promise<StoredList<Stock>> =>
  readList(folder, file, (rows) =>
    rows.flatMap(({ Symbol: symbol, ISIN, Name, Sid, FnoFlag }) =>
      typeof symbol === 'string' && typeof ISIN === 'string'
        ? [{ Symbol: symbol, ISIN, Name: readText(Name), Sid: readText(Sid), FnoFlag: Number(FnoFlag) || 0 }]
        : [],
    ),
  )

const NEWS = 'market_news'
const MAX_LEFT = 500
const OWNER = /^\{"Symbol":"([^"\\]*)","ISIN":"([^"\\]*)"/

const readNewsOwners = async (
  { root }: MarketFolder,
  items: readonly Item[],
): Promise<readonly (readonly [symbol: string, isin: string])[]> => {
  const present = new Set(items.map(({ fileName }) => `${fileName}_news.json`))
  const left = (await listNames(join(root, NEWS))).filter((name) => name.endsWith('_news.json') && !present.has(name))
  const texts = await Promise.all(left.slice(0, MAX_LEFT).map((name) => disk.readFile(join(root, NEWS, name), 'utf8').catch(() => '')))
  return texts.map((text) => {
    const [, symbol = '', isin = ''] = OWNER.exec(text) ?? []
    return [symbol, isin]
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
