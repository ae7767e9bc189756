import type { Observable } from 'rxjs'
import type { Item, ItemResult } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import type { Tools, Work } from './define-stream.js'

/** The stream that lists all stocks. It runs first; if it fails, the run stops. */
export const MASTER = 'master-data'

/**
 * Work for every stock of the master list, or for those that `where` selects. `each` emits once; a `CollectError` fails only that stock, any
 * other error stops the run.
 *
 * @example perStock((stock, { ask }) => ask(chain, { symbol: stock.Symbol }).pipe(map(createResult)), { where: ({ FnoFlag }) => FnoFlag === 1 })
 */
export const perStock = <R>(
  each: (stock: Stock, tools: Tools, file: string) => Observable<ItemResult<R>>,
  { where }: { readonly where?: (stock: Stock) => boolean } = {},
): Work<R> => ({
  of: MASTER,
  parts: [],
  ...(where ? { where: ({ value }: Item) => where(value as Stock) } : {}),
  each: ({ value }, tools, file) => each(value as Stock, tools, file),
})

/** Work for every row that another stream offers, once that stream has finished without failure. */
export const perRowOf = <R>(stream: string, each: (row: Row, tools: Tools, file: string) => Observable<ItemResult<R>>): Work<R> => ({
  of: stream,
  parts: [],
  each: ({ value }, tools, file) => each(value as Row, tools, file),
})

/** Work for each of a few named parts, such as the two surveillance lists. Every part has its own file. */
export const perPart = <Part extends string, R>(
  parts: readonly Part[],
  each: (part: Part, tools: Tools, file: string) => Observable<ItemResult<R>>,
): Work<R> => ({
  parts: parts.map((part, rank): Item => ({ key: part, rank, fileName: part, value: part })),
  each: ({ value }, tools, file) => each(value as Part, tools, file),
})

/** Work that runs once: its only item is called `all`. */
export const once = <R>(each: (tools: Tools, file: string) => Observable<ItemResult<R>>): Work<R> =>
  perPart(['all'], (_, tools, file) => each(tools, file))
