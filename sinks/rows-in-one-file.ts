import { defer, map, type Observable, of, reduce, switchMap } from 'rxjs'
import { isAnswered, type Settled } from '../src/model/outcome.js'
import { isRow, type Row, textOf } from '../src/model/row.js'
import { fileOf, type RowsInOneFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
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
  /** ISINs that the provider answered for in this run. */
  readonly answered: Set<string>
}

/**
 * Gathers the records of all stocks and writes them when the stream ends. Holds each record as its JSON text. Records of listed
 * stocks that were not asked for, or whose request failed, are carried over from the earlier file.
 */
export const rowsInOneFile =
  (output: RowsInOneFile, { exchange, asOf, ranks }: SinkContext, files: Files): Sink =>
  (settled$) => {
    const newestBy = output.newestBy ?? (() => '')
    const lineOf = (row: Row, rank: number): Line => ({ text: JSON.stringify(row), rank, newest: newestBy(row) })
    const carriedOver = ({ lines, answered }: Gathered, earlier: readonly unknown[]): readonly Line[] => [
      ...lines,
      ...earlier.filter(isRow).flatMap((row) => {
        const [isin, rank] = [textOf(row.ISIN), ranks.get(textOf(row.ISIN))]
        return rank === undefined || answered.has(isin) ? [] : [lineOf(row, rank)]
      }),
    ]
    const file = fileOf(output, exchange, { fileName: '' })
    const gather = (all: Gathered, settled: Settled): Gathered => {
      if (!isAnswered(settled)) return all
      all.answered.add((settled.item.value as { readonly ISIN: string }).ISIN)
      for (const row of settled.rows as readonly Row[]) all.lines.push(lineOf(row, settled.item.rank))
      return all
    }
    return defer(() => settled$.pipe(reduce(gather, { lines: [], answered: new Set() } as Gathered))).pipe(
      switchMap((all) =>
        (all.answered.size < ranks.size ? readArray(files, file) : of([])).pipe(map((earlier) => carriedOver(all, earlier))),
      ),
      switchMap((lines): Observable<number> => files.write(file, arrayText(sorted(lines)), asOf)),
      map((bytes) => ({ files: 1, bytes })),
    )
  }

function* sorted(lines: readonly Line[]): Generator<string> {
  const inOrder = [...lines].sort((one, other) => (one.newest < other.newest ? 1 : one.newest > other.newest ? -1 : one.rank - other.rank))
  for (const { text } of inOrder) yield text
}
