import type { Writable } from 'node:stream'
import * as lines from 'ndjson'
import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  from,
  fromEvent,
  ignoreElements,
  map,
  merge,
  mergeMap,
  NEVER,
  Observable,
  of,
  share,
  take,
  takeUntil,
  throwError,
} from 'rxjs'
import { StorageError } from '../src/model/errors.js'
import type { Settled } from '../src/model/outcome.js'
import type { Sink } from '../src/pipeline/storage.js'
import { causeOf } from './file-error.js'

/**
 * Where lines go, one after the other: a Node stream, which says when it is full, or anything that takes text. A promise that it gives
 * back is waited for; what gives back anything else takes lines as fast as they come.
 */
export interface LineWriter {
  write(line: string): unknown
}

/**
 * A sink that writes every record as a line of JSON to a stream, its item's key (a symbol or the name of a list) first under `item`. It
 * does not end the stream, and adds no files. An item is stored once the stream has taken its lines, so that a slow reader slows the
 * requests. A stream that fails or is closed ends the run with a `StorageError`; what it still buffers when the run ends is the caller's to
 * flush. For pipes and for apps that embed a collector.
 */
export const ndjson =
  (writable: LineWriter): Sink =>
  (kept$) =>
    kept$.pipe(
      concatMap((kept) => concat(written(writable, kept.settled), of(kept))),
      takeUntil(isStream(writable) ? signalsOf(writable).failed$ : NEVER),
    )

const written = (writable: LineWriter, { item, rows }: Settled): Observable<never> =>
  rows.length === 0
    ? EMPTY
    : encoded(Array.from(rows, (row) => ({ item: item.key, row }))).pipe(
        mergeMap((all) => all),
        concatMap((line) => taken(writable, line)),
      )

const encoded = (records: readonly object[]): Observable<readonly string[]> =>
  new Observable((subscriber) => {
    const encoder = lines.stringify()
    const all: string[] = []
    encoder.on('data', (line: unknown) => all.push(String(line)))
    encoder.on('end', () => {
      subscriber.next(all)
      subscriber.complete()
    })
    for (const record of records) encoder.write(record)
    encoder.end()
  })

/** Completes when the writer has room again. */
const taken = (writable: LineWriter, line: string): Observable<never> =>
  defer(() => {
    if (!isStream(writable)) {
      const result = writable.write(line)
      return result instanceof Promise ? from(result) : EMPTY
    }
    if (writable.destroyed || writable.writableEnded) throw new Error('the stream is closed')
    return writable.write(line) ? EMPTY : signalsOf(writable).drained$.pipe(take(1))
  }).pipe(
    ignoreElements(),
    catchError((error: unknown) => throwError(() => failure(error))),
  )

const isStream = (writable: LineWriter): writable is Writable => 'addListener' in writable && 'removeListener' in writable

interface Signals {
  readonly drained$: Observable<unknown>
  /** Errors when the stream does, or when it is closed. */
  readonly failed$: Observable<never>
}

const signals = new WeakMap<Writable, Signals>()

/** All sinks that write to a stream listen to it together: eleven listeners would be a warning of Node's. */
const signalsOf = (writable: Writable): Signals => {
  const known = signals.get(writable)
  if (known) return known
  const closed$ = fromEvent(writable, 'close').pipe(map(() => new Error('the stream is closed')))
  const made: Signals = {
    drained$: fromEvent(writable, 'drain').pipe(share()),
    failed$: merge(fromEvent(writable, 'error'), closed$).pipe(
      map((error): never => {
        throw failure(error)
      }),
      share(),
    ),
  }
  signals.set(writable, made)
  return made
}

const failure = (error: unknown): StorageError => new StorageError(`the lines cannot be written: ${causeOf(error)}`, { cause: error })
