import { almost } from '../model/closest.js'
import { UsageError } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import type { Narrow } from './graph.js'
import { MASTER } from './work.js'

/** Keeps the stocks of the given symbols, in the master list's order; without symbols all. Symbols that are not listed are told. */
export const narrowTo =
  (symbols: readonly string[] | undefined, emit: Emit): Narrow =>
  (stocks) => {
    if (symbols === undefined) return stocks
    const wanted = new Set(symbols.map((symbol) => symbol.toUpperCase()))
    const chosen = stocks.filter(({ key }) => wanted.has(key.toUpperCase()))
    for (const { key } of chosen) wanted.delete(key.toUpperCase())
    const listed = stocks.map(({ key }) => key)
    const unknown = (names: readonly string[]): string =>
      names.map((name, place) => withGuess(name, place < MOST_GUESSES ? listed : [])).join(', ')
    if (chosen.length === 0)
      throw new UsageError(`none of the symbols is listed: ${unknown(symbols.slice(0, 10))}. Symbols are those of master_isin_map.json`)
    if (wanted.size > 0) emit({ type: 'noticed', stream: MASTER, text: `not listed, so left out: ${unknown([...wanted])}` })
    return chosen
  }

/** A long list that is wrong as a whole is another mistake than a typing error. */
const MOST_GUESSES = 10

const withGuess = (name: string, listed: readonly string[]): string => {
  const near = almost(name, listed)
  return near === undefined ? name : `${name} (did you mean ${near}?)`
}
