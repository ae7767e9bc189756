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
    if (chosen.length === 0)
      throw new UsageError(`none of the symbols is listed: ${symbols.slice(0, 10).join(', ')}. Symbols are those of master_isin_map.json`)
    if (wanted.size > 0) emit({ type: 'noticed', stream: MASTER, text: `not listed, so left out: ${[...wanted].join(', ')}` })
    return chosen
  }
