import {
  AsyncSubject,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  ignoreElements,
  map,
  type Observable,
  of,
  reduce,
  type Subscription,
  switchMap,
  tap,
} from 'rxjs'
import { type RowsInOneFile, toFilePath } from '../src/engine/define-stream.js'
import type { CarriedRecord, Sink, SinkContext, SinkItem } from '../src/engine/storage.js'
import { areTooManyEmpty, thresholds } from '../src/market/refusal-policy.js'
import { formatPart } from '../src/model/format.js'
import { type Item, isAnswered, isLost } from '../src/model/outcome.js'
import { type Row, readText } from '../src/model/row.js'
import { haveSameIssuer, type Stock, toStockRecord } from '../src/model/stock.js'
import { catchDamagedFile } from '../src/operators/catch-item-failure.js'
import type { FileChunk } from '../src/storage/file-system.js'
import type { FileStore } from '../src/storage/record-file.js'

/** The stocks of a stream by outcome, each as its rank in the list. */
interface StockResults {
  readonly answered: Set<number>
  readonly empty: Set<number>
  hasLost: boolean
}

/**
 * Writes the records of all stocks from the journal when the stream ends; buffers none. Records of listed
 * stocks that were not requested or that failed are carried over from the earlier file; if all failed, the
 * file stays unchanged. Stocks that had records and have none now lose theirs, unless the output keeps them,
 * or they are so many at once that the provider must be wrong.
 */
export const rowsInOneFile = (output: RowsInOneFile, context: SinkContext, files: FileStore): Sink => {
  const { exchange, asOf, journal } = context
  const { keepsWhenEmpty = false } = output
  const file = toFilePath(output, exchange, { fileName: '' })
  const writeAll = (results: StockResults, earlier$: Observable<ReadonlySet<number>>): Observable<never> => {
    const { answered, hasLost } = results
    if (answered.size === 0 && hasLost) return EMPTY
    const carriedOver$ = findEmptiedStocks(earlier$, { ...results, keepsWhenEmpty }, context).pipe(
      switchMap((emptied) => {
        const { listed } = context
        if (answered.size === listed.length && emptied.size === 0) return EMPTY
        return addRanks(files.records(file), listed).pipe(
          filter(({ rank }) => !answered.has(rank) || emptied.has(rank)),
        )
      }),
      journal.carryOver,
    )
    const write$ = defer(() => files.write(file, encloseInArray(journal.takeRecords()), asOf))
    return concat(carriedOver$, write$).pipe(ignoreElements())
  }
  return (items$) =>
    defer(() => {
      const results: StockResults = { answered: new Set(), empty: new Set(), hasLost: false }
      const earlier$ = new AsyncSubject<ReadonlySet<number>>()
      let reading: Subscription | undefined
      const onItem = (item: SinkItem): void => {
        addResult(results, item)
        // Read the earlier file while other answers are still on their way.
        if (mayBeEmptied({ ...results, keepsWhenEmpty }, context))
          reading ??= collectRanks(addRanks(files.owners(file), context.listed)).subscribe(earlier$)
      }
      return concat(
        items$.pipe(tap(onItem)),
        defer(() => writeAll(results, earlier$)),
      ).pipe(finalize(() => reading?.unsubscribe()))
    })
}

