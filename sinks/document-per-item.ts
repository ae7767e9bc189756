import {
  concat,
  count,
  defer,
  EMPTY,
  filter,
  from,
  ignoreElements,
  type MonoTypeOperatorFunction,
  mergeMap,
  type Observable,
  tap,
} from 'rxjs'
import { areTooManyEmpty, thresholds } from '../src/market/refusal-policy.js'
import { runNamed } from '../src/model/errors.js'
import type { Row } from '../src/model/row.js'
import { type DocumentPerItem, toFilePath } from '../src/pipeline/output.js'
import type { SinkItem } from '../src/pipeline/session.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { FileStore } from '../src/storage/file-store.js'
import { filePerItem } from '../src/storage/file-store.js'

/**
 * Writes one JSON document for each item that has rows, as soon as the item is finished. Buffers nothing. An item without rows keeps the
 * file of an earlier run; if these are many at once, the answers are wrong, and the stream ends as partial.
 */
export const documentPerItem = (output: DocumentPerItem, context: SinkContext, files: FileStore): Sink => {
  const { stream, exchange, asOf } = context
  const write = filePerItem(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const document = runNamed(`document of ${stream}`, item.key, () => output.document([...rows] as readonly Row[], item))
    return { file, write$: files.write(file, [`${JSON.stringify(document)}\n`], asOf) }
  })
  return (item$) => write(item$.pipe(rejectManyEmpty(output, context, files)))
}

/** Counts the items that answer nothing although they have a file, and refuses them at the end if they are too many. */
const rejectManyEmpty = (output: DocumentPerItem, context: SinkContext, files: FileStore): MonoTypeOperatorFunction<SinkItem> => {
  const { exchange, accepts, refuse } = context
  return (item$) =>
    defer(() => {
      const empty: string[] = []
      let written = 0
      const add = ({ outcome: { item, status } }: SinkItem): void => {
        if (status === 'success') written += 1
        else if (status === 'empty') empty.push(toFilePath(output, exchange, item))
      }
      const judge = (emptied: number): void => {
        if (!areTooManyEmpty(emptied, emptied + written) || accepts('shrink')) return
        refuse('shrink', `${emptied} of ${emptied + written} items with a file answered nothing: their files stay as they are`)
      }
      const check$ = defer(() => (empty.length < thresholds.emptied.least ? EMPTY : countExisting(empty, files))).pipe(
        tap(judge),
        ignoreElements(),
      )
      return concat(item$.pipe(tap(add)), check$)
    })
}

const countExisting = (names: readonly string[], files: FileStore): Observable<number> =>
  from(names).pipe(
    mergeMap((name) => files.exists(name), 8),
    filter((exists) => exists),
    count(),
  )
