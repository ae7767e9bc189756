import {
  defer,
  EMPTY,
  filter,
  from,
  type MonoTypeOperatorFunction,
  map,
  mergeMap,
  type Observable,
  of,
  tap,
  toArray,
} from 'rxjs'
import { InternalError, runNamed } from '../model/errors.js'
import type { Item } from '../model/outcome.js'
import { DAYS, listDayItems, MASTER, type StreamDefinition } from './define-stream.js'
import { hasSelectedItems } from './failed-items.js'
import type { RunContext } from './run.js'
import { resolveListed } from './select-items.js'

/** The stocks of this run, multicast: a subscriber must subscribe in the same turn, or it misses them. */
export interface Stocks {
  readonly all: readonly Item[]
  readonly each$: Observable<Item>
}

export const isSelectedBy =
  ({ name, work: { where } }: StreamDefinition) =>
  (item: Item): boolean =>
    where === undefined || runNamed(`where of ${name}`, item.key, () => where(item))

/**
 * The items of a stream: its own parts, the multicast stocks, or the offer of another stream. Reports their
 * number once it is known.
 */
export const selectItems = (stream: StreamDefinition, stocks: Stocks, run: RunContext): Observable<Item> => {
  const { name } = stream
  const { of: source, parts } = stream.work
  const known = (total: number): void => run.emit({ type: 'items-known', stream: name, total })
  const isSelection = hasSelectedItems(stream, run.chosen)
  if (source === undefined && !isSelection)
    return from(parts).pipe(tap({ subscribe: () => known(parts.length) }))
  if (source === MASTER && !isSelection) {
    const where = isSelectedBy(stream)
    const { length } = stocks.all.filter(where)
    return stocks.each$.pipe(filter(where), tap({ subscribe: () => known(length) }), expectCount(length))
  }
  const item$ = isSelection ? selectRequestedItems(stream, stocks, run) : findOffered(source, run)
  return item$.pipe(
    tap(({ length }) => known(length)),
    mergeMap((items) => from(items)),
  )
}

const findOffered = (
  source: string | undefined,
  { offered, asOf }: RunContext,
): Observable<readonly Item[]> =>
  source === DAYS ? of(listDayItems(asOf)) : (offered.get(source ?? '') ?? EMPTY)

/** The items that `RunOptions.pairs` selects of a stream; warns about those that are no longer listed. */
const selectRequestedItems = (
  stream: StreamDefinition,
  stocks: Stocks,
  run: RunContext,
): Observable<readonly Item[]> => {
  const { name } = stream
  const { of: source, parts } = stream.work
  const requested = run.chosen.pairs?.[name] ?? []
  const all$ =
    source === undefined
      ? of(parts)
      : source === MASTER
        ? stocks.each$.pipe(expectCount(stocks.all.length), filter(isSelectedBy(stream)), toArray())
        : findOffered(source, run)
  return all$.pipe(
    map((all) => {
      const named = source === MASTER ? resolveListed(requested, all, run.request.known).symbols : requested
      const wanted = new Set(named.map((item) => item.toUpperCase()))
      const chosen = all.filter(({ key }) => wanted.has(key.toUpperCase()))
      for (const { key } of chosen) wanted.delete(key.toUpperCase())
      if (wanted.size > 0)
        run.emit({
          type: 'warning',
          stream: name,
          text: `no longer listed, skipped: ${[...wanted].join(', ')}`,
        })
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
