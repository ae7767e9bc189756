export type Kind = 'text' | 'number' | 'flag' | 'list' | 'record'

/** A list of records, or a record, and what each of them holds. */
export interface Shape {
  readonly allows: readonly Kind[]
  readonly fields: Fields
}

/**
 * The fields of a record by name: a kind, kinds joined by `|`, or what is nested there. Null passes everywhere. A name ending in `?` may
 * be absent; one ending in `~` is absent here and there, so that it is gone only where no record has it.
 */
export type Fields = { readonly [name: string]: string | Shape }

export const record = (fields: Fields): Shape => ({ allows: ['record'], fields })
export const rows = (fields: Fields): Shape => ({ allows: ['list'], fields })
export const oneOrMore = (fields: Fields): Shape => ({ allows: ['list', 'record'], fields })

/** The envelope of most calls: rows under `data`. */
export const dataOf = (fields: Fields, more: Fields = {}): Shape =>
  record({ data: rows(fields), 'code?': 'number', 'status?': 'text|number', 'tot_rec?': 'number', ...more })

/** Is handed an answer as it was parsed, before it is read any further. */
export type Seen = (answer: unknown) => void