/** Encloses records, which have separators between them, in a JSON array. */
function* encloseInArray(records: Iterable<FileChunk>): Generator<FileChunk> {
  let isFirst = true
  for (const part of records) {
    if (isFirst) yield '[\n'
    yield part
    isFirst = false
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

const addResult = (results: StockResults, { outcome }: SinkItem): void => {
  const { rank } = outcome.item
  if (isLost(outcome)) results.hasLost = true
  if (isAnswered(outcome)) results.answered.add(rank)
  if (outcome.status === 'empty') results.empty.add(rank)
}

type Emptied = Pick<StockResults, 'answered' | 'empty'> & Pick<RowsInOneFile, 'keepsWhenEmpty'>

const mayBeEmptied = ({ empty, keepsWhenEmpty }: Emptied, { accepts }: SinkContext): boolean =>
  empty.size >= (keepsWhenEmpty ? 1 : thresholds.emptied.least) && !accepts('shrink')

/**
 * Collects the stocks that have a record. A damaged file counts as empty: only its records would be an error.
 */
const collectRanks = (earlier$: Observable<CarriedRecord>): Observable<ReadonlySet<number>> =>
  earlier$.pipe(
    reduce((ranks, { rank }) => ranks.add(rank), new Set<number>()),
    catchDamagedFile(() => NO_RANKS),
  )

const MAX_NAMED_STOCKS = 5

/**
 * Finds the stocks that had records and have none now, if their records must stay: always, or if these stocks
 * are many; reports them.
 */
const findEmptiedStocks = (
  earlier$: Observable<ReadonlySet<number>>,
  results: Emptied,
  context: SinkContext,
): Observable<ReadonlySet<number>> => {
  if (!mayBeEmptied(results, context)) return of(NO_RANKS)
  return earlier$.pipe(
    map((ranks) => {
      const earlier = [...ranks].filter((rank) => results.answered.has(rank))
      const emptied = earlier.filter((rank) => results.empty.has(rank))
      const text = `${formatPart(emptied.length, earlier.length, 'stock')} with earlier records have none now; their earlier records stay`
      const areMany = areTooManyEmpty(emptied.length, earlier.length)
      if (areMany) context.refuse('shrink', text)
      else if (!results.keepsWhenEmpty) return NO_RANKS
      else if (emptied.length > 0) {
        const named = context.listed.filter(({ rank }) => emptied.slice(0, MAX_NAMED_STOCKS).includes(rank))
        const more = emptied.length > MAX_NAMED_STOCKS ? ' …' : ''
        context.warn(`${text}: ${named.map(({ key }) => key).join(', ')}${more}`)
      }
      return new Set(emptied)
    }),
  )
}

const NO_RANKS: ReadonlySet<number> = new Set()

const addRanks = (records$: Observable<Row>, listed: readonly Item[]): Observable<CarriedRecord> =>
  defer(() => {
    const find = createStockFinder(listed)
    return records$.pipe(
      map((record) => ({ record, item: find(record) })),
      filter((entry): entry is typeof entry & { readonly item: Item } => entry.item !== undefined),
      map(({ record, item: { rank, value } }) => {
        const { Symbol: symbol, ISIN } = value as Stock
        const isOwn = record.ISIN === ISIN && (record.Symbol ?? symbol) === symbol
        return { rank, record: isOwn ? record : toStockRecord({ Symbol: symbol, ISIN }, record) }
      }),
    )
  })

/**
 * Creates a lookup of a record's stock: by symbol and ISIN, by ISIN alone if the stock was renamed, or by
 * symbol alone if the ISIN is no longer listed (face value split, merger), no other stock has that symbol,
 * and both are of one company.
 */
const createStockFinder = (listed: readonly Item[]): ((row: Row) => Item | undefined) => {
  const items = new Map<string, Item>()
  const bySymbol = new Map<string, Item | undefined>()
  for (const item of listed) {
    const stock = item.value as Stock
    items.set(`${stock.Symbol}\n${stock.ISIN}`, item)
    if (!items.has(stock.ISIN)) items.set(stock.ISIN, item)
    bySymbol.set(stock.Symbol, bySymbol.has(stock.Symbol) ? undefined : item)
  }
  const findReissued = (symbol: string, isin: string): Item | undefined => {
    const item = isin === '' ? undefined : bySymbol.get(symbol)
    const isOne =
      item && (item.earlierIsins?.includes(isin) || haveSameIssuer((item.value as Stock).ISIN, isin))
    return isOne ? item : undefined
  }
  return ({ Symbol: symbol, ISIN }) =>
    items.get(`${readText(symbol)}\n${readText(ISIN)}`) ??
    items.get(readText(ISIN)) ??
    findReissued(readText(symbol), readText(ISIN))
}
