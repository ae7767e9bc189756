import { stringify } from 'csv-stringify/sync'
import { switchMap } from 'rxjs'
import { type CandlesPerItem, fileOf } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { placing } from './placing.js'

/** Puts each item's new candles behind the stored ones that are older than the first of them. The file is replaced as a whole. */
export const candlesPerItem = (output: CandlesPerItem, { exchange, asOf }: SinkContext, files: Files): Sink => {
  const header = `${output.columns.join(',')}\n`
  return placing(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = fileOf(output, exchange, item)
    const from = Number((rows[0] as readonly number[])[0])
    const text = stringify(rows as unknown[][])
    const write$ = files
      .read(file)
      .pipe(switchMap((stored) => files.write(file, [header, olderThan(from, stored ?? '', header), text], asOf)))
    return { file, write$ }
  })
}

/** The stored rows before a timestamp; none of a file with another header. Walks back from the end, where new candles belong. */
const olderThan = (from: number, stored: string, header: string): string => {
  if (!stored.startsWith(header)) return ''
  let end = stored.length
  while (end > header.length) {
    const start = stored.lastIndexOf('\n', end - 2) + 1
    if (stored[end - 1] === '\n' && Number.parseInt(stored.slice(start, end), 10) < from) break
    end = start
  }
  return stored.slice(header.length, end)
}
