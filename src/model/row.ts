import { z } from 'zod'

/** A record as the provider answered it: its fields, known or not, in its order. */
export type Row = Readonly<Record<string, unknown>>

/** Whether a value is a record: an object that is no list. */
export const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checks that it is a record and hands on the very same one. */
export const Row = z.custom<Row>(isRow, 'is not a record')

/**
 * A list of records, itself where no null is in it: to check each with a schema of its own would take as long as to parse them. No
 * `transform`: it makes a function for each answer that outlives many collections of young memory, and the answer with it.
 */
const List = z
  .custom<readonly Row[]>(Array.isArray, { error: 'is not a list', abort: true })
  .check(({ value, issues }) => {
    const wrong = value.findIndex((row) => row !== null && !isRow(row))
    if (wrong >= 0) issues.push({ code: 'custom', input: value, path: [wrong], message: 'is not a record' })
  })
  .overwrite((rows) => (rows.includes(null as never) ? rows.filter((row) => row !== null) : rows))

/** The envelope of nearly every call. `data` may be null, which is an empty list, but not missing: then it is no answer. Other fields pass. */
export const Rows = z.looseObject({ data: List.nullable() })

/** The envelope of a call that may leave `data` out. */
export const MaybeRows = z.looseObject({ data: List.nullish() })

/** A field as text, empty if it is absent or no text. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
