import { html, type TemplateResult } from 'lit-html'
import type { QueriesAnswer } from '../../api/query.js'

/** A name that may continue what is typed. */
export interface Suggestion {
  readonly name: string
  readonly about: string
}

const MAX_SUGGESTIONS = 8
const WORD = /[A-Za-z_][\w]*$/

/** The word that ends at the caret. */
export const wordBefore = (text: string, caret: number): string => WORD.exec(text.slice(0, caret))?.[0] ?? ''

/**
 * The columns of the tables that a statement names, and the tables, that begin with a word; nothing for a
 * whole name.
 */
export const suggest = (
  tables: QueriesAnswer['tables'],
  text: string,
  word: string,
): readonly Suggestion[] => {
  const start = word.toLowerCase()
  if (start === '') return []
  const named = new Set(text.toLowerCase().match(/\w+/g))
  const columns = tables
    .filter(({ name }) => named.has(name))
    .flatMap(({ name, columns: own }) => own.map((column) => ({ name: column, about: name })))
  const all = [...columns, ...tables.map(({ name, about }) => ({ name, about }))]
  const found = new Map(all.filter(({ name }) => name.startsWith(start)).map((one) => [one.name, one]))
  return found.has(start) ? [] : [...found.values()].slice(0, MAX_SUGGESTIONS)
}

const TOKEN =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<text>'(?:[^']|'')*'?)|(?<number>\b\d+(?:\.\d+)?\b)|(?<word>[a-z_][\w$]*)/giu
const KEYWORDS = new Set(
  'all and as asc between by case cast cross date desc distinct else end exists extract false filter first from full group having if ilike in inner interval is join last lateral left like limit not null nulls offset on or order outer over partition qualify range right row rows select then true union unnest using values when where window with'.split(
    ' ',
  ),
)

/** A statement with its keywords, tables, texts, numbers and comments marked. */
export const colourSql = (
  sql: string,
  tables: QueriesAnswer['tables'],
): readonly (string | TemplateResult)[] => {
  const names = new Set(tables.map(({ name }) => name))
  const parts: (string | TemplateResult)[] = []
  let end = 0
  for (const { index, 0: token, groups = {} } of sql.matchAll(TOKEN)) {
    const { comment, text, number, word = '' } = groups
    const known = KEYWORDS.has(word.toLowerCase()) ? 'keyword' : names.has(word) ? 'table' : ''
    const kind =
      comment !== undefined ? 'soft' : text !== undefined ? 'text' : number !== undefined ? 'value' : known
    if (kind === '') continue
    parts.push(sql.slice(end, index), html`<span class=${kind}>${token}</span>`)
    end = index + token.length
  }
  return [...parts, sql.slice(end)]
}
