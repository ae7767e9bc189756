import { defer, map, of, switchMap, tap } from 'rxjs'
import { behindText } from '../src/market/last-session.js'
import { bufferOf } from '../src/model/bytes.js'
import type { RowList } from '../src/model/outcome.js'
import type { Day } from '../src/model/trading-day.js'
import type { Kept } from '../src/pipeline/journal.js'
import { type CandlesPerItem, fileOf } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import { csvText } from './csv-text.js'
import type { Files, Part } from './files.js'
import { placing } from './placing.js'

/**
 * Puts each item's new candles behind the stored ones that are older than the first of them, or in the place of all where they are the
 * whole history. The file is replaced as a whole. At the end it is told if the market's newest candles are older than its last session.
 */
export const candlesPerItem = (output: CandlesPerItem, context: SinkContext, files: Files): Sink => {
  const { exchange, asOf } = context
  const header = `${output.columns.join(',')}\n`
  const place = placing(({ item, rows, status, whole }) => {
    if (status !== 'success') return undefined
    const file = fileOf(output, exchange, item)
    const candles = rows as RowList<readonly unknown[]>
    const [first] = candles
    const from = Number(first?.[0])
    const lines = candles.csv ?? csvText([...candles])
    const before$ = whole
      ? of(header)
      : files.read(file).pipe(map((stored) => (stored === undefined ? header : older(from, bufferOf(stored), header))))
    return { file, write$: before$.pipe(switchMap((before) => files.write(file, [before, lines], asOf))) }
  })
  return (kept$) => kept$.pipe(tellOfLateness(context), place)
}

/** Where most of the series failed, nobody knows the market's newest day. */
const tellOfLateness =
  ({ asOf, notice }: SinkContext): Sink =>
  (kept$) =>
    defer(() => {
      const newest = new Map<Day, number>()
      let known = 0
      const count = ({ settled: { newest: day } }: Kept): void => {
        if (day !== undefined) newest.set(day, (newest.get(day) ?? 0) + 1)
        known += day === undefined ? -1 : 1
      }
      const tell = (): void => {
        const text = known > 0 ? behindText(newest, asOf) : undefined
        if (text !== undefined) notice(text)
      }
      return kept$.pipe(tap({ next: count, complete: tell }))
    })

const LINE_FEED = 10

/**
 * The header and the stored rows before a timestamp; the header alone of a file with another one. Walks back from the end, where new
 * candles belong.
 */
const older = (from: number, stored: Buffer, header: string): Part => {
  if (stored.toString('latin1', 0, header.length) !== header) return header
  const columns = header.split(',').length
  let end = stored.length
  while (end > header.length) {
    const start = stored.lastIndexOf(LINE_FEED, end - 2) + 1
    const cells = stored.toString('utf8', start, end).split(',').map(Number)
    // A torn line may begin with a part of a timestamp, and so pass for an old one.
    const isWhole = stored[end - 1] === LINE_FEED && cells.length === columns && !cells.some(Number.isNaN)
    if (isWhole && (cells[0] as number) < from) break
    end = start
  }
  return stored.subarray(0, end)
}
