import { filter, map } from 'rxjs'
import type { Row } from '../src/model/row.js'
import { type DocumentPerItem, fileOf } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { written } from './written.js'

/** Writes one JSON document for each item that has rows, as soon as it is settled. Holds nothing. */
export const documentPerItem =
  (output: DocumentPerItem, { exchange, asOf }: SinkContext, files: Files): Sink =>
  (settled$) =>
    settled$.pipe(
      filter(({ status }) => status === 'success'),
      map(({ item, rows }) => {
        const document = output.document(rows as readonly Row[], item)
        return files.write(fileOf(output, exchange, item), [`${JSON.stringify(document)}\n`], asOf)
      }),
      written(),
    )
