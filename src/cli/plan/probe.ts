import { asapScheduler, catchError, concat, defer, EMPTY, ignoreElements, type Observable, of, switchMap, throwError, timer } from 'rxjs'
import { type CollectError, HttpError, isLoss, NothingAnswered } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import { fileOf } from '../../pipeline/output.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'

/** A request that an item's work would send. Requests of one round are sent at the same time, each round after the one before. */
export interface Asked {
  readonly endpoint: AnyEndpoint
  readonly round: number
}

/** How every request of a dry run fails: with no answer, so that all fallbacks are tried, or with 404. */
export type Failing = 'nothing' | 'missing'

/** Created once: stack traces for many thousand requests take half a second. */
const FAILURES: Readonly<Record<Failing, CollectError>> = { nothing: new NothingAnswered('not sent'), missing: new HttpError(404) }

/**
 * Runs the work of an item with an `ask` that sends nothing and fails every request; emits the requests. Stored data is read as in a run.
 * Errors like the storage, and on bugs.
 */
export const probe = (
  stream: StreamDefinition,
  item: Item,
  { tools, mode }: { readonly tools: Omit<Tools, 'ask'>; readonly mode: Failing },
): Observable<readonly Asked[]> =>
  defer(() => {
    const requests: Asked[] = []
    let round = 0
    const ask = (endpoint: AnyEndpoint): Observable<never> =>
      defer(() => {
        const own = round
        requests.push({ endpoint, round: own })
        // Fails asynchronously, so that parallel requests differ from requests that follow a failure.
        return timer(0, asapScheduler).pipe(
          switchMap(() => {
            round = Math.max(round, own + 1)
            return throwError(() => FAILURES[mode])
          }),
        )
      })
    const file = fileOf(stream.outputs[0], tools.settings.exchange, item)
    const work$ = defer(() => stream.work.each(item, { ...tools, ask: ask as Tools['ask'] }, file)).pipe(
      ignoreElements(),
      catchError((error: unknown) => (isLoss(error) ? EMPTY : throwError(() => error))),
    )
    return concat(work$, of(requests))
  })
