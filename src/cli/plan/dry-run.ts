import { asapScheduler, catchError, concat, defer, EMPTY, ignoreElements, type Observable, of, switchMap, throwError, timer } from 'rxjs'
import type { AnyEndpoint } from '../../http/endpoint.js'
import { type CollectError, HttpError, isItemError, NothingAnsweredError } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import { toFilePath } from '../../pipeline/output.js'

/** A request that an item's work would send. Requests of one round are sent at the same time, each round after the one before. */
export interface DryRequest {
  readonly endpoint: AnyEndpoint
  readonly round: number
}

/** How every request of a dry run fails: with no answer, so that all fallbacks are tried, or with 404. */
export type FailureMode = 'nothing' | 'missing'

/** Created once: stack traces for many thousand requests take half a second. */
const FAILURES: Readonly<Record<FailureMode, CollectError>> = { nothing: new NothingAnsweredError('not sent'), missing: new HttpError(404) }

/**
 * Runs the work of an item with an `ask` that sends nothing and fails every request; emits the requests. Stored data is read as in a run.
 * Errors like the storage, and on bugs.
 */
export const dryRun = (
  stream: StreamDefinition,
  item: Item,
  { tools, mode }: { readonly tools: Omit<Tools, 'ask'>; readonly mode: FailureMode },
): Observable<readonly DryRequest[]> =>
  defer(() => {
    const requests: DryRequest[] = []
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
    const file = toFilePath(stream.outputs[0], tools.settings.exchange, item)
    const work$ = defer(() => stream.work.each(item, { ...tools, ask: ask as Tools['ask'] }, file)).pipe(
      ignoreElements(),
      catchError((error: unknown) => (isItemError(error) ? EMPTY : throwError(() => error))),
    )
    return concat(work$, of(requests))
  })
