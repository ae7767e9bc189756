import { filter, map } from 'rxjs'
import { fileOf, type TextFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { written } from './written.js'

/** Writes an item's rows, which are lines of text. */
export const textFile =
  (output: TextFile, { exchange, asOf }: SinkContext, files: Files): Sink =>
  (settled$) =>
    settled$.pipe(
      filter(({ status }) => status === 'success'),
      map(({ item, rows }) =>
        files.write(
          fileOf(output, exchange, item),
          rows.map((line) => `${String(line)}\n`),
          asOf,
        ),
      ),
      written(),
    )
