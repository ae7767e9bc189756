import { forkJoin, type Observable, of, single } from 'rxjs'

/**
 * Emits the values of all branches once all have completed; an empty list without branches. Errors if a branch completes without a value
 * or emits two: `forkJoin` alone would complete silently on an empty branch.
 *
 * @example barrier([first$, second$]).subscribe(([first, second]) => console.log(first, second))
 */
export const barrier = <T>(branches: readonly Observable<T>[]): Observable<readonly T[]> =>
  branches.length === 0 ? of([]) : forkJoin(branches.map((branch) => branch.pipe(single())))
