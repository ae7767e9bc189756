import { defaultIfEmpty, map, mergeMap, type Observable, of } from 'rxjs'
import type { Settled } from '../src/model/outcome.js'
import type { Kept } from '../src/pipeline/journal.js'
import type { Sink } from '../src/pipeline/storage.js'

/** A file to write for an item. The write emits its bytes, or nothing if the file was to stay as it is. */
export interface Placing {
  readonly file: string
  readonly write$: Observable<number>
}

const WRITES_AT_ONCE = 8

/** A sink that writes at most one file for each item, a few at a time; items without any pass at once. */
export const placing = (placeOf: (settled: Settled) => Placing | undefined): Sink =>
  mergeMap((kept: Kept): Observable<Kept> => {
    const place = placeOf(kept.settled)
    if (place === undefined) return of(kept)
    return place.write$.pipe(
      map((bytes): Kept => ({ ...kept, files: { ...kept.files, [place.file]: bytes } })),
      defaultIfEmpty(kept),
    )
  }, WRITES_AT_ONCE)
