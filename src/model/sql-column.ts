/** The types of columns. */
export type SqlType = 'VARCHAR' | 'DOUBLE' | 'BIGINT' | 'DATE' | 'TIMESTAMP' | 'JSON'

/** Converts the SQL of a text to the SQL of the column's value, if a cast alone cannot. */
export type Conversion = (text: string) => string

/** A column of a table. Row schemas yield most of them; one that is not a field of the row is written out. */
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
 * of the file; or the part of the work that wrote the file.
 */
export type ColumnSource =
  | { readonly row: readonly string[] }
  | { readonly document: readonly string[] }
  | { readonly file: 'symbol' | 'sid' | 'label' }
