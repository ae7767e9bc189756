import { concat, defer, EMPTY, filter, ignoreElements, map, mergeMap, type Observable, of, reduce, switchMap, tap } from 'rxjs'
import { type Item, isAnswered, isLost } from '../src/model/outcome.js'
import { type Row, textOf } from '../src/model/row.js'
import type { Stock } from '../src/model/stock.js'
import type { Kept } from '../src/pipeline/journal.js'
import { fileOf, type RowsInOneFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { arrayText } from './json-lines.js'

/** The stocks of a stream by what became of them, each by its place in the list. */
interface Gathered {
  readonly answered: Set<number>
  readonly empty: Set<number>
  hasLost: boolean
}

/** From so many stocks on, and this share of those with records, an answer of nothing is no answer. */
const FEWEST_EMPTIED = 20
const SHARE_EMPTIED = 0.3

/**
 * Writes the records of all stocks from the journal when the stream ends; holds none of them. Records of listed stocks that were not
 * asked for, or whose request failed, are carried over from the earlier file; if all failed, it stays as it is. If stocks that had
 * records answer nothing now, theirs go, unless it is so many at once that something must be wrong.
 */
export const rowsInOneFile = (output: RowsInOneFile, context: SinkContext, files: Files): Sink => {
  const { exchange, asOf, listed, journal } = context
  const file = fileOf(output, exchange, { fileName: '' })
  const written = ({ answered, empty, hasLost }: Gathered): Observable<never> => {
    if (answered.size === 0 && hasLost) return EMPTY
    const earlier = answered.size < listed.length || empty.size >= FEWEST_EMPTIED ? carriedOver({ answered, empty }) : EMPTY
    const write$ = defer(() => files.write(file, arrayText(journal.records()), asOf))
    return concat(earlier, write$).pipe(ignoreElements())
  }
  const carriedOver = ({ answered, empty }: Pick<Gathered, 'answered' | 'empty'>): Observable<unknown> => {
    const rankOf = ranksOf(listed)
    const ranked$ = files.records(file).pipe(
      map((record) => ({ record, rank: rankOf(record) })),
      filter((one): one is Ranked => one.rank !== undefined),
    )
    return (empty.size < FEWEST_EMPTIED ? of(false) : isCollapse(ranked$, { answered, empty, notice: context.notice })).pipe(
      switchMap((keepsEmptied) =>
        ranked$.pipe(
          filter(({ rank }) => !answered.has(rank) || (keepsEmptied && empty.has(rank))),
          mergeMap(({ rank, record }) => journal.carry(rank, record)),
        ),
      ),
    )
  }
  return (kept$) =>
    defer(() => {
      const gathered: Gathered = { answered: new Set(), empty: new Set(), hasLost: false }
      return concat(
        kept$.pipe(tap((kept) => gather(gathered, kept))),
        defer(() => written(gathered)),
      )
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

/** Whether so many of the stocks that had records answer nothing now that they must not lose them; says so. */
const isCollapse = (
  ranked$: Observable<Ranked>,
  { answered, empty, notice }: { readonly answered: Set<number>; readonly empty: Set<number>; readonly notice: (text: string) => void },
): Observable<boolean> =>
  ranked$.pipe(
    filter(({ rank }) => answered.has(rank)),
    reduce((had, { rank }) => had.add(rank), new Set<number>()),
    map((had) => {
      const emptied = [...had].filter((rank) => empty.has(rank)).length
      const isOne = emptied >= FEWEST_EMPTIED && emptied > SHARE_EMPTIED * had.size
      if (isOne) notice(`${emptied} of ${had.size} stocks that had records answer nothing now: their earlier records are kept`)
      return isOne
    }),
  )

/** Finds the place of a record's stock by symbol and ISIN, or by the ISIN alone where the stock was renamed. */
const ranksOf = (listed: readonly Item[]): ((row: Row) => number | undefined) => {
  const ranks = new Map<string, number>()
  for (const { value, rank } of listed) {
    const stock = value as Stock
    ranks.set(`${stock.Symbol}\n${stock.ISIN}`, rank)
    if (!ranks.has(stock.ISIN)) ranks.set(stock.ISIN, rank)
  }
  return (row) => ranks.get(`${textOf(row.Symbol)}\n${textOf(row.ISIN)}`) ?? ranks.get(textOf(row.ISIN))
}
