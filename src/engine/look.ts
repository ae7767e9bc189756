import {
  concatMap,
  defer,
  EMPTY,
  filter,
  finalize,
  first,
  from,
  map,
  type Observable,
  of,
  switchMap,
} from 'rxjs'
import { openConnections } from '../http/connections.js'
import { SharedLimiters } from '../limiter/limiter-registry.js'
import type { Item, ItemResult } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import { findAddress } from '../model/settings.js'
import { type Day, isWeekday, toDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { MASTER, type StreamDefinition, toFilePath } from './define-stream.js'
import { createRunDriftWatch } from './drift.js'
import { createItemWork } from './in-process.js'
import { oncePerRun } from './once-per-run.js'
import type { PlannedRun } from './run-services.js'

type Dependencies = PlannedRun['dependencies']

/** Whether a stream looks at candles. */
const isCandleLook = ({ look, outputs: [output] }: StreamDefinition): boolean =>
  look !== undefined && output.shape === 'candles-per-item'

/** What one request shows: the result, why it failed, or nothing if none can be sent. */
export type Looked = ItemResult | string | undefined

/** What a look asks for: a list that every session changes, or the candle of one of its items. */
export type LookedAt = 'list' | 'candle'

/** Looks at a list, where that may be relied on; else at a candle. */
export const look = (at: LookedAt, day: Day, dependencies: Dependencies, now: number): Observable<Looked> => {
  const { streams } = dependencies
  const list = streams.find((stream) => stream.look !== undefined && !isCandleLook(stream))
  const [part] = list?.work.parts ?? []
  if (at === 'candle' || list === undefined || part === undefined)
    return lookAtCandles(day, dependencies, now)
  return askOnce(list, part, dependencies, now).pipe(
    switchMap((found) =>
      typeof found === 'object' && found.status === 'empty'
        ? lookAtCandles(day, dependencies, now)
        : of(found),
    ),
  )
}

/** The streams that look at candles; those of stocks last, because a stock may be suspended, an index not. */
export const listCandleLooks = (streams: readonly StreamDefinition[]): readonly StreamDefinition[] =>
  streams
    .filter(isCandleLook)
    .toSorted((one, other) => Number(one.work.of === MASTER) - Number(other.work.of === MASTER))

/**
 * Looks at the candle of the first item whose stored candles end with a day: of an index, on a weekend also
 * of the largest stock.
 */
export const lookAtCandles = (day: Day, dependencies: Dependencies, now: number): Observable<Looked> => {
  const { streams, settings, storage } = dependencies
  const fileOf = ({ outputs: [output] }: StreamDefinition, item?: Item): string =>
    toFilePath(output, settings.exchange, item ?? { fileName: '' })
  const listItems = (stream: StreamDefinition): Observable<Item> => {
    const source = streams.find(({ name }) => name === stream.work.of)
    if (source?.offers === undefined) return EMPTY
    return storage.stored.document(fileOf(source)).pipe(
      catchItemFailure(() => of([])),
      concatMap((rows) =>
        from(source.offers?.((Array.isArray(rows) ? rows : []) as readonly Row[], () => undefined) ?? []),
      ),
    )
  }
  // On a weekday one stock without a trade must not stand for the market.
  const mayUseStocks = !isWeekday(toDay(now))
  return from(listCandleLooks(streams)).pipe(
    filter(({ work }) => mayUseStocks || work.of !== MASTER),
    concatMap((stream) =>
      listItems(stream).pipe(
        concatMap((item) =>
          storage.stored.tail(fileOf(stream, item)).pipe(
            filter((tail) => toDay(Number(tail?.lines.at(-1)?.split(',')[0]) * 1_000 || 0) === day),
            map(() => ({ stream, item })),
          ),
        ),
      ),
    ),
    first(undefined, undefined),
    switchMap((found) =>
      found === undefined ? of(undefined) : askOnce(found.stream, found.item, dependencies, now),
    ),
    map((found) => (typeof found === 'object' && found.status === 'empty' ? undefined : found)),
  )
}

/** Sends the request of a stream that looks, once. */
const askOnce = (
  stream: StreamDefinition,
  item: Item,
  dependencies: Dependencies,
  now: number,
): Observable<Looked> =>
  defer(() => {
    const { settings, clock, random, storage, dispatcher, transport, shared } = dependencies
    const each = stream.look
    if (each === undefined || stream.endpoints.some(({ host }) => findAddress(settings, host) === undefined))
      return of(undefined)
    const connections = transport
      ? { send: transport, close: () => undefined }
      : openConnections({ dispatcher, settings })
    const limiters = (shared ?? new SharedLimiters(settings)).open(() => undefined, stream.endpoints)
    const work = createItemWork(
      { ...stream, work: { ...stream.work, each } },
      {
        settings,
        clock,
        random,
        storage,
        limiters: { ...limiters, policy: { ...limiters.policy, retries: 0, throttleRetries: 0 } },
        transport: connections.send,
        asOf: now,
        accept: [],
        emit: () => undefined,
        drift: createRunDriftWatch([]),
        shared: oncePerRun(),
        ended: new Map(),
      },
    )
    return work(item).pipe(
      catchItemFailure((reason) => of(reason)),
      finalize(() => {
        connections.close()
        limiters.close()
      }),
    )
  })
