import {
  type AsyncSubject,
  concatMap,
  defer,
  EMPTY,
  filter,
  forkJoin,
  from,
  type MonoTypeOperatorFunction,
  map,
  mergeMap,
  type Observable,
  of,
  tap,
  toArray,
} from 'rxjs'
import { MASTER_MAP, readStoredStocks } from '../market/listings.js'
import { createUnknownSymbolsError, describeWrongSymbol, type NamedStock, resolveSymbols } from '../market/symbols.js'
import { InternalError, runNamed } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import { isRow, readText } from '../model/row.js'
import { createFileNames } from '../model/stock.js'
import type { Stored } from '../model/stored.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { MASTER, type StreamDefinition } from './define-stream.js'
import { hasSelectedItems } from './failed-items.js'
import { PREVIOUS_FOLDER, type RunSelection } from './storage.js'

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
const toNamedStocks = (items: readonly Item[]): readonly NamedStock[] =>
  items.map(({ key, value }) => {
    const { ISIN, Name } = isRow(value) ? value : {}
    return { Symbol: key, ISIN: readText(ISIN), Name: readText(Name) }
  })

/** A selection with the symbols of the stocks that its texts mean, so that every spelling is the same selection. */
export const resolveSelection = <S extends RunSelection>(selection: S, { listed, earlier }: KnownStocks): S =>
  selection.symbols === undefined ? selection : { ...selection, symbols: resolveSymbols(selection.symbols, listed, earlier).symbols }

/** What a run selects its items by, and the lists that it selects them from. */
export interface ItemSelection {
  /** The selected streams and items, if not all. */
  readonly chosen: RunSelection
  /** The symbols as they were given; those of `chosen` are resolved as far as the stored list allows. */
  readonly request: SymbolRequest
  /** The items that each stream offers to dependent streams, once they are known. */
  readonly offered: ReadonlyMap<string, AsyncSubject<readonly Item[]>>
  /** Every listed stock, in the order of the master list; filled once the list is known. */
  readonly listed: Item[]
  readonly emit: Emit
}

/** The listed stocks, with those of earlier lists, under which a symbol may be known. */
const listEarlier = ({ listed, earlier }: KnownStocks): readonly NamedStock[] => [...listed, ...earlier]

/** A selection in which symbols are those of the listed stocks; the same before the list is known. */
export const selectListed = (
  chosen: RunSelection,
  { listed, request: { symbols, known } }: Pick<ItemSelection, 'listed' | 'request'>,
): RunSelection =>
  symbols === undefined || listed.length === 0
    ? chosen
    : { ...chosen, symbols: resolveSymbols(symbols, toNamedStocks(listed), listEarlier(known)).symbols }

/**
 * Selects the stocks of a run, in the order of the master list; without symbols all stocks. Reports wrong symbols.
 * @throws UsageError if none of the symbols is listed or, with `reject`, one is not
 */
export const selectSymbols = (stocks: readonly Item[], { symbols, wrongSymbols, known }: SymbolRequest, emit: Emit): readonly Item[] => {
  if (symbols === undefined) return stocks
  const { symbols: found, wrong, guesses } = resolveSymbols(symbols, toNamedStocks(stocks), listEarlier(known))
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

/** The stocks of this run, multicast: a subscriber must subscribe in the same turn, or it misses them. */
export interface Stocks {
  readonly all: readonly Item[]
  readonly each$: Observable<Item>
}

/** Whether the definition of a stream selects an item. */
export const isSelectedBy =
  ({ name, work: { where } }: StreamDefinition) =>
  (item: Item): boolean =>
    where === undefined || runNamed(`where of ${name}`, item.key, () => where(item))

/** The items of a stream: its own parts, the multicast stocks, or the offer of another stream. Reports their number once it is known. */
export const selectItems = (stream: StreamDefinition, stocks: Stocks, run: ItemSelection): Observable<Item> => {
  const { name } = stream
  const { of: source, parts } = stream.work
  const known = (total: number): void => run.emit({ type: 'items-known', stream: name, total })
  const isSelection = hasSelectedItems(stream, run.chosen)
  if (source === undefined && !isSelection) return from(parts).pipe(tap({ subscribe: () => known(parts.length) }))
  if (source === MASTER && !isSelection) {
    const where = isSelectedBy(stream)
    const { length } = stocks.all.filter(where)
    return stocks.each$.pipe(filter(where), tap({ subscribe: () => known(length) }), expectCount(length))
  }
  const item$ = isSelection ? selectRequestedItems(stream, stocks, run) : (run.offered.get(source ?? '') ?? EMPTY)
  return item$.pipe(
    tap(({ length }) => known(length)),
    mergeMap((items) => from(items)),
  )
}

/** The items that `RunOptions.pairs` selects of a stream; warns about those that are no longer listed. */
const selectRequestedItems = (stream: StreamDefinition, stocks: Stocks, run: ItemSelection): Observable<readonly Item[]> => {
  const { name } = stream
  const { of: source, parts } = stream.work
  const requested = run.chosen.pairs?.[name] ?? []
  const all$ =
    source === undefined
      ? of(parts)
      : source === MASTER
        ? stocks.each$.pipe(expectCount(stocks.all.length), filter(isSelectedBy(stream)), toArray())
        : (run.offered.get(source) ?? EMPTY)
  return all$.pipe(
    map((all) => {
      const named = source === MASTER ? resolveSymbols(requested, toNamedStocks(all), listEarlier(run.request.known)).symbols : requested
      const wanted = new Set(named.map((item) => item.toUpperCase()))
      const chosen = all.filter(({ key }) => wanted.has(key.toUpperCase()))
      for (const { key } of chosen) wanted.delete(key.toUpperCase())
      if (wanted.size > 0) run.emit({ type: 'warning', stream: name, text: `no longer listed, skipped: ${[...wanted].join(', ')}` })
      return chosen
    }),
  )
}

/** Checks the number of items: a branch that subscribed too late must not look like one with a short list. */
const expectCount =
  (total: number): MonoTypeOperatorFunction<Item> =>
  (item$) =>
    defer(() => {
      let received = 0
      const end = (): void => {
        if (received !== total) throw new InternalError(`a stream received ${received} of ${total} stocks`)
      }
      return item$.pipe(tap({ next: () => (received += 1), complete: end }))
    })
