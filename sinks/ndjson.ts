import type { Writable } from 'node:stream'
import * as lines from 'ndjson'
import { Observable } from 'rxjs'
import type { Sink } from '../src/pipeline/storage.js'

/**
 * A sink that writes every record as a line of JSON to a stream, `Symbol` or list name first under `item`. It does not end the stream.
 * Reports no files; `bytes` is what was written. For pipes and for apps that embed a collector.
 */
export const ndjson =
  (writable: Writable): Sink =>
  (settled$) =>
    new Observable((subscriber) => {
      const encoder = lines.stringify()
      let bytes = 0
      encoder.on('data', (line: Buffer | string) => {
        bytes += Buffer.byteLength(line)
        writable.write(line)
      })
      encoder.on('end', () => {
        subscriber.next({ files: 0, bytes })
        subscriber.complete()
      })
      return settled$.subscribe({
        next: ({ item, rows }) => {
          for (const row of rows) encoder.write({ item: item.key, row })
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => encoder.end(),
      })
    })
