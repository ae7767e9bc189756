/**
 * The same job twice, the news of many stocks: by hand on plain RxJS, and with the operators.
 * `src/operators/README.md` compares them.
 */
import { catchError, from, map, mergeMap, type Observable, of, retry, timeout, timer } from 'rxjs'
import { BadAnswerError, HttpError, ThrottledError } from 'scripstream/errors'
import {
  catchItemFailure,
  createLimiter,
  deadline,
  parseRetryAfter,
  retryFailures,
} from 'scripstream/operators'

/** What came back. */
export interface Reply {
  readonly status: number
  readonly retryAfter?: string
  readonly text: string
}
/** The news of a stock, or why they are missing. */
export type News = { readonly symbol: string } & (
  | { readonly titles: readonly string[] }
  | { readonly reason: string }
)
/** Sends the request for a stock; unsubscribing aborts it. */
export type Send = (symbol: string) => Observable<Reply>
/** Reads the titles of an answer; throws if it is not one. */
export type Read = (text: string) => readonly string[]

/**
 * By hand. Every error is retried, also a 404 and a bug; `Retry-After` is not read; a bug of the app looks
 * like a missing stock.
 */
export const newsByHand = (symbols: readonly string[], send: Send, read: Read): Observable<News> =>
  from(symbols).pipe(
    mergeMap(
      (symbol) =>
        send(symbol).pipe(
          timeout(10_000),
          map(({ status, text }) => {
            if (status !== 200) throw new Error(`status ${status}`)
            return { symbol, titles: read(text) }
          }),
          retry({ count: 3, delay: (_, attempt) => timer(500 * 2 ** attempt) }),
          catchError((error: Error) => of({ symbol, reason: error.message })),
        ),
      15,
    ),
  )

/**
 * With the operators: the class of an error says what happens, also of `fetch` and undici. After a 429 all
 * that share the limiter wait.
 */
export const newsByOperators = (
  symbols: readonly string[],
  send: Send,
  read: Read,
  host = createLimiter(),
): Observable<News> =>
  from(symbols).pipe(
    mergeMap(
      (symbol) =>
        send(symbol).pipe(
          deadline({ idleMs: 10_000 }),
          map(({ status, retryAfter, text }) => {
            if (status === 429) throw new ThrottledError(parseRetryAfter(retryAfter, Date.now()))
            if (status !== 200) throw new HttpError(status)
            if (text === '') throw new BadAnswerError('empty', 'no body')
            return { symbol, titles: read(text) }
          }),
          host.through(),
          retryFailures(),
          catchItemFailure((reason) => of({ symbol, reason })),
        ),
      15,
    ),
  )
