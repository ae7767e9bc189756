import * as lines from 'ndjson'
import { Observable } from 'rxjs'
import type { Sink } from '../src/pipeline/storage.js'

/** Where lines go: a Node stream, or anything that takes text. */
export interface LineWriter {
  write(line: string): unknown
}

/**
 * A sink that writes every record as a line of JSON to a stream, `Symbol` or list name first under `item`. It does not end the stream,
 * and adds no files. For pipes and for apps that embed a collector.
 */
export const ndjson =
  (writable: LineWriter): Sink =>
  (kept$) =>
    new Observable((subscriber) => {
      const encoder = lines.stringify()
      encoder.on('data', (line: unknown) => writable.write(String(line)))
      encoder.on('end', () => subscriber.complete())
      return kept$.subscribe({
        next: (kept) => {
          for (const row of kept.settled.rows) encoder.write({ item: kept.settled.item.key, row })
          subscriber.next(kept)
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => encoder.end(),
      })
    })
