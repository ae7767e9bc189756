import { of, switchMap } from 'rxjs'
import { formatAppended, formatCandleFile } from '../src/market/candle-file.js'
import type { Candles } from '../src/model/candle.js'
import { type CandlesPerItem, toFilePath } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { FileStore } from '../src/storage/file-store.js'
import { filePerItem } from '../src/storage/file-store.js'

/**
 * Appends the new candles of each item to the stored ones that are older than the first new candle. A whole history replaces all stored
 * candles. The file is rewritten atomically.
 */
export const candlesPerItem = (output: CandlesPerItem, { exchange, asOf }: SinkContext, files: FileStore): Sink =>
  filePerItem(({ item, rows, status, whole }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const candles = rows as Candles
    const stored$ = whole ? of(undefined) : files.read(file)
    const format = (stored?: Uint8Array) => (stored === undefined ? formatCandleFile(candles) : formatAppended(stored, candles))
    return { file, write$: stored$.pipe(switchMap((stored) => files.write(file, format(stored), asOf, stored))) }
  })
