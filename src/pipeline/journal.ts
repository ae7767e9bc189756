import type { Observable } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import type { Row } from '../model/row.js'

/** An item on its way through the sinks: what was settled, and the files that hold it by now, each with its size in bytes. */
export interface Kept {
  readonly settled: Settled
  readonly files: Readonly<Record<string, number>>
}

/** What a journal must know of its stream. */
export interface JournalFacts {
  readonly stream: string
  /** Whether the lines carry the rows: where the output is one file for all items. */
  readonly carriesRows: boolean
  /** Whether the rows of an earlier line are handed back: where other streams follow this one. */
  readonly offersRows: boolean
  /** What records are sorted by first, greatest first. */
  readonly newestBy?: (row: Row) => string
}

/**
 * What a stream has in place, item by item: a line is written only when the data is safe, so an unfinished run can go on where it
 * stopped. Where the output is one file, the journal is also where its records lie until the end.
 */
export interface Journal {
  /** What an unfinished run had in place of an item. */
  readonly earlier: (item: Item) => Kept | undefined
  /** Notes an item; what was lost, or may lack rows, is not held to be in place. Emits the same item once its line is written. */
  readonly note: (kept: Kept) => Observable<Kept>
  /** Adds a record of an earlier file to those that go into the new one. Emits once it is written. */
  readonly carry: (rank: number, record: Row) => Observable<void>
  /**
   * The noted and carried records as JSON texts, or the bytes of such, in the order of the output file, with a comma and a line end between
   * two, in parts of any size, of which one of 1 MiB or more only holds until the next is asked for; those of a later note replace an
   * item's earlier ones. To be taken once: where they lie is forgotten, so that a stream which has ended holds nothing.
   */
  readonly takeRecords: () => Iterable<string | Uint8Array>
}
