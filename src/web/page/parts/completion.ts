import type { QueriesAnswer } from '../../api/query.js'

/** A name that may continue what is typed. */
export interface Suggestion {
  readonly name: string
  readonly about: string
}

const MAX_SHOWN = 8
const WORD = /[A-Za-z_][\w]*$/

/** The word that ends at the caret. */
export const wordBefore = (text: string, caret: number): string => WORD.exec(text.slice(0, caret))?.[0] ?? ''

/** The columns of the tables that a statement names, and the tables, that begin with a word; nothing for a whole name. */
export const suggest = (tables: QueriesAnswer['tables'], text: string, word: string): readonly Suggestion[] => {
  const start = word.toLowerCase()
  if (start === '') return []
  const named = new Set(text.toLowerCase().match(/\w+/g))
  const columns = tables
    .filter(({ name }) => named.has(name))
    .flatMap(({ name, columns: own }) => own.map((column) => ({ name: column, about: name })))
  const all = [...columns, ...tables.map(({ name, about }) => ({ name, about }))]
  const found = new Map(all.filter(({ name }) => name.startsWith(start)).map((one) => [one.name, one]))
  return found.has(start) ? [] : [...found.values()].slice(0, MAX_SHOWN)
}
