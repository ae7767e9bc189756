import { forkJoin, type Observable, of, single } from 'rxjs'

/**
 * Emits every branch's one value once all have ended. No branches at all are an empty list. A branch that ends without a value, or
 * with two, is an error instead of the silent end that `forkJoin` would make of it.
 */
export const barrier = <T>(branches: readonly Observable<T>[]): Observable<readonly T[]> =>
  branches.length === 0 ? of([]) : forkJoin(branches.map((branch) => branch.pipe(single())))
