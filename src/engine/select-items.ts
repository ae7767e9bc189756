import { forkJoin, map, type Observable, of } from 'rxjs'
import { readFormerStocks } from '../market/former-stocks.js'
import { readStoredStocks } from '../market/listings.js'
import {
  createUnknownSymbolsError,
  describeWrongSymbol,
  type NamedStock,
  resolveSymbols,
} from '../market/symbols.js'
import type { Emit } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import type { Stored } from '../model/stored.js'
import { MASTER } from './define-stream.js'
import type { RunSelection } from './storage.js'

/** The stocks that a folder knows. */
export interface KnownStocks {
  readonly listed: readonly NamedStock[]
  /** Those of earlier lists, under the symbols of that time. */
  readonly earlier: readonly NamedStock[]
}

/** What to do about symbols that are not listed or have changed: see `RunOptions.wrongSymbols`. */
export type WrongSymbolPolicy = 'report' | 'reject'

/** The symbols of a run, and what helps to understand them. */
export interface SymbolRequest {
  readonly symbols: readonly string[] | undefined
  readonly wrongSymbols: WrongSymbolPolicy | undefined
  readonly known: KnownStocks
}

/** Reads what the folder knows about symbols; nothing without symbols. */
export const readKnownStocks = (
  stored: Stored,
  symbols: readonly string[] | undefined,
): Observable<KnownStocks> => {
  if (symbols === undefined) return of({ listed: [], earlier: [] })
  return forkJoin([readStoredStocks(stored), readFormerStocks(stored)]).pipe(
    map(([listed, former]) => ({ listed, earlier: former.map(({ stock }) => stock).toReversed() })),
  )
}

/** The stocks among items, as lists name them. */
const toNamedStocks = (items: readonly Item[]): readonly NamedStock[] =>
  items.map(({ key, value }) => {
    const { ISIN, Name } = isRow(value) ? value : {}
    return { Symbol: key, ISIN: readText(ISIN), Name: readText(Name) }
  })

/**
 * A selection with the symbols of the stocks that its texts mean, so that every spelling is the same
 * selection.
 */
export const resolveSelection = <S extends RunSelection>(
  selection: S,
  { listed, earlier }: KnownStocks,
): S =>
  selection.symbols === undefined
    ? selection
    : { ...selection, symbols: resolveSymbols(selection.symbols, listed, earlier).symbols }

/** A selection in which symbols are those of the listed stocks; the same before the list is known. */
export const selectListed = (
  chosen: RunSelection,
  {
    listed,
    request: { symbols, known },
  }: { readonly listed: readonly Item[]; readonly request: SymbolRequest },
): RunSelection =>
  symbols === undefined || listed.length === 0
    ? chosen
    : { ...chosen, symbols: resolveListed(symbols, listed, known).symbols }

/** What texts mean among listed stocks. */
export const resolveListed = (
  texts: readonly string[],
  listed: readonly Item[],
  { listed: before, earlier }: KnownStocks,
) => resolveSymbols(texts, toNamedStocks(listed), [...before, ...earlier])

/**
 * Selects the stocks of a run, in the order of the master list; without symbols all stocks. Reports wrong
 * symbols.
 * @throws UsageError if none of the symbols is listed or, with `reject`, one is not
 */
export const selectSymbols = (
  stocks: readonly Item[],
  { symbols, wrongSymbols, known }: SymbolRequest,
  emit: Emit,
): readonly Item[] => {
  if (symbols === undefined) return stocks
  const { symbols: found, wrong, guesses } = resolveListed(symbols, stocks, known)
  const wanted = new Set(found)
  const chosen = stocks.filter(({ key }) => wanted.has(key))
  const unknown = wrong.filter(({ now }) => now === undefined)
  if ((chosen.length === 0 && symbols.length > 0) || (wrongSymbols === 'reject' && unknown.length > 0))
    throw createUnknownSymbolsError(unknown)
  const notices = wrongSymbols === 'reject' ? [...wrong.map(describeWrongSymbol), ...guesses] : guesses
  for (const text of notices) emit({ type: 'warning', stream: MASTER, text })
  if (wrongSymbols !== 'reject' && wrong.length > 0) emit({ type: 'wrong-symbols', symbols: wrong })
  return chosen
}
