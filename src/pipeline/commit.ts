import { concatMap, from, map, mergeMap, type Observable, type OperatorFunction, of, tap, toArray } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import { recover } from '../operators/recover.js'
import type { RunAtWork } from './engine.js'
import { tellOfStorage } from './notices.js'
import type { Planned } from './plan.js'
import { MASTER } from './work.js'

/** Emits once when the run may store. From then on the storage is no longer as the previous run left it. */
export const committed = (plan: readonly Planned[], { session, emit }: RunAtWork): Observable<void> =>
  (session.commit?.() ?? of(undefined)).pipe(
    tap((notice) => tellOfStorage(plan, notice, emit)),
    map(() => undefined),
  )

/**
 * Stores the master list after `narrow` has selected the stocks of the run. If the list is unavailable or no symbol is known, the storage
 * stays unchanged.
 */
export const commitMaster =
  (plan: readonly Planned[], narrow: (all: readonly Item[]) => readonly Item[], run: RunAtWork) =>
  (store: OperatorFunction<Settled, number>): OperatorFunction<Settled, number> =>
  (settled$) => {
    const offered$: Observable<readonly Item[]> = run.offered.get(MASTER) ?? of([])
    const mayStore$ = offered$.pipe(
      tap((all) => run.emit({ type: 'master-read', stocks: narrow(all).length })),
      concatMap(() => committed(plan, run)),
      map(() => true),
      recover(() => of(false)),
    )
    return settled$.pipe(
      toArray(),
      mergeMap((all) => mayStore$.pipe(mergeMap((mayStore) => (mayStore ? from(all).pipe(store) : of(0))))),
    )
  }
