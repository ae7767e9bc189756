import { join } from 'node:path'
import { createOwnerFinder, FORMER_STOCKS_FILE } from '../market/former-stocks.js'
import { MASTER_MAP } from '../market/listings.js'
import { ACTION_FILES } from '../market/price-actions.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import { type Stock, toStockItems } from '../model/stock.js'
import { readStateDocument } from '../storage/file-system.js'
import { readFormerList } from '../tables/output-folder.js'
import { readKnownActions } from '../verify/price-moves.js'
import type { NamedInstrument } from './answers.js'
import { type MarketFolder, readStoredList, type StoredList, tellUnreadable } from './folder.js'

/**
 * Reads the master list, and what is known of former symbols. `find`: the stock of a symbol, also of an
 * earlier one.
 */
export const readStockNames = (folder: MarketFolder) =>
  folder.remember('stock names', [MASTER_MAP, FORMER_STOCKS_FILE], async () => {
    const items = toStockItems((await readListedStocks(folder)).rows)
    const bySymbol = new Map(items.toReversed().map((item) => [item.key, item]))
    const byIsin = new Map(items.toReversed().map((item) => [item.value.ISIN, item]))
    const left = await readFormerList(folder.root)
    const owners = createOwnerFinder(
      items.map(({ value }) => value),
      left,
    )
    const former = new Map(
      left.flatMap(({ stock }) => {
        const item = byIsin.get(owners.present(stock)?.ISIN ?? '')
        return item === undefined || bySymbol.has(stock.Symbol) ? [] : [[stock.Symbol, item] as const]
      }),
    )
    return { items, former, owners, find: (symbol: string) => bySymbol.get(symbol) ?? former.get(symbol) }
  })

/** The price actions of all stocks, as `verify` reads them. Without a list, moves have fewer explanations. */
export const readActionLists = (folder: MarketFolder) =>
  folder.remember('price actions', [...ACTION_FILES, MASTER_MAP, FORMER_STOCKS_FILE], async () => {
    const { owners } = await readStockNames(folder)
    const lists = await Promise.all(
      ACTION_FILES.map(async (file) => ({
        file,
        ...(await tellUnreadable(readStateDocument(join(folder.root, file)))),
      })),
    )
    return {
      bySymbol: readKnownActions(new Map(lists.map(({ file, value }) => [file, value])), owners),
      problems: lists.flatMap(({ problems }) => problems),
    }
  })

const readListedStocks = (folder: MarketFolder): Promise<StoredList<Stock>> =>
  readStoredList(folder, MASTER_MAP, (rows) =>
    rows.flatMap(({ Symbol: symbol, ISIN, Name, Sid, FnoFlag }) =>
      typeof symbol === 'string' && typeof ISIN === 'string'
        ? [{ Symbol: symbol, ISIN, Name: readText(Name), Sid: readText(Sid), FnoFlag: Number(FnoFlag) || 0 }]
        : [],
    ),
  )

export const INDEX_STREAM = 'all-indices'
const INDEX_LIST = 'all_indices_list.json'

/** The indices as items, each with the name of its candle file. */
export const readIndices = async (folder: MarketFolder): Promise<StoredList<Item>> => {
  const offers = folder.streams.find(({ name }) => name === INDEX_STREAM)?.offers
  return readStoredList<Item>(folder, INDEX_LIST, (rows) => offers?.(rows, () => undefined) ?? [])
}

export const nameIndex = ({ value }: Item): string =>
  isRow(value) && typeof value.DispSym === 'string' ? value.DispSym : ''

/** The id of an index, which tells those that share a symbol apart. */
export const readSid = ({ value }: Item): string => (isRow(value) ? readText(value.Sid) : '')

const HEADLINES = [
  'NIFTY',
  'SENSEX',
  'BANKNIFTY',
  'NIFTYNXT50',
  'NIFTY 500',
  'NIFTY MID100 FREE',
  'NIFTY SMALLCAP 100',
  'INDIA VIX',
  'NIFTYIT',
  'NIFTY AUTO',
  'NIFTY FMCG',
  'NIFTY PHARMA',
  'NIFTY METAL',
  'NIFTY ENERGY',
  'NIFTY REALTY',
  'NIFTY PSU BANK',
]

/** Well-known indices first, in the order of the list above; then the others as listed. */
export const orderIndices = <T extends { readonly symbol: string; readonly name: string }>(
  rows: readonly T[],
): readonly T[] => {
  const rankOf = ({ symbol, name }: T) => {
    const ranks = [symbol, name]
      .map((text) => HEADLINES.indexOf(text.toUpperCase()))
      .filter((rank) => rank >= 0)
    return Math.min(HEADLINES.length, ...ranks)
  }
  return rows.toSorted((one, other) => rankOf(one) - rankOf(other))
}

const MAX_FOUND = 20

/** Stocks and indices by symbol, name, ISIN or a symbol that they had earlier: the best matches first. */
export const search = async (folder: MarketFolder, text: string): Promise<readonly NamedInstrument[]> => {
  const wanted = text
    .trim()
    .toUpperCase()
    .replace(/^(?:NSE|BSE):|\.(?:NS|BO)$/g, '')
  if (wanted === '') return []
  const [names, indices] = await Promise.all([readStockNames(folder), readIndices(folder)])
  const toStock = ({ key, value: { Name: name, ISIN: isin } }: Item<Stock>): NamedInstrument => {
    return { kind: 'stock', key, symbol: key, name, isin }
  }
  const stocks = names.items.map(toStock)
  const former = [...names.former].map(
    ([symbol, item]): NamedInstrument => ({ ...toStock(item), oldSymbol: symbol }),
  )
  const listed = indices.rows.map(
    (item): NamedInstrument => ({
      kind: 'index',
      key: item.fileName,
      symbol: item.key,
      name: nameIndex(item),
    }),
  )
  const ranked = [...stocks, ...listed, ...former].map((one) => ({ one, rank: rankOf(one, wanted) }))
  const best = ranked
    .filter(({ rank }) => rank < NONE)
    .toSorted((a, b) => a.rank - b.rank || a.one.symbol.length - b.one.symbol.length)
  return [...new Map(best.toReversed().map(({ one }) => [`${one.kind} ${one.key}`, one])).values()]
    .toReversed()
    .slice(0, MAX_FOUND)
}

const NONE = 9

/**
 * An exact symbol goes before the beginning of one, that before the beginning of a name, and that before a
 * part of either.
 */
const rankOf = ({ symbol, name, isin = '', oldSymbol }: NamedInstrument, wanted: string): number => {
  const code = (oldSymbol ?? symbol).toUpperCase()
  const former = oldSymbol === undefined ? 0 : 0.5
  if (code === wanted) return former
  if (isin === wanted) return 1
  if (code.startsWith(wanted)) return 2 + former
  if (oldSymbol !== undefined) return NONE
  const words = name.toUpperCase()
  if (words.startsWith(wanted)) return 3
  if (words.includes(` ${wanted}`)) return 4
  if (wanted.length < 2) return NONE
  return code.includes(wanted) ? 5 : words.includes(wanted) || isin.startsWith(wanted) ? 6 : NONE
}
