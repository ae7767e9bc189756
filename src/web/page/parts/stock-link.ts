import { html, type TemplateResult } from 'lit-html'
import { readStored } from './storage.js'

export const stockPath = (symbol: string): string => `/stock/${encodeURIComponent(symbol)}`
export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`
export const indexPath = (key: string): string => `/index/${encodeURIComponent(key)}`

const LIST = 'stock-list'

/** A link to a stock. The list that it is in is remembered, so that `[` and `]` lead to its neighbours. */
export const stockLink = (
  symbol: string,
  {
    name,
    text = symbol,
    list = [],
    hasNoPage,
  }: {
    readonly name?: string
    readonly text?: string
    readonly list?: readonly string[]
    readonly hasNoPage?: boolean | undefined
  } = {},
): TemplateResult =>
  hasNoPage
    ? html`<bdi title=${`${name || symbol}: not in the master list of this folder`}>${symbol}</bdi>`
    : html`<a href=${stockPath(symbol)} title=${name ?? ''} @click=${() => sessionStorage.setItem(LIST, JSON.stringify(list))}><bdi>${text}</bdi></a>`

/** The symbols of a list that have a page. */
export const listLinked = (
  rows: readonly { readonly symbol: string; readonly hasNoPage?: true }[],
): readonly string[] => rows.flatMap(({ symbol, hasNoPage }) => (hasNoPage ? [] : [symbol]))

/** The stock before or after one in the list that the reader came from. */
export const findNeighbour = (symbol: string, step: 1 | -1): string | undefined => {
  const list = readStored(LIST, sessionStorage)
  const place = list.indexOf(symbol)
  return place < 0 ? undefined : list[place + step]
}
