import type { Writable } from 'node:stream'
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
  type Observable,
  of,
  share,
  take,
  takeUntil,
  throwError,
} from 'rxjs'
import type { Sink } from '../src/engine/storage.js'
import { StorageError } from '../src/model/errors.js'
import type { ItemOutcome } from '../src/model/outcome.js'
import { describeFileError } from '../src/storage/file-system.js'

/**
 * The target of the lines: a Node stream, whose backpressure is respected, or any object that takes text. If
 * `write` returns a promise, the sink waits for it before the next line.
 */
export interface LineWriter {
  write(line: string): unknown
}

/**
 * A sink that writes every record as a line of JSON to a stream: `{"item": …, "row": …}`, where `item` is a
 * symbol or the name of a list. An item counts as stored once the stream has accepted its lines, so a slow
 * reader slows down the requests. The sink writes no files and does not end the stream: the caller flushes
 * it. A failed or closed stream ends the run with a `StorageError`.
 *
 * @example createCollector({ settings, storage: { ...memory(), open: () => ndjson(process.stdout) } })
 */
export const ndjson =
  (writable: LineWriter): Sink =>
  (items$) =>
    items$.pipe(
      concatMap((item) => concat(writeItem(writable, item.outcome), of(item))),
      takeUntil(isNodeStream(writable) ? getStreamSignals(writable).failed$ : NEVER),
    )

const writeItem = (writable: LineWriter, { item, rows }: ItemOutcome): Observable<never> =>
  rows.length === 0
    ? EMPTY
    : defer(() => encodeLines(Array.from(rows, (row) => ({ item: item.key, row })))).pipe(
        mergeMap((encodedLines) => encodedLines),
        concatMap((line) => writeLine(writable, line)),
      )

/** Each record as a line of JSON. The package is loaded on demand: most apps store into a folder. */
export const encodeLines = async (records: readonly object[]): Promise<readonly string[]> => {
  const { stringify } = await import('ndjson')
  const encoder = stringify()
  for (const record of records) encoder.write(record)
  encoder.end()
  const encoded: string[] = []
  for await (const line of encoder) encoded.push(String(line))
  return encoded
}

/** Completes when the writer accepts more. */
const writeLine = (writable: LineWriter, line: string): Observable<never> =>
  defer(() => {
    if (!isNodeStream(writable)) {
      const result = writable.write(line)
      return result instanceof Promise ? from(result) : EMPTY
    }
    if (writable.destroyed || writable.writableEnded) throw new Error('the stream is closed')
    return writable.write(line) ? EMPTY : getStreamSignals(writable).drained$.pipe(take(1))
  }).pipe(
    ignoreElements(),
    catchError((error: unknown) => throwError(() => toWriteError(error))),
  )

const isNodeStream = (writable: LineWriter): writable is Writable =>
  'addListener' in writable && 'removeListener' in writable

interface StreamSignals {
  readonly drained$: Observable<unknown>
  /** Errors when the stream errors or is closed. */
  readonly failed$: Observable<never>
}

const signalsByStream = new WeakMap<Writable, StreamSignals>()

/** Shares the listeners of all sinks that write to one stream: Node warns at eleven listeners. */
const getStreamSignals = (writable: Writable): StreamSignals => {
  const known = signalsByStream.get(writable)
  if (known) return known
  const closed$ = fromEvent(writable, 'close').pipe(map(() => new Error('the stream is closed')))
  const created: StreamSignals = {
    drained$: fromEvent(writable, 'drain').pipe(share()),
    failed$: merge(fromEvent(writable, 'error'), closed$).pipe(
      map((error): never => {
        throw toWriteError(error)
      }),
      share(),
    ),
  }
  signalsByStream.set(writable, created)
  return created
}

const toWriteError = (error: unknown): StorageError =>
  new StorageError(`the lines cannot be written: ${describeFileError(error)}`, { cause: error })
