import {
  concat,
  count,
  defaultIfEmpty,
  defer,
  EMPTY,
  filter,
  from,
  ignoreElements,
  map,
  mergeMap,
  type Observable,
  of,
  switchMap,
  tap,
} from 'rxjs'
import {
  type ArrayPerItem,
  type CandlesPerItem,
  type DocumentPerItem,
  type Output,
  type TextFile,
  toFilePath,
} from '../src/engine/define-stream.js'
import type { SinkItem } from '../src/engine/storage.js'
import { type Sink, type SinkContext, type Storage, toStatePath } from '../src/engine/storage.js'
import { formatAppended, formatCandleFile } from '../src/market/candle-file.js'
import { areTooManyEmpty, MERGED, thresholds } from '../src/market/refusal-policy.js'
import type { Candles } from '../src/model/candle.js'
import { runNamed } from '../src/model/errors.js'
import { formatPart } from '../src/model/format.js'
import { type ItemOutcome, isAnswered, isLost } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import { RUN_LOG } from '../src/model/run-log.js'
import { asBuffer, formatJson } from '../src/model/text.js'
import { type FileStore, readStoredDocument } from '../src/storage/record-file.js'
import { rowsInOneFile } from './rows-in-one-file.js'

/**
 * Creates a storage that writes every output shape to the given files.
 *
 * @example createStorage({ ...bucketFiles, openSession: memorySession })
 */
export const createStorage = (files: FileStore): Storage => ({
  stored: {
    exists: files.exists,
    tail: files.tail,
    text: (file) => files.read(file).pipe(map((bytes) => bytes && asBuffer(bytes).toString())),
    document: (file) => readStoredDocument(files, file),
    ...(files.list ? { list: files.list } : {}),
  },
  openSession: files.openSession,
  ...(files.move ? { move: files.move } : {}),
  open: (output, context) => {
    const write: FileStore['write'] = (...args) => files.write(...args).pipe(tap(context.wrote))
    return createSink(output, context, { ...files, write })
  },
  storeDocument: (name, document): Observable<void> =>
    files.write(toStatePath(name), [`${formatJson(document, 2)}\n`]).pipe(map(() => undefined)),
  ...(files.append
    ? { logRun: (entry) => files.append?.(toStatePath(RUN_LOG), formatJson(entry)) ?? EMPTY }
    : {}),
})

const createSink = (output: Output, context: SinkContext, files: FileStore): Sink => {
  switch (output.shape) {
    case 'rows-in-one-file':
      return rowsInOneFile(output, context, files)
    case 'array-per-item':
      return arrayPerItem(output, context, files)
    case 'document-per-item':
      return documentPerItem(output, context, files)
    case 'candles-per-item':
      return candlesPerItem(output, context, files)
    case 'text':
      return textFile(output, context, files)
  }
}

/** A file to write for an item. `write$` emits the size in bytes, or nothing if the file stays unchanged. */
interface ItemFile {
  readonly file: string
  readonly write$: Observable<number>
}

const MAX_CONCURRENT_WRITES = 8

/**
 * Creates a sink that writes at most one file for each item, a few concurrently. Items without a file pass at
 * once.
 */
const filePerItem = (toItemFile: (outcome: ItemOutcome) => ItemFile | undefined): Sink =>
  mergeMap((item: SinkItem): Observable<SinkItem> => {
    const target = toItemFile(item.outcome)
    if (target === undefined) return of(item)
    return target.write$.pipe(
      map((bytes): SinkItem => ({ ...item, files: { ...item.files, [target.file]: bytes } })),
      defaultIfEmpty(item),
    )
  }, MAX_CONCURRENT_WRITES)

/**
 * Writes a file for each item that has rows. An item that was answered without rows, or skipped, keeps its
 * file.
 */
const fileOfRows = (
  output: CandlesPerItem | DocumentPerItem | TextFile,
  { exchange }: SinkContext,
  files: FileStore,
  write: (file: string, outcome: ItemOutcome) => Observable<number>,
): Sink =>
  filePerItem((outcome) => {
    const file = toFilePath(output, exchange, outcome.item)
    if (outcome.status === 'success') return { file, write$: write(file, outcome) }
    if (!isLost(outcome)) files.keep?.(file)
    return undefined
  })

