import type { Table } from './table.js'
import type { MarketCalendar } from './trading-day.js'

/** A table whose files belong to the history as a whole: lists over all items, or of one part of the work. */
export interface RecordedTable {
  readonly stream: string
  /** The paths of its files have the exchange, and no other placeholder. */
  readonly table: Table
  /**
   * Whether each session changes it: on a day on which nothing has changed in such a table, there was no
   * session.
   */
  readonly changesDaily: boolean
  /** Whether a run of some stocks updates only a part of it. */
  readonly isPerItem: boolean
  /** Whether it is of the run's `asOf`; any other file is of the day on which it was fetched. */
  readonly followsAsOf: boolean
}

/** Files of items, of whose records the history keeps when they appeared. */
export interface RecordedDocuments {
  /** Relative to the output folder, with `*` for the name of an item. */
  readonly pattern: string
  /** The keys of a document that contain records. */
  readonly lists: readonly string[]
  /** The keys of a record whose texts identify it in its file. */
  readonly identity: readonly string[]
}

/** What shows in an output folder on which days the market traded. */
export interface SessionEvidence {
  /** The streams that fetch it. */
  readonly streams: readonly string[]
  /** Candle files, relative to the output folder, with `*` for the name of an item; indices before stocks. */
  readonly candles: readonly string[]
  /** Arrays of records with a key whose day was a session. */
  readonly trades: readonly { readonly pattern: string; readonly key: string }[]
  /** Files of sessions, with `*` for the day. */
  readonly days: readonly string[]
}

/** What the history keeps of a run. */
export interface HistoryRequest {
  /** The tables of all streams, also of those that do not run. */
  readonly tables: readonly RecordedTable[]
  readonly documents: readonly RecordedDocuments[]
  /**
   * Whether files that do not follow `asOf` are recorded as of another session, too, marked as late
   * (`RunOptions.recordLate`).
   */
  readonly isLateAllowed: boolean
  readonly calendar: MarketCalendar
  /** Whether the data is simulated: the market's "now" is `asOf` then, and every file follows it. */
  readonly isSimulated: boolean
  readonly evidence: SessionEvidence
}
