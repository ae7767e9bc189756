import { asapScheduler, catchError, concat, defer, EMPTY, ignoreElements, type Observable, of, switchMap, throwError, timer } from 'rxjs'
import { type CollectError, HttpError, isLoss, NothingAnswered } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import { fileOf } from '../../pipeline/output.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'

/** A request that an item's work would make. Requests of one round are made at the same time, each round after the one before. */
export interface Asked {
  readonly endpoint: AnyEndpoint
  readonly round: number
}

/** How every request of a probe fails: with nothing had, so that all there is to ask is asked, or because it is not there. */
export type Failing = 'nothing' | 'missing'

/** Made once: a trace for each of many thousand requests takes half a second. */
const FAILURES: Readonly<Record<Failing, CollectError>> = { nothing: new NothingAnswered('not asked'), missing: new HttpError(404) }

/**
 * Begins the work of an item with an `ask` that sends nothing and lets every request fail; emits what would have been asked. What is
 * stored is read as in a run. Errors as storage does, and with bugs.
 */
export const probe = (
  stream: StreamDefinition,
  item: Item,
  { tools, failing }: { readonly tools: Omit<Tools, 'ask'>; readonly failing: Failing },
): Observable<readonly Asked[]> =>
  defer(() => {
    const asked: Asked[] = []
    let round = 0
    const ask = (endpoint: AnyEndpoint): Observable<never> =>
      defer(() => {
        const own = round
        asked.push({ endpoint, round: own })
        // Not in the same turn: what is asked at the same time is told from what is asked because of a failure.
        return timer(0, asapScheduler).pipe(
          switchMap(() => {
            round = Math.max(round, own + 1)
            return throwError(() => FAILURES[failing])
          }),
        )
      })
    const file = fileOf(stream.outputs[0], tools.settings.exchange, item)
    const work$ = defer(() => stream.work.each(item, { ...tools, ask: ask as Tools['ask'] }, file)).pipe(
      ignoreElements(),
      catchError((error: unknown) => (isLoss(error) ? EMPTY : throwError(() => error))),
    )
    return concat(work$, of(asked))
  })