/** Writes the rows of each item, which are lines of text. */
const textFile = (output: TextFile, context: SinkContext, files: FileStore): Sink =>
  fileOfRows(output, context, files, (file, { rows }) =>
    files.write(
      file,
      Array.from(rows, (line) => `${String(line)}\n`),
      context.asOf,
    ),
  )

/**
 * Appends the new candles of each item to the stored ones that are older than the first new candle. A whole
 * history replaces all stored candles. The file is rewritten atomically.
 */
const candlesPerItem = (output: CandlesPerItem, context: SinkContext, files: FileStore): Sink =>
  fileOfRows(output, context, files, (file, { rows, whole }) => {
    const candles = rows as Candles
    const stored$ = whole ? of(undefined) : files.read(file)
    const format = (stored?: Uint8Array) =>
      stored === undefined ? formatCandleFile(candles) : formatAppended(stored, candles)
    return stored$.pipe(switchMap((stored) => files.write(file, format(stored), context.asOf, stored)))
  })

/** A JSON array with one record per line. */
const formatArray = (rows: readonly unknown[]): string =>
  rows.length === 0 ? '[]\n' : `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`

/**
 * Writes the records of each answered item as one JSON array. A failed item does not change the earlier file.
 */
const arrayPerItem = (
  { select, emptyWhenLost = false, keepsWhenEmpty = false, omitsEmpty = false, ...output }: ArrayPerItem,
  { stream, exchange, asOf }: SinkContext,
  files: FileStore,
): Sink =>
  filePerItem((outcome) => {
    if (
      (!isAnswered(outcome) && !(emptyWhenLost && isLost(outcome))) ||
      (omitsEmpty && outcome.status === 'empty')
    )
      return undefined
    const file = toFilePath(output, exchange, outcome.item)
    const rows = [...outcome.rows] as readonly Row[]
    const write$ = files.write(
      file,
      [formatArray(select ? runNamed(`select of ${stream}`, outcome.item.key, () => select(rows)) : rows)],
      asOf,
    )
    const keepsEarlier = isLost(outcome) || (keepsWhenEmpty && outcome.status === 'empty')
    if (!keepsEarlier) return { file, write$ }
    const ifMissing$ = files.exists(file).pipe(
      filter((exists) => !exists),
      switchMap(() => write$),
    )
    return { file, write$: ifMissing$ }
  })

/**
 * Writes one JSON document for each item that has rows, as soon as the item is finished. Buffers nothing. An
 * item without rows keeps the file of an earlier run, and one with much fewer is merged with it; if these are
 * many at once, the answers are wrong, and the stream ends as partial.
 */
const documentPerItem = (output: DocumentPerItem, context: SinkContext, files: FileStore): Sink => {
  const { stream, exchange, asOf, accepts, refuse } = context
  const write = fileOfRows(output, context, files, (file, { item, rows }) => {
    const document = runNamed(`document of ${stream}`, item.key, () =>
      output.document([...rows] as readonly Row[], item),
    )
    return files.write(file, [`${JSON.stringify(document)}\n`], asOf)
  })
  return (item$) =>
    defer(() => {
      const empty: string[] = []
      let [written, merged] = [0, 0]
      const countedItem$ = item$.pipe(
        tap(({ outcome: { item, status, remark } }) => {
          if (remark?.startsWith(MERGED)) merged += 1
          if (status === 'success') written += 1
          else if (status === 'empty') empty.push(toFilePath(output, exchange, item))
        }),
      )
      const check$ = defer(() =>
        empty.length + merged < thresholds.emptied.least ? EMPTY : countExisting(empty, files),
      ).pipe(
        tap((emptied) => {
          const lacking = emptied + merged
          if (!areTooManyEmpty(lacking, emptied + written) || accepts('shrink')) return
          refuse(
            'shrink',
            `${formatPart(lacking, emptied + written, 'item')} with a file answered nothing or much less: their records stay`,
          )
        }),
        ignoreElements(),
      )
      return write(concat(countedItem$, check$))
    })
}

const countExisting = (names: readonly string[], files: FileStore): Observable<number> =>
  from(names).pipe(
    mergeMap((name) => files.exists(name), 8),
    filter((exists) => exists),
    count(),
  )
