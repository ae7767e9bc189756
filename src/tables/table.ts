export type SqlType = 'VARCHAR' | 'DOUBLE' | 'BIGINT' | 'DATE' | 'TIMESTAMP' | 'JSON'

/** Converts the SQL of a text to the SQL of the column's value, if a cast alone cannot. */
export type Conversion = (text: string) => string

export interface TableColumn {
  readonly name: string
  readonly type: SqlType
  /** What it contains: unit, time zone, when it is empty. */
  readonly comment: string
  readonly from: ColumnSource
  readonly convert?: Conversion
}

/**
 * Where a value comes from: one of these keys of the row (a text that starts with `$` is a JSON path) or of the document around it; the item
 * of the file; or the label of the file.
 */
export type ColumnSource =
  | { readonly row: readonly string[] }
  | { readonly document: readonly string[] }
  | { readonly file: 'symbol' | 'sid' | 'label' }

/** Files of a table, by their path below the output folder. `{exch}` is an exchange, `{item}` the file name of an item. */
export interface TableFiles {
  readonly path: string
  /** A value for all rows of these files. */
  readonly label?: string
}

/** The definition of one table. `view.ts` makes SQL of it, the sinks make database tables. */
export interface Table {
  readonly name: string
  /** What a row is. */
  readonly comment: string
  /** The file format: a JSON array, one JSON document, CSV with any header, or CSV of candles. */
  readonly shape: 'array' | 'document' | 'csv' | 'candles'
  readonly files: readonly TableFiles[]
  /** If each record contains lists of rows: the keys of these lists. */
  readonly lists?: readonly string[]
  /** Keys of the records that another table contains. */
  readonly elsewhere?: readonly string[]
  /** Which list names the items of the files. */
  readonly items?: 'stocks' | 'indices'
  readonly columns: readonly TableColumn[]
  /** Columns that identify a row; of rows with the same key the last in the file wins. */
  readonly key?: readonly string[]
}

type Field = (name: string, from: string | ColumnSource, comment: string, reading?: Conversion) => TableColumn

const field =
  (type: SqlType): Field =>
  (name, from, comment, reading) => ({
    name,
    type,
    comment,
    from: typeof from === 'string' ? { row: [from] } : from,
    ...(reading === undefined ? {} : { convert: reading }),
  })

export const text = field('VARCHAR')
/** A number that may have decimals. */
export const figure = field('DOUBLE')
/** A whole number. */
export const whole = field('BIGINT')
export const day = field('DATE')
/** Date and time in India. */
export const moment = field('TIMESTAMP')
export const json = field('JSON')

/** The extra column of every table but candles, so that no field of an answer is lost. */
export const EXTRA = {
  name: 'extra',
  type: 'JSON',
  comment: 'fields without a column of their own, and values that did not fit their column; NULL if there are none',
} as const
