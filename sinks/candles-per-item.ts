import { defer, of, switchMap, tap } from 'rxjs'
import { describeLag } from '../src/market/candle-checks.js'
import { formatAppended, formatCandleFile } from '../src/market/candle-file.js'
import type { Candles } from '../src/model/candle.js'
import type { Day } from '../src/model/trading-day.js'
import { type CandlesPerItem, toFilePath } from '../src/pipeline/output.js'
import type { SinkItem } from '../src/pipeline/session.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { FileStore } from '../src/storage/file-store.js'
import { filePerItem } from '../src/storage/file-store.js'

/**
 * Appends the new candles of each item to the stored ones that are older than the first new candle. A whole history replaces all stored
 * candles. The file is rewritten atomically. At the end, warns if the newest candles of the market are older than its last session.
 */
export const candlesPerItem = (output: CandlesPerItem, context: SinkContext, files: FileStore): Sink => {
  const { exchange, asOf } = context
  const writeItems = filePerItem(({ item, rows, status, whole }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const candles = rows as Candles
    const stored$ = whole ? of(undefined) : files.read(file)
    const format = (stored?: Uint8Array) => (stored === undefined ? formatCandleFile(candles) : formatAppended(stored, candles))
    return { file, write$: stored$.pipe(switchMap((stored) => files.write(file, format(stored), asOf, stored))) }
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
      const count = ({ outcome: { newest: day } }: SinkItem): void => {
        if (day !== undefined) newest.set(day, (newest.get(day) ?? 0) + 1)
        known += day === undefined ? -1 : 1
      }
      const reportLateness = (): void => {
        const text = known > 0 ? describeLag(newest, asOf) : undefined
        if (text !== undefined) warn(text)
      }
      return items$.pipe(tap({ next: count, complete: reportLateness }))
    })
