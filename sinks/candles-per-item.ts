import { map, of, switchMap } from 'rxjs'
import type { RowList } from '../src/model/outcome.js'
import { type CandlesPerItem, fileOf } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import { csvText } from './csv-text.js'
import type { Files } from './files.js'
import { placing } from './placing.js'

/**
 * Puts each item's new candles behind the stored ones that are older than the first of them, or in the place of all where they are the
 * whole history. The file is replaced as a whole.
 */
export const candlesPerItem = (output: CandlesPerItem, { exchange, asOf }: SinkContext, files: Files): Sink => {
  const header = `${output.columns.join(',')}\n`
  return placing(({ item, rows, status, whole }) => {
    if (status !== 'success') return undefined
    const file = fileOf(output, exchange, item)
    const candles = rows as RowList<readonly unknown[]>
    const [first] = candles
    const from = Number(first?.[0])
    const lines = candles.csv ?? csvText([...candles])
    const older$ = whole ? of('') : files.read(file).pipe(map((stored) => olderThan(from, stored ?? '', output.columns)))
    return { file, write$: older$.pipe(switchMap((older) => files.write(file, [header, older, lines], asOf))) }
  })
}

/** The stored rows before a timestamp; none of a file with another header. Walks back from the end, where new candles belong. */
const olderThan = (from: number, stored: string, columns: readonly string[]): string => {
  const header = `${columns.join(',')}\n`
  if (!stored.startsWith(header)) return ''
  let end = stored.length
  while (end > header.length) {
    const start = stored.lastIndexOf('\n', end - 2) + 1
    const cells = stored.slice(start, end).split(',').map(Number)
    // A torn line may begin with a part of a timestamp, and so pass for an old one.
    const isWhole = stored[end - 1] === '\n' && cells.length === columns.length && !cells.some(Number.isNaN)
    if (isWhole && (cells[0] as number) < from) break
    end = start
  }
  return stored.slice(header.length, end)
}
