import type { Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'

/**
 * What a stream leaves behind, as plain facts; a sink knows how to write it. In `file`, `{exch}` is the exchange in lower case and
 * any other placeholder the item's file name, so that the text reads as in the interface document.
 */
export type Output = RowsInOneFile | ArrayPerItem | DocumentPerItem | CandlesPerItem | TextFile

/**
 * The rows of all stocks in one JSON array, one record per line, in the order of the master list. Each record carries its stock's
 * `ISIN`: records of listed stocks that this run did not ask for, or that failed, are kept from the earlier file.
 */
export interface RowsInOneFile {
  readonly shape: 'rows-in-one-file'
  readonly file: string
  /** Sorts all records by this text first, greatest first. */
  readonly newestBy?: (row: Row) => string
}

/** A JSON array for each item, one record per line; an empty one is written too, over an earlier file unless that is kept. */
export interface ArrayPerItem {
  readonly shape: 'array-per-item'
  readonly file: string
  /** Turns the item's rows into the file's records. */
  readonly select?: (rows: readonly Row[]) => readonly unknown[]
  /** Leave `[]` where the item failed and no earlier file exists. */
  readonly emptyWhenLost?: boolean
  /** An answer without records leaves the earlier file as it is: a market that had some yesterday has not lost them all. */
  readonly keepsWhenEmpty?: boolean
}

/** One JSON document for each item that has rows. */
export interface DocumentPerItem {
  readonly shape: 'document-per-item'
  readonly file: string
  readonly document: (rows: readonly Row[], item: Item) => unknown
}

/** A CSV of rows led by an ascending timestamp. New rows replace the stored ones from the first new timestamp on. */
export interface CandlesPerItem {
  readonly shape: 'candles-per-item'
  readonly file: string
  readonly columns: readonly string[]
}

/** Lines of text, each ended by `\n`. */
export interface TextFile {
  readonly shape: 'text'
  readonly file: string
}

/** The file of an item, relative to the output folder. */
export const fileOf = (output: Pick<Output, 'file'>, exchange: string, item: Pick<Item, 'fileName'>): string =>
  output.file.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'exch' ? exchange.toLowerCase() : item.fileName))
