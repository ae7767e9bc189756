import { defer, map, of, switchMap, tap } from 'rxjs'
import { describeLag } from '../src/market/last-session.js'
import { asBuffer } from '../src/model/bytes.js'
import type { RowList } from '../src/model/outcome.js'
import type { Day } from '../src/model/trading-day.js'
import type { StoredItem } from '../src/pipeline/journal.js'
import { type CandlesPerItem, toFilePath } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import { filePerItem } from '../src/storage/file-per-item.js'
import type { FileChunk, FileStore } from '../src/storage/file-store.js'
import { csvText } from './csv-text.js'

/**
 * Appends the new candles of each item to the stored ones that are older than the first new candle. A whole history replaces all stored
 * candles. The file is rewritten atomically. At the end, warns if the newest candles of the market are older than its last session.
 */
export const candlesPerItem = (output: CandlesPerItem, context: SinkContext, files: FileStore): Sink => {
  const { exchange, asOf } = context
  const header = `${output.columns.join(',')}\n`
  const writeItems = filePerItem(({ item, rows, status, whole }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const candles = rows as RowList<readonly unknown[]>
    const [first] = candles
    const from = Number(first?.[0])
    const lines = candles.csv ?? csvText([...candles])
    const before$ = whole
      ? of(header)
      : files.read(file).pipe(map((stored) => (stored === undefined ? header : selectOlder(from, asBuffer(stored), header))))
    return { file, write$: before$.pipe(switchMap((before) => files.write(file, [before, lines], asOf))) }
  })
  return (items$) => items$.pipe(warnIfBehind(context), writeItems)
}

/** If most series failed, the newest day of the market is unknown: no warning. */
const warnIfBehind =
  ({ asOf, warn }: SinkContext): Sink =>
  (items$) =>
    defer(() => {
      const newest = new Map<Day, number>()
      let known = 0
      const count = ({ settled: { newest: day } }: StoredItem): void => {
        if (day !== undefined) newest.set(day, (newest.get(day) ?? 0) + 1)
        known += day === undefined ? -1 : 1
      }
      const reportLateness = (): void => {
        const text = known > 0 ? describeLag(newest, asOf) : undefined
        if (text !== undefined) warn(text)
      }
      return items$.pipe(tap({ next: count, complete: reportLateness }))
    })

const LINE_FEED = 10

/**
 * Returns the header and the stored rows before a timestamp, or the header alone if the stored one differs. Searches backwards, because
 * new candles overlap only the end.
 */
const selectOlder = (from: number, stored: Buffer, header: string): FileChunk => {
  if (stored.toString('latin1', 0, header.length) !== header) return header
  const columns = header.split(',').length
  let end = stored.length
  while (end > header.length) {
    const start = stored.lastIndexOf(LINE_FEED, end - 2) + 1
    const cells = stored.toString('utf8', start, end).split(',').map(Number)
    // A torn line may start with part of a timestamp, which would look like an older one.
    const isWhole = stored[end - 1] === LINE_FEED && cells.length === columns && !cells.some(Number.isNaN)
    if (isWhole && (cells[0] as number) < from) break
    end = start
  }
  return stored.subarray(0, end)
}
