import type { Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { TableFacts } from '../model/table.js'

/**
 * An output of a stream, as data; a sink writes it. In `file`, `{exch}` is the exchange in lower case, and any other placeholder is the
 * file name of the item, as in the interface document.
 */
export type Output = RowsInOneFile | ArrayPerItem | DocumentPerItem | CandlesPerItem | TextFile

interface Tabular {
  /** The SQL tables over its files, for queries and exports. `{SYMBOL}` in `file` is a stock, `{INDEX}` an index. */
  readonly tables?: readonly TableFacts[] | undefined
}

interface Records extends Tabular {
  /** Whether each session changes it, as it does the values of indices. */
  readonly changesDaily?: boolean | undefined
  /** The key of its records with a day on which the market traded, such as the date of a deal: it shows that this day had a session. */
  readonly tradedOn?: string | undefined
}

/**
 * The rows of all stocks in one JSON array, one record per line, in the order of the master list. Each record has the `ISIN` of its
 * stock: records of listed stocks that this run did not request, or that failed, are carried over from the previous file.
 */
export interface RowsInOneFile extends Records {
  readonly shape: 'rows-in-one-file'
  readonly file: string
  /** Sorts all records; without it, they are in the order of the master list. */
  readonly sortBy?: SortOrder | undefined
}

/** A sort key of records, greatest first unless `direction` says otherwise. A number is less than any text. */
export interface SortOrder {
  readonly key: (row: Row) => string | number
  readonly direction?: 'ascending' | 'descending' | undefined
}

/** A JSON array for each item, one record per line. An empty array is written too; it replaces the stored file unless `keepsWhenEmpty`. */
export interface ArrayPerItem extends Records {
  readonly shape: 'array-per-item'
  readonly file: string
  /** Converts the rows of the item to the records of the file. */
  readonly select?: ((rows: readonly Row[]) => readonly unknown[]) | undefined
  /** Write `[]` if the item failed and no file is stored. */
  readonly emptyWhenLost?: boolean | undefined
  /** An answer without records does not replace the stored file: a market cannot lose all its records in a day. */
  readonly keepsWhenEmpty?: boolean | undefined
}

/** One JSON document for each item that has rows. */
export interface DocumentPerItem extends Tabular {
  readonly shape: 'document-per-item'
  readonly file: string
  readonly document: (rows: readonly Row[], item: Item) => unknown
}

/** A CSV file of candles per item, ascending by timestamp. New candles replace the stored ones from the first new timestamp on. */
export interface CandlesPerItem extends Tabular {
  readonly shape: 'candles-per-item'
  readonly file: string
}

/** Lines of text, each with `\n` at its end. */
export interface TextFile extends Tabular {
  readonly shape: 'text'
  readonly file: string
}

/** The file of an item, relative to the output folder. */
export const toFilePath = (output: Pick<Output, 'file'>, exchange: string, item: Pick<Item, 'fileName'>): string =>
  output.file.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'exch' ? exchange.toLowerCase() : item.fileName))
