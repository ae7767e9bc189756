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

/** The stocks of a stream by what became of them, each by its place in the list. */
interface Gathered {
  readonly answered: Set<number>
  readonly empty: Set<number>
  hasLost: boolean
}

/**
 * Writes the records of all stocks from the journal when the stream ends; holds none of them. Records of listed stocks that were not
 * asked for, or whose request failed, are carried over from the earlier file; if all failed, it stays as it is. If stocks that had
 * records answer nothing now, theirs go, unless it is so many at once that something must be wrong.
 */
export const rowsInOneFile = (output: RowsInOneFile, context: SinkContext, files: Files): Sink => {
  const { exchange, asOf, listed, journal } = context
  const file = fileOf(output, exchange, { fileName: '' })
  const written = (gathered: Gathered, had$: Observable<ReadonlySet<number>>): Observable<never> => {
    const { answered, hasLost } = gathered
    if (answered.size === 0 && hasLost) return EMPTY
    const carriedOver$ = emptiedAtOnce(had$, gathered, context).pipe(
      switchMap((emptied) => {
        if (answered.size === listed.length && emptied.size === 0) return EMPTY
        return ranked(files.records(file), listed).pipe(filter(({ rank }) => !answered.has(rank) || emptied.has(rank)))
      }),
      mergeMap(({ rank, record }) => journal.carry(rank, record)),
    )
    const write$ = defer(() => files.write(file, enclosed(journal.takeRecords()), asOf))
    return concat(carriedOver$, write$).pipe(ignoreElements())
  }
  return (kept$) =>
    defer(() => {
      const gathered: Gathered = { answered: new Set(), empty: new Set(), hasLost: false }
      const had$ = new AsyncSubject<ReadonlySet<number>>()
      let reading: Subscription | undefined
      const take = (kept: Kept): void => {
        gather(gathered, kept)
        // While answers are waited for, there is time to read what will be compared with them.
        if (isMuchEmpty(gathered, context)) reading ??= ranksIn(ranked(files.owners(file), listed)).subscribe(had$)
      }
      return concat(
        kept$.pipe(tap(take)),
        defer(() => written(gathered, had$)),
      ).pipe(finalize(() => reading?.unsubscribe()))
    })
}

interface Ranked {
  readonly record: Row
  readonly rank: number
}

const gather = (gathered: Gathered, { settled }: Kept): void => {
  const { rank } = settled.item
  if (isLost(settled)) gathered.hasLost = true
  if (isAnswered(settled)) gathered.answered.add(rank)
  if (settled.status === 'empty') gathered.empty.add(rank)
}

const isMuchEmpty = ({ empty }: Gathered, { accepts }: SinkContext): boolean => empty.size >= thresholds.emptied.least && !accepts('shrink')

/** The stocks that have a record. A damaged file is only in the way of who needs its records. */
const ranksIn = (earlier$: Observable<Ranked>): Observable<ReadonlySet<number>> =>
  earlier$.pipe(
    reduce((ranks, { rank }) => ranks.add(rank), new Set<number>()),
    catchError((error: unknown) => (error instanceof DamagedFile ? of(NONE) : throwError(() => error))),
  )

/** The stocks that had records and answer nothing now, if they are so many that they must keep them; says so. */
const emptiedAtOnce = (
  had$: Observable<ReadonlySet<number>>,
  gathered: Gathered,
  context: SinkContext,
): Observable<ReadonlySet<number>> => {
  if (!isMuchEmpty(gathered, context)) return of(NONE)
  return had$.pipe(
    map((ranks) => {
      const had = [...ranks].filter((rank) => gathered.answered.has(rank))
      const emptied = new Set(had.filter((rank) => gathered.empty.has(rank)))
      if (emptied.size < thresholds.emptied.least || emptied.size <= thresholds.emptied.share * had.length) return NONE
      context.notice(`${emptied.size} of ${had.length} stocks that had records answer nothing now: their records are kept`)
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
      filter((one): one is Ranked => one.rank !== undefined),
    )
  })

/**
 * Finds the place of a record's stock by symbol and ISIN, by the ISIN alone where the stock was renamed, or by the symbol alone where its
 * ISIN is no longer listed (a face value split, a merger) and no other stock has that symbol.
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
