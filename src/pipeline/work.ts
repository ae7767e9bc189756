import type { Observable } from 'rxjs'
import type { Found, Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import type { Tools, Work } from './define-stream.js'

export const MASTER = 'master-data'

/** Work to do for every stock of the master list. */
export const perStock = (each: (stock: Stock, tools: Tools, file: string) => Observable<Found>): Work => ({
  of: MASTER,
  parts: [],
  each: ({ value }, tools, file) => each(value as Stock, tools, file),
})

/** Work to do for every row that another stream offers. */
export const perRowOf = (stream: string, each: (row: Row, tools: Tools, file: string) => Observable<Found>): Work => ({
  of: stream,
  parts: [],
  each: ({ value }, tools, file) => each(value as Row, tools, file),
})

/** Work to do for each of a few named parts, such as the two surveillance lists. Every part has a file of its own. */
export const perPart = <Part extends string>(
  parts: readonly Part[],
  each: (part: Part, tools: Tools, file: string) => Observable<Found>,
): Work => ({
  parts: parts.map((part, rank): Item => ({ key: part, rank, fileName: part, value: part })),
  each: ({ value }, tools, file) => each(value as Part, tools, file),
})

/** Work to do once. */
export const once = (each: (tools: Tools, file: string) => Observable<Found>): Work =>
  perPart(['all'], (_, tools, file) => each(tools, file))
