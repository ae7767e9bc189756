export type SqlType = 'VARCHAR' | 'DOUBLE' | 'BIGINT' | 'DATE' | 'TIMESTAMP' | 'JSON'

/** Turns the SQL of a text into that of the column's value; for texts that a cast alone does not read. */
export type Reading = (text: string) => string

export interface Column {
  readonly name: string
  readonly type: SqlType
  /** What it holds: unit, time zone, where it is empty. */
  readonly comment: string
  readonly from: Source
  readonly reading?: Reading
}

/**
 * Where a value stands: under one of these keys of the row (a text that begins with `$` is a whole JSON path) or of the document around
 * it; what names the item that the file is about; or what the file's name says of all its rows.
 */
export type Source =
  | { readonly row: readonly string[] }
  | { readonly document: readonly string[] }
  | { readonly file: 'symbol' | 'sid' | 'label' }

/** Files of a table, by their path below the output folder: `{exch}` stands for an exchange, `{item}` for the file name of an item. */
export interface Files {
  readonly path: string
  /** What is said of all rows of these files. */
  readonly label?: string
}

/** One table of the data, as plain facts: `view.ts` makes SQL of it, the sinks what a database wants. */
export interface Table {
  readonly name: string
  /** What a row is. */
  readonly comment: string
  /** How the files are read: a JSON array, one JSON document, CSV with any header, or CSV of candles. */
  readonly shape: 'array' | 'document' | 'csv' | 'candles'
  readonly files: readonly Files[]
  /** Where each record holds its rows in lists of its own: the keys of these lists. */
  readonly lists?: readonly string[]
  /** Keys of the records that another table shows. */
  readonly elsewhere?: readonly string[]
  /** Which list names the items of the files. */
  readonly items?: 'stocks' | 'indices'
  readonly columns: readonly Column[]
  /** Columns that name a row; of several rows with one name the last in the file's order counts. */
  readonly key?: readonly string[]
}

type Field = (name: string, from: string | Source, comment: string, reading?: Reading) => Column

const field =
  (type: SqlType): Field =>
  (name, from, comment, reading) => ({
    name,
    type,
    comment,
    from: typeof from === 'string' ? { row: [from] } : from,
    ...(reading === undefined ? {} : { reading }),
  })

export const text = field('VARCHAR')
/** A figure that may have decimals. */
export const figure = field('DOUBLE')
/** A whole number. */
export const whole = field('BIGINT')
export const day = field('DATE')
/** Day and time of day, as a clock in India shows them. */
export const moment = field('TIMESTAMP')
export const json = field('JSON')

/** The column of every table that is read from JSON, so that nothing of an answer is out of reach. */
export const EXTRA = {
  name: 'extra',
  type: 'JSON',
  comment: 'fields that have no column of their own, and values that did not fit theirs; NULL where there are none',
} as const
