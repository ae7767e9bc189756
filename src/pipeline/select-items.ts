import { defer, EMPTY, filter, from, type MonoTypeOperatorFunction, map, mergeMap, type Observable, of, tap, toArray } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import { findNearMatch } from '../model/text.js'
import { MASTER, type StreamDefinition } from './define-stream.js'
import { hasSelectedItems } from './failed-items.js'
import type { RunServices } from './run.js'

/** Selects the stocks of the given symbols, in the order of the master list; without symbols all stocks. Warns about unknown symbols. */
export const selectSymbols = (stocks: readonly Item[], symbols: readonly string[] | undefined, emit: Emit): readonly Item[] => {
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

/** The stocks of this run, multicast: a subscriber must subscribe in the same turn, or it misses them. */
export interface Stocks {
  readonly all: readonly Item[]
  readonly each$: Observable<Item>
}

/** The items of a stream: its own parts, the multicast stocks, or the offer of another stream. Reports their number once it is known. */
export const selectItems = (stream: StreamDefinition, stocks: Stocks, run: RunServices): Observable<Item> => {
  const {
    name,
    work: { of: source, parts, where = () => true },
  } = stream
  const known = (total: number): void => run.emit({ type: 'items-known', stream: name, total })
  if (hasSelectedItems(stream, run.chosen))
    return selectRequestedItems(stream, stocks, run).pipe(
      tap(({ length }) => known(length)),
      mergeMap((items) => from(items)),
    )
  if (source === undefined) return from(parts).pipe(tap({ subscribe: () => known(parts.length) }))
  if (source === MASTER) {
    const { length } = stocks.all.filter(where)
    return stocks.each$.pipe(filter(where), tap({ subscribe: () => known(length) }), expectCount(length))
  }
  const offered$: Observable<readonly Item[]> = run.offered.get(source) ?? EMPTY
  return offered$.pipe(
    tap(({ length }) => known(length)),
    mergeMap((items) => from(items)),
  )
}

/** The items that `RunOptions.pairs` selects of a stream; warns about those that are no longer listed. */
const selectRequestedItems = (
  { name, work: { of: source, parts, where = () => true } }: StreamDefinition,
  stocks: Stocks,
  run: RunServices,
): Observable<readonly Item[]> => {
  const wanted = new Set(run.chosen.pairs?.[name]?.map((item) => item.toUpperCase()))
  const all$ =
    source === undefined
      ? of(parts)
      : source === MASTER
        ? stocks.each$.pipe(expectCount(stocks.all.length), filter(where), toArray())
        : (run.offered.get(source) ?? EMPTY)
  return all$.pipe(
    map((all) => {
      const chosen = all.filter(({ key }) => wanted.has(key.toUpperCase()))
      for (const { key } of chosen) wanted.delete(key.toUpperCase())
      if (wanted.size > 0) run.emit({ type: 'noticed', stream: name, text: `no longer listed, skipped: ${[...wanted].join(', ')}` })
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
        if (received !== total) throw new Error(`internal error: a stream received ${received} of ${total} stocks`)
      }
      return item$.pipe(tap({ next: () => (received += 1), complete: end }))
    })
