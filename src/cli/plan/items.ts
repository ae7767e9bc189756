import { catchError, map, type Observable, of, shareReplay, throwError } from 'rxjs'
import { isItemError } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import { isRow, type Row } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { toFilePath } from '../../pipeline/output.js'
import { selectSymbols } from '../../pipeline/select-symbols.js'
import type { Stored } from '../../pipeline/storage.js'
import { MASTER } from '../../pipeline/work.js'
import { DEFAULT_ITEM_COUNTS } from './measured.js'

/** The items of a stream, and their source: stored in the folder, given by a flag, assumed, or unknown. */
export interface Worklist {
  readonly items: readonly Item[]
  readonly known: 'stored' | 'given' | 'assumed' | 'unknown'
  /** Whether the items are placeholders: nothing is stored of them, so all make the same requests. */
  readonly isPlaceholder?: boolean
}

export interface WorklistContext {
  readonly streams: readonly StreamDefinition[]
  readonly stored: Stored
  readonly exchange: string
  readonly symbols: readonly string[] | undefined
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  readonly warn: (text: string) => void
}

/** Finds the items of streams: from the stored rows of the stream that they follow, or placeholders. Reads each list once. */
export const createWorklistLoader = (listing: WorklistContext): ((source: string) => Observable<Worklist>) => {
  const lists = new Map<string, Observable<Worklist>>()
  return (source) => {
    const list$ = lists.get(source) ?? loadWorklist(source, listing).pipe(shareReplay(1))
    lists.set(source, list$)
    return list$
  }
}

const loadWorklist = (source: string, listing: WorklistContext): Observable<Worklist> =>
  readStoredRows(source, listing).pipe(
    map((rows) => {
      const offers = listing.streams.find(({ name }) => name === source)?.offers
      const items = offers?.(rows, () => undefined) ?? []
      if (items.length > 0) return { items: source === MASTER ? selectStockItems(items, listing) : items, known: 'stored' }
      return source === MASTER ? createPlaceholderStocks(listing) : createPlaceholderItems(source)
    }),
  )

/** The stored rows of a stream, from which it makes the items that it offers. An unreadable file counts as empty. */
const readStoredRows = (source: string, { streams, stored, exchange, warn }: WorklistContext): Observable<readonly Row[]> => {
  const stream = streams.find(({ name }) => name === source)
  const [part] = stream?.work.parts ?? []
  if (stream === undefined || part === undefined) return of([])
  return stored.document(toFilePath(stream.outputs[0], exchange, part)).pipe(
    map((rows) => (Array.isArray(rows) ? rows.filter(isRow) : [])),
    catchError((error: unknown) => {
      if (!isItemError(error)) return throwError(() => error)
      warn(error.message)
      return of([])
    }),
  )
}

const selectStockItems = (items: readonly Item[], { symbols, warn }: WorklistContext): readonly Item[] =>
  selectSymbols(symbols, (event) => event.type === 'noticed' && warn(event.text))(items)

const createPlaceholderStocks = ({ symbols, stocks }: WorklistContext): Worklist => {
  const number = stocks ?? DEFAULT_ITEM_COUNTS[MASTER] ?? 0
  const names = symbols ?? Array.from({ length: number }, (_, index) => `STOCK${index + 1}`)
  const placeholders = names.map(
    (name, index): Stock => ({ Symbol: name, ISIN: `IN${index}`, Name: name, Sid: `${index + 1}`, FnoFlag: 0 }),
  )
  return {
    items: toStockItems(placeholders),
    known: (symbols ?? stocks) === undefined ? 'assumed' : 'given',
    isPlaceholder: symbols === undefined,
  }
}

const createPlaceholderItems = (source: string): Worklist => {
  const number = DEFAULT_ITEM_COUNTS[source]
  const items = Array.from({ length: number ?? 0 }, (_, rank): Item => ({ key: `${rank}`, rank, fileName: `${source} ${rank}`, value: {} }))
  return { items, known: number === undefined ? 'unknown' : 'assumed', isPlaceholder: true }
}
