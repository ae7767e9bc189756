import type { Observable } from 'rxjs'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { SortOrder } from './output.js'

/** An item on its way through the sinks: its outcome, and the files written for it so far, each with its size in bytes. */
export interface StoredItem {
  readonly settled: ItemOutcome
  readonly files: Readonly<Record<string, number>>
}

/** The properties of a stream that its journal depends on. */
export interface JournalFacts {
  readonly stream: string
  /** Whether lines contain the rows: if the output is one file for all items, or other streams need the rows. */
  readonly carriesRows: boolean
  /** Whether `findStored` returns the rows: if other streams depend on this one. */
  readonly offersRows: boolean
  readonly sortBy?: SortOrder
}

/**
 * The stored items of a stream. A line is written only after the data of its item is on disk, so that an unfinished run can resume. If
 * the output is one file for all items, the journal also holds its records until the stream ends.
 */
export interface Journal {
  /** The stored item of an unfinished run. */
  readonly findStored: (item: Item) => StoredItem | undefined
  /** Writes an item, and emits it once its line is written. A resumed run repeats items that were lost or may lack rows. */
  readonly note: (kept: StoredItem) => Observable<StoredItem>
  /** Carries a record of the previous file over to the new one. Emits once it is written. */
  readonly carry: (rank: number, record: Row) => Observable<void>
  /**
   * The noted and carried records as JSON text or its bytes, in the order of the output file, separated by a comma and a line end. A later
   * note replaces the earlier records of an item. Call it once: it releases the records, so that a stream that has ended holds no memory.
   */
  readonly takeRecords: () => Iterable<string | Uint8Array>
}
