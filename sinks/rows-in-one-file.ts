import {
  AsyncSubject,
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  ignoreElements,
  map,
  mergeMap,
  type Observable,
  of,
  reduce,
  type Subscription,
  switchMap,
  tap,
  throwError,
} from 'rxjs'
import { thresholds } from '../src/market/never-worse.js'
import { DamagedFile } from '../src/model/errors.js'
import { type Item, isAnswered, isLost } from '../src/model/outcome.js'
import { type Row, textOf } from '../src/model/row.js'
import type { Stock } from '../src/model/stock.js'
import type { Kept } from '../src/pipeline/journal.js'
import { fileOf, type RowsInOneFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { enclosed } from './json-lines.js'

/** The stocks of a stream by outcome, each as its rank in the list. */
interface Gathered {
  readonly answered: Set<number>
  readonly empty: Set<number>
  hasLost: boolean
}

/**
 * Writes the records of all stocks from the journal when the stream ends; buffers none. Records of listed stocks that were not requested
 * or that failed are carried over from the earlier file; if all failed, the file stays unchanged. Stocks that had records and have none
 * now lose theirs, unless they are so many at once that the provider must be wrong.
 */
export const rowsInOneFile = (output: RowsInOneFile, context: SinkContext, files: Files): Sink => {
  const { exchange, asOf, listed, journal } = context
  const file = fileOf(output, exchange, { fileName: '' })
  const writeAll = (results: Gathered, earlier$: Observable<ReadonlySet<number>>): Observable<never> => {
    const { answered, hasLost } = results
    if (answered.size === 0 && hasLost) return EMPTY
    const carriedOver$ = emptiedAtOnce(earlier$, results, context).pipe(
      switchMap((emptied) => {
        if (answered.size === listed.length && emptied.size === 0) return EMPTY
        return ranked(files.records(file), listed).pipe(filter(({ rank }) => !answered.has(rank) || emptied.has(rank)))
      }),
      mergeMap(({ rank, record }) => journal.carry(rank, record)),
    )
    const write$ = defer(() => files.write(file, enclosed(journal.takeRecords()), asOf))
    return concat(carriedOver$, write$).pipe(ignoreElements())
  }
  return (items$) =>
    defer(() => {
      const results: Gathered = { answered: new Set(), empty: new Set(), hasLost: false }
      const earlier$ = new AsyncSubject<ReadonlySet<number>>()
      let reading: Subscription | undefined
      const onItem = (item: Kept): void => {
        gather(results, item)
        // Read the earlier file while other answers are still on their way.
        if (isMuchEmpty(results, context)) reading ??= ranksIn(ranked(files.owners(file), listed)).subscribe(earlier$)
      }
      return concat(
        items$.pipe(tap(onItem)),
        defer(() => writeAll(results, earlier$)),
      ).pipe(finalize(() => reading?.unsubscribe()))
    })
}

interface Ranked {
  readonly record: Row
  readonly rank: number
}

const gather = (results: Gathered, { settled: outcome }: Kept): void => {
  const { rank } = outcome.item
  if (isLost(outcome)) results.hasLost = true
  if (isAnswered(outcome)) results.answered.add(rank)
  if (outcome.status === 'empty') results.empty.add(rank)
}

const isMuchEmpty = ({ empty }: Gathered, { accepts }: SinkContext): boolean => empty.size >= thresholds.emptied.least && !accepts('shrink')

/** Collects the stocks that have a record. A damaged file counts as empty: only its records would be an error. */
const ranksIn = (earlier$: Observable<Ranked>): Observable<ReadonlySet<number>> =>
  earlier$.pipe(
    reduce((ranks, { rank }) => ranks.add(rank), new Set<number>()),
    catchError((error: unknown) => (error instanceof DamagedFile ? of(NONE) : throwError(() => error))),
  )

/** Finds the stocks that had records and have none now, if they are so many that their records must stay; reports them. */
const emptiedAtOnce = (
  earlier$: Observable<ReadonlySet<number>>,
  results: Gathered,
  context: SinkContext,
): Observable<ReadonlySet<number>> => {
  if (!isMuchEmpty(results, context)) return of(NONE)
  return earlier$.pipe(
    map((ranks) => {
      const earlier = [...ranks].filter((rank) => results.answered.has(rank))
      const emptied = new Set(earlier.filter((rank) => results.empty.has(rank)))
      if (emptied.size < thresholds.emptied.least || emptied.size <= thresholds.emptied.share * earlier.length) return NONE
      context.refuse('shrink', `${emptied.size} of ${earlier.length} stocks with earlier records have none now; their earlier records stay`)
      return emptied
    }),
  )
}

const NONE: ReadonlySet<number> = new Set()

const ranked = (records$: Observable<Row>, listed: readonly Item[]): Observable<Ranked> =>
  defer(() => {
    const rankOf = ranksOf(listed)
    return records$.pipe(
      map((record) => ({ record, rank: rankOf(record) })),
      filter((entry): entry is Ranked => entry.rank !== undefined),
    )
  })

/**
 * Creates a lookup of the rank of a record's stock: by symbol and ISIN, by ISIN alone if the stock was renamed, or by symbol alone if the
 * ISIN is no longer listed (face value split, merger) and no other stock has that symbol.
 */
const ranksOf = (listed: readonly Item[]): ((row: Row) => number | undefined) => {
  const ranks = new Map<string, number>()
  const bySymbol = new Map<string, number | undefined>()
  for (const { value, rank } of listed) {
    const stock = value as Stock
    ranks.set(`${stock.Symbol}\n${stock.ISIN}`, rank)
    if (!ranks.has(stock.ISIN)) ranks.set(stock.ISIN, rank)
    bySymbol.set(stock.Symbol, bySymbol.has(stock.Symbol) ? undefined : rank)
  }
  return ({ Symbol: symbol, ISIN }) =>
    ranks.get(`${textOf(symbol)}\n${textOf(ISIN)}`) ??
    ranks.get(textOf(ISIN)) ??
    (textOf(ISIN) === '' ? undefined : bySymbol.get(textOf(symbol)))
}
