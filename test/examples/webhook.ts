import { catchError, concatMap, map, type Observable, of, throwError } from 'rxjs'
import { fromFetch } from 'rxjs/fetch'
import { StorageError } from 'scripstream'
import { type Kept, memory, type Output, type SinkContext, type Storage } from 'scripstream/sinks'

/** Sends a text somewhere; completes when it has arrived, errors when it has not. */
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
 * Outputs go to a webhook, `{ file, item, rows }` for each item that has rows, one after the other. A stream takes up new items only as
 * these are taken, so a slow hook slows the run and does not fill the memory. What cannot be posted ends the run: nothing is lost silently.
 */
export const webhook = (post: Post): Storage => {
  const sink = (output: Output, { wrote }: SinkContext) =>
    concatMap((kept: Kept): Observable<Kept> => {
      const { item, status, rows } = kept.settled
      if (status !== 'success') return of(kept)
      const text = JSON.stringify({ file: output.file, item: item.key, rows: [...rows] })
      return post(text).pipe(
        catchError(({ message }: Error) => throwError(() => new StorageError(`${item.key} cannot be posted: ${message}`))),
        map(() => {
          wrote(text.length)
          return kept
        }),
      )
    })
  // What a storage does besides, reading what an earlier run left and keeping the report, is that of the memory here.
  return { ...memory(), open: sink }
}
