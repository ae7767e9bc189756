import { concatMap, EMPTY, forkJoin, from, map, type Observable, of, toArray } from 'rxjs'
import { MASTER_MAP, readStoredStocks } from '../market/listings.js'
import { type NamedStock, resolveSymbols } from '../market/symbols.js'
import { createFileNames } from '../model/file-name.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import type { Stored } from '../model/stored.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { RunSelection } from './session.js'
import { PREVIOUS_FOLDER } from './storage.js'

/** The stocks that a folder knows. */
export interface KnownStocks {
  /** Those of the stored master list. */
  readonly listed: readonly NamedStock[]
  /** Those of earlier lists and files, under the symbols of that time. */
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
export const readKnownStocks = (stored: Stored, symbols: readonly string[] | undefined): Observable<KnownStocks> => {
  if (symbols === undefined) return of({ listed: [], earlier: [] })
  return forkJoin([readStoredStocks(stored), readStoredStocks(stored, `${PREVIOUS_FOLDER}/${MASTER_MAP}`)]).pipe(
    concatMap(([listed, before]) =>
      readFormerStocks(stored, resolveSymbols(symbols, listed.map(withoutName)).wrong).pipe(
        map((former) => ({ listed, earlier: [...before, ...former] })),
      ),
    ),
  )
}

/** An earlier symbol goes before a name. */
const withoutName = (stock: NamedStock): NamedStock => ({ ...stock, Name: '' })

/** A renamed stock leaves a file of news under its former symbol, with its ISIN. */
const readFormerStocks = (stored: Stored, unknown: readonly { readonly given: string }[]): Observable<readonly NamedStock[]> =>
  from(unknown).pipe(
    concatMap(({ given }) => {
      const [fileName] = createFileNames([{ key: given.toUpperCase(), id: '' }])
      return stored.document(`market_news/${fileName}_news.json`).pipe(catchItemFailure(() => of(undefined)))
    }),
    concatMap((news) => (isRow(news) ? of({ Symbol: readText(news.Symbol), ISIN: readText(news.ISIN), Name: '' }) : EMPTY)),
    toArray(),
  )

/** The stocks among items, as lists name them. */
export const toNamedStocks = (items: readonly Item[]): readonly NamedStock[] =>
  items.map(({ key, value }) => {
    const { ISIN, Name } = isRow(value) ? value : {}
    return { Symbol: key, ISIN: readText(ISIN), Name: readText(Name) }
  })

/** A selection with the symbols of the stocks that its texts mean, so that every spelling is the same selection. */
export const resolveSelection = <S extends RunSelection>(selection: S, { listed, earlier }: KnownStocks): S =>
  selection.symbols === undefined ? selection : { ...selection, symbols: resolveSymbols(selection.symbols, listed, earlier).symbols }
