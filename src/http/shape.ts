/** `day` is text that starts with a date (`2026-02-12`), `millis` a number of epoch milliseconds. */
export type Kind = 'text' | 'number' | 'flag' | 'list' | 'record' | 'day' | 'millis'

/** A list of records, or one record, with its fields. */
export interface Shape {
  readonly allows: readonly Kind[]
  readonly fields: Fields
}

/**
 * The fields of a record by name: a kind, kinds joined by `|`, or a nested shape. Null is allowed; the kind `key` makes it drift if
 * (nearly) all answers of the run have only null or empty text. A name ending in `?` may be absent. One ending in `~` may be absent from
 * some records, and counts as gone if (nearly) all answers lack it.
 *
 * A further `!` marks a required field, because an output depends on it: an answer is refused if the field is missing from all records, has
 * another type, or (`day`, `millis`) cannot be read. With the kind `key`, null and empty text in all records are refused, too. An optional list or
 * record, `?!` or `~!`, counts as missing only if an unknown field is in its place.
 */
export type Fields = { readonly [name: string]: string | Shape }

export const record = (fields: Fields): Shape => ({ allows: ['record'], fields })
export const rows = (fields: Fields): Shape => ({ allows: ['list'], fields })
export const oneOrMore = (fields: Fields): Shape => ({ allows: ['list', 'record'], fields })

/** The envelope of most endpoints: rows under `data`. */
export const dataEnvelope = (fields: Fields, more: Fields = {}): Shape => createEnvelope({ data: rows(fields), ...more })

/** The envelope of endpoints that may omit `data` if there are no rows. */
export const optionalDataEnvelope = (fields: Fields, more: Fields = {}): Shape => createEnvelope({ 'data~!': rows(fields), ...more })

const createEnvelope = (fields: Fields): Shape => record({ 'code?': 'number', 'status?': 'text|number', 'tot_rec?': 'number', ...fields })

/** Receives the parsed answer for the drift check; throws if the answer must be refused. */
export type AnswerInspector = (answer: unknown) => void
