import { defaultIfEmpty, map, mergeMap, type Observable, of } from 'rxjs'
import type { ItemOutcome } from '../model/outcome.js'
import type { StoredItem } from '../pipeline/journal.js'
import type { Sink } from '../pipeline/storage.js'

/** A file to write for an item. `write$` emits the size in bytes, or nothing if the file stays unchanged. */
export interface ItemFile {
  readonly file: string
  readonly write$: Observable<number>
}

const MAX_CONCURRENT_WRITES = 8

/** Creates a sink that writes at most one file for each item, a few concurrently. Items without a file pass at once. */
export const filePerItem = (toItemFile: (settled: ItemOutcome) => ItemFile | undefined): Sink =>
  mergeMap((item: StoredItem): Observable<StoredItem> => {
    const target = toItemFile(item.settled)
    if (target === undefined) return of(item)
    return target.write$.pipe(
      map((bytes): StoredItem => ({ ...item, files: { ...item.files, [target.file]: bytes } })),
      defaultIfEmpty(item),
    )
  }, MAX_CONCURRENT_WRITES)
