import type { z } from 'zod'
import type { ChangeRule } from './change.js'
import { describeField, type FieldDescription } from './field-description.js'
import { omitUndefined } from './row.js'
import type { ColumnDisplay, Possible, SqlType, TableColumn } from './row-schema.js'

/** What an output says about a table over its files. */
export interface TableFacts {
  readonly name: string
  /** What a row is. */
  readonly about: string
  /** Row schemas and further columns, in the order of the columns. */
  readonly columns: readonly (z.ZodObject | TableColumn)[]
  /** If each record contains lists of rows: the keys of these lists. */
  readonly lists?: readonly string[] | undefined
  /** Keys of the records that another table contains. */
  readonly elsewhere?: readonly string[] | undefined
  /** Columns that identify a row; of rows with the same key the last in the file wins. */
  readonly key?: readonly string[] | undefined
  /** Keys of a record whose texts identify it in its file, so that the history knows when it appeared. */
  readonly identity?: readonly string[] | undefined
  /** Which differences between two days are changes. */
  readonly changes?: ChangeRule | undefined
  /** Its position in the list of tables; tables without one come last. */
  readonly position?: number | undefined
}

/**
 * Files of a table, by their path below the output folder. `{exch}` is an exchange, another placeholder the
 * file name of an item.
 */
export interface TableFiles {
  readonly path: string
  /** A value for all rows of these files. */
  readonly label?: string
}

/** The definition of one table. `view.ts` makes SQL of it, the sinks make database tables. */
export interface Table
  extends Pick<TableFacts, 'name' | 'lists' | 'elsewhere' | 'key' | 'identity' | 'changes'> {
  /** What a row is. */
  readonly comment: string
  /** The file format: a JSON array, one JSON document, CSV with any header, or CSV of candles. */
  readonly shape: 'array' | 'document' | 'csv' | 'candles'
  readonly files: readonly TableFiles[]
  /** When those of a session are published, if that is later than the session: `HH:MM` in India. */
  readonly publishedAt?: string
  /** Which list names the items of the files. */
  readonly items?: 'stocks' | 'indices'
  readonly columns: readonly TableColumn[]
  /** Which values the fields of a row can have, by their keys. */
  readonly possible?: Readonly<Record<string, Possible>>
}

/** The columns of a row schema: its fields with the fact `sql`, and what is read from them. */
export const toColumns = (schema: z.ZodObject): readonly TableColumn[] =>
  Object.entries(schema.shape).flatMap(([key, field]) => {
    const description = describeField(field)
    const { facts } = description
    if (facts.sql === undefined) return facts.further ?? []
    const [name, type = toSqlType(description)] = typeof facts.sql === 'string' ? [facts.sql] : facts.sql
    const { about: comment = '', convert, further = [], unit, isChange } = facts
    return [omitUndefined({ name, type, comment, from: { row: [key] }, convert, unit, isChange }), ...further]
  })

/** The same columns, read from the document around the rows. */
export const toDocumentColumns = (schema: z.ZodObject): readonly TableColumn[] =>
  toColumns(schema).map((column) =>
    'row' in column.from ? { ...column, from: { document: column.from.row } } : column,
  )

/** What the fields of a row schema can have, by their keys. */
export const listPossible = (schema: z.ZodObject): Readonly<Record<string, Possible>> =>
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([key, field]) => {
      const { possible } = describeField(field).facts
      return possible === undefined ? [] : [[key, possible]]
    }),
  )

const toSqlType = ({ kinds: [kind], isWhole, facts }: FieldDescription): SqlType => {
  if (facts.format === 'day') return 'DATE'
  if (kind === 'number') return isWhole ? 'BIGINT' : 'DOUBLE'
  return kind === 'list' || kind === 'record' ? 'JSON' : 'VARCHAR'
}

/** The extra column of every table but candles, so that no field of an answer is lost. */
export const EXTRA = {
  name: 'extra',
  type: 'JSON',
  comment:
    'fields without a column of their own, and values that did not fit their column; NULL if there are none',
} as const

export interface ShownColumn {
  readonly name: string
  readonly type: SqlType
  readonly comment: string
}

/** A table, or a view that is computed from tables. */
export interface Columned {
  readonly name: string
  readonly shape: Table['shape'] | 'view'
  readonly columns: readonly (ShownColumn & ColumnDisplay)[]
}

/** All columns of a table, including `extra`. */
export const listColumns = ({ shape, columns }: Columned): readonly ShownColumn[] => [
  ...columns.map(({ name, type, comment }) => ({ name, type, comment })),
  ...(shape === 'candles' || shape === 'view' ? [] : [EXTRA]),
]

export const listColumnNames = (table: Columned): readonly string[] =>
  listColumns(table).map(({ name }) => name)
