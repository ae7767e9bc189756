import { defaultIfEmpty, map, mergeMap, type Observable, of } from 'rxjs'
import type { Settled } from '../src/model/outcome.js'
import type { Kept } from '../src/pipeline/journal.js'
import type { Sink } from '../src/pipeline/storage.js'

/** A file to write for an item. `write$` emits the size in bytes, or nothing if the file stays unchanged. */
export interface Placing {
  readonly file: string
  readonly write$: Observable<number>
}

const WRITES_AT_ONCE = 8

/** Creates a sink that writes at most one file for each item, a few concurrently. Items without a file pass at once. */
export const placing = (placeOf: (settled: Settled) => Placing | undefined): Sink =>
  mergeMap((item: Kept): Observable<Kept> => {
    const target = placeOf(item.settled)
    if (target === undefined) return of(item)
    return target.write$.pipe(
      map((bytes): Kept => ({ ...item, files: { ...item.files, [target.file]: bytes } })),
      defaultIfEmpty(item),
    )
  }, WRITES_AT_ONCE)
