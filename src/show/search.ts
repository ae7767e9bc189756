import type { NamedInstrument } from './answers.js'
import type { MarketFolder } from './folder.js'
import { nameIndex, readIndices, readStockNames, type StockNames } from './stocks.js'

const MAX_FOUND = 20

/** Stocks and indices by symbol, name, ISIN or a symbol that they had earlier: the best matches first. */
export const search = async (folder: MarketFolder, text: string): Promise<readonly NamedInstrument[]> => {
  const wanted = text
    .trim()
    .toUpperCase()
    .replace(/^(?:NSE|BSE):|\.(?:NS|BO)$/g, '')
  if (wanted === '') return []
  const [names, indices] = await Promise.all([readStockNames(folder), readIndices(folder)])
  const toStock = ({ key, value: { Name: name, ISIN: isin } }: StockNames['items'][number]): NamedInstrument => {
    return { kind: 'stock', key, symbol: key, name, isin }
  }
  const stocks = names.items.map(toStock)
  const former = [...names.former].map(([symbol, item]): NamedInstrument => ({ ...toStock(item), oldSymbol: symbol }))
  const listed = indices.rows.map(
    (item): NamedInstrument => ({ kind: 'index', key: item.fileName, symbol: item.key, name: nameIndex(item) }),
  )
  const ranked = [...stocks, ...listed, ...former].map((one) => ({ one, rank: rankOf(one, wanted) }))
  const best = ranked.filter(({ rank }) => rank < NONE).toSorted((a, b) => a.rank - b.rank || a.one.symbol.length - b.one.symbol.length)
  return [...new Map(best.toReversed().map(({ one }) => [`${one.kind} ${one.key}`, one])).values()].toReversed().slice(0, MAX_FOUND)
}

const NONE = 9

/** An exact symbol goes before the beginning of one, that before the beginning of a name, and that before a part of either. */
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
