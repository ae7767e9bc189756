import { UsageError } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import { findNearMatch } from '../model/text.js'
import type { SelectStocks } from './graph.js'
import { MASTER } from './work.js'

/** Selects the stocks of the given symbols, in the order of the master list; without symbols all stocks. Warns about unknown symbols. */
export const selectSymbols =
  (symbols: readonly string[] | undefined, emit: Emit): SelectStocks =>
  (stocks) => {
    if (symbols === undefined) return stocks
    const wanted = new Set(symbols.map((symbol) => symbol.toUpperCase()))
    const chosen = stocks.filter(({ key }) => wanted.has(key.toUpperCase()))
    for (const { key } of chosen) wanted.delete(key.toUpperCase())
    const listed = stocks.map(({ key }) => key)
    const unknown = (names: readonly string[]): string =>
      names.map((name, place) => addGuess(name, place < MAX_GUESSES ? listed : [])).join(', ')
    if (chosen.length === 0)
      throw new UsageError(`unknown symbols: ${unknown(symbols.slice(0, 10))}; known symbols are in master_isin_map.json`)
    if (wanted.size > 0) emit({ type: 'noticed', stream: MASTER, text: `skipped unknown symbols: ${unknown([...wanted])}` })
    return chosen
  }

/** Guessing helps against typing errors, not if a long list is wrong as a whole. */
const MAX_GUESSES = 10

const addGuess = (name: string, listed: readonly string[]): string => {
  const near = findNearMatch(name, listed)
  return near === undefined ? name : `${name} (did you mean ${near}?)`
}
