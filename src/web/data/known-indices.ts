import type { Item } from '../../model/outcome.js'
import { readList, type StoredList } from './lists.js'
import type { MarketFolder } from './market-folder.js'

/** The stream that lists the indices. */
export const INDICES = 'all-indices'
const FILE = 'all_indices_list.json'

/** The indices as items, each with the name of its candle file. */
export const readIndices = async (folder: MarketFolder): Promise<StoredList<Item>> => {
  const offers = folder.streams.find(({ name }) => name === INDICES)?.offers
  return readList<Item>(folder, FILE, (rows) => offers?.(rows, () => undefined) ?? [])
}

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
