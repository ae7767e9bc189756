import { concatMap, from, map, mergeMap, type Observable, type OperatorFunction, of, tap, toArray } from 'rxjs'
import type { Item, ItemOutcome } from '../model/outcome.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { RunContext } from './engine.js'
import type { PlannedStream } from './plan.js'
import { warnAboutStorage } from './warnings.js'
import { MASTER } from './work.js'

/** Emits once when the run may store. From then on the storage is no longer as the previous run left it. */
export const commitSession = (plan: readonly PlannedStream[], { session, emit }: RunContext): Observable<void> =>
  (session.commit?.() ?? of(undefined)).pipe(
    tap((warn) => warnAboutStorage(plan, warn, emit)),
    map(() => undefined),
  )

/**
 * Stores the master list after `narrow` has selected the stocks of the run. If the list is unavailable or no symbol is known, the storage
 * stays unchanged.
 */
export const commitMaster =
  (plan: readonly PlannedStream[], narrow: (all: readonly Item[]) => readonly Item[], run: RunContext) =>
  (store: OperatorFunction<ItemOutcome, number>): OperatorFunction<ItemOutcome, number> =>
  (settled$) => {
    const offered$: Observable<readonly Item[]> = run.offered.get(MASTER) ?? of([])
    const mayStore$ = offered$.pipe(
      tap((all) => run.emit({ type: 'master-read', stocks: narrow(all).length })),
      concatMap(() => commitSession(plan, run)),
      map(() => true),
      catchItemFailure(() => of(false)),
    )
    return settled$.pipe(
      toArray(),
      mergeMap((all) => mayStore$.pipe(mergeMap((mayStore) => (mayStore ? from(all).pipe(store) : of(0))))),
    )
  }
