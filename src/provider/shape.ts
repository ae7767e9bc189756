/** `day` is text that begins with a day (`2026-02-12`), `millis` a number of epoch milliseconds. */
export type Kind = 'text' | 'number' | 'flag' | 'list' | 'record' | 'day' | 'millis'

/** A list of records, or a record, and what each of them holds. */
export interface Shape {
  readonly allows: readonly Kind[]
  readonly fields: Fields
}

/**
 * The fields of a record by name: a kind, kinds joined by `|`, or what is nested there. Null passes everywhere. A name ending in `?` may
 * be absent; one ending in `~` is absent here and there, so that it is gone only where no record has it.
 *
 * A further `!` marks a field that is required, because an output is made of it: an answer in which it is gone from all records, of another
 * type, or (`day`, `millis`) unreadable is refused. `key` among its kinds says that it must not be null in all of them either. A list or
 * record that may be absent, `?!` or `~!`, is gone only where something unknown stands in its place.
 */
export type Fields = { readonly [name: string]: string | Shape }

export const record = (fields: Fields): Shape => ({ allows: ['record'], fields })
export const rows = (fields: Fields): Shape => ({ allows: ['list'], fields })
export const oneOrMore = (fields: Fields): Shape => ({ allows: ['list', 'record'], fields })

/** The envelope of most calls: rows under `data`. */
export const dataOf = (fields: Fields, more: Fields = {}): Shape => envelopeOf({ data: rows(fields), ...more })

/** The same for a call that may leave `data` out where there is nothing. */
export const maybeDataOf = (fields: Fields, more: Fields = {}): Shape => envelopeOf({ 'data~!': rows(fields), ...more })

const envelopeOf = (fields: Fields): Shape => record({ 'code?': 'number', 'status?': 'text|number', 'tot_rec?': 'number', ...fields })

/** Is handed an answer as it was parsed, before it is read any further; throws where it must be refused. */
export type Seen = (answer: unknown) => void
