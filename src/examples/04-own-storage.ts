/** A storage of your own: outputs are posted to a webhook, with back-pressure. */
import { catchError, concatMap, map, type Observable, of, throwError } from 'rxjs'
import { fromFetch } from 'rxjs/fetch'
import type { Output } from 'scripstream/define'
import { StorageError } from 'scripstream/errors'
import { memory, type SinkContext, type SinkItem, type Storage } from 'scripstream/sinks'

/** Sends a text; completes when it has arrived, errors otherwise. */
export type Post = (text: string) => Observable<unknown>

/** Posts to an address. Anything but a 2xx is an error; unsubscribing aborts. */
export const postTo =
  (url: string): Post =>
  (text) =>
    fromFetch(url, { method: 'POST', body: text, headers: { 'content-type': 'application/json' } }).pipe(
      map(({ ok, status }) => {
        if (!ok) throw new Error(`${url} answered ${status}`)
      }),
    )

/**
 * Posts outputs to a webhook, `{ file, item, rows }` for each item with rows, one after the other. A slow
 * hook slows the stream down, so the memory does not fill up. A failed post ends the run, so that no rows are
 * lost silently.
 */
export const webhook = (post: Post): Storage => {
  const sink = (output: Output, { wrote }: SinkContext) =>
    concatMap((finished: SinkItem): Observable<SinkItem> => {
      const { item, status, rows } = finished.outcome
      if (status !== 'success') return of(finished)
      const text = JSON.stringify({ file: output.file, item: item.key, rows: [...rows] })
      return post(text).pipe(
        catchError(({ message }: Error) =>
          throwError(() => new StorageError(`${item.key} cannot be posted: ${message}`)),
        ),
        map(() => {
          wrote(text.length)
          return finished
        }),
      )
    })
  // The rest of the storage (earlier outputs, the report) is in memory.
  return { ...memory(), open: sink }
}
