import type { TableColumn } from '../model/row-schema.js'

/**
 * The JSON with the fields of a row: a record, the document around it, or what the file of a recorded list
 * has no column for.
 */
export type RowSource = 'record' | 'json' | 'r.extra'

/** The keys of a column in a source; what a recorded list has no column for may be of both others. */
export const listKeysIn = (where: RowSource, { from }: TableColumn): readonly string[] => {
  if ('row' in from) return where === 'json' ? [] : from.row
  return 'document' in from && where !== 'record' ? from.document : []
}

/** The columns that read each key of a source. */
export const indexReaders = (columns: readonly TableColumn[], where: RowSource) => {
  const readers = new Map<string, readonly TableColumn[]>()
  for (const column of columns)
    for (const key of listKeysIn(where, column))
      if (!key.startsWith('$')) readers.set(key, [...(readers.get(key) ?? []), column])
  return readers
}

/** Whether a column takes any value, so that none is left over. */
export const takesAnyValue = ({ type, convert }: TableColumn): boolean =>
  type === 'JSON' || (type === 'VARCHAR' && convert === undefined)
