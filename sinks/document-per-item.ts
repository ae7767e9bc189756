import type { Row } from '../src/model/row.js'
import { type DocumentPerItem, fileOf } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { placing } from './placing.js'

/** Writes one JSON document for each item that has rows, as soon as it is settled. Holds nothing. */
export const documentPerItem = (output: DocumentPerItem, { exchange, asOf }: SinkContext, files: Files): Sink =>
  placing(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = fileOf(output, exchange, item)
    const document = output.document([...rows] as readonly Row[], item)
    return { file, write$: files.write(file, [`${JSON.stringify(document)}\n`], asOf) }
  })
