import { defer, map, type Observable, of, reduce, switchMap } from 'rxjs'
import { type Item, isAnswered, isLost, type Settled } from '../src/model/outcome.js'
import { isRow, type Row, textOf } from '../src/model/row.js'
import type { Stock } from '../src/model/stock.js'
import { fileOf, type RowsInOneFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext, SinkReport } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { arrayText, readArray } from './json-lines.js'

/** A record on its way into the file: its text, the place of its stock, and what it is sorted by. */
interface Line {
  readonly text: string
  readonly rank: number
  readonly newest: string
}

interface Gathered {
  readonly lines: Line[]
  /** Places of the stocks that the provider answered for in this run. */
  readonly answered: Set<number>
  hasLost: boolean
}

/**
 * Gathers the records of all stocks and writes them when the stream ends. Holds each record as its JSON text. Records of listed
 * stocks that were not asked for, or whose request failed, are carried over from the earlier file; if all failed, it stays as it is.
 */
export const rowsInOneFile =
  (output: RowsInOneFile, { exchange, asOf, listed }: SinkContext, files: Files): Sink =>
  (settled$) => {
    const newestBy = output.newestBy ?? (() => '')
    const lineOf = (row: Row, rank: number): Line => ({ text: JSON.stringify(row), rank, newest: newestBy(row) })
    const gather = (all: Gathered, settled: Settled): Gathered => {
      if (isLost(settled)) all.hasLost = true
      if (!isAnswered(settled)) return all
      all.answered.add(settled.item.rank)
      for (const row of settled.rows as readonly Row[]) all.lines.push(lineOf(row, settled.item.rank))
      return all
    }
    const carriedOver = (answered: Gathered['answered'], earlier: readonly unknown[]): readonly Line[] => {
      const rankOf = ranksOf(listed)
      return earlier.filter(isRow).flatMap((row) => {
        const rank = rankOf(row)
        return rank === undefined || answered.has(rank) ? [] : [lineOf(row, rank)]
      })
    }
    const file = fileOf(output, exchange, { fileName: '' })
    const written = ({ lines, answered, hasLost }: Gathered): Observable<SinkReport> => {
      if (answered.size === 0 && hasLost) return of({ files: 0, bytes: 0 })
      const earlier$ = answered.size < listed.length ? readArray(files, file) : of([])
      return earlier$.pipe(
        switchMap((earlier) => files.write(file, arrayText(sorted([...lines, ...carriedOver(answered, earlier)])), asOf)),
        map((bytes) => ({ files: 1, bytes })),
      )
    }
    return defer(() => settled$.pipe(reduce(gather, { lines: [], answered: new Set(), hasLost: false } as Gathered))).pipe(
      switchMap(written),
    )
  }

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

function* sorted(lines: Line[]): Generator<string> {
  const inOrder = lines.sort((one, other) => (one.newest < other.newest ? 1 : one.newest > other.newest ? -1 : one.rank - other.rank))
  for (const { text } of inOrder) yield text
}
