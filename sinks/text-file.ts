import { type TextFile, toFilePath } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import { filePerItem } from '../src/storage/file-per-item.js'
import type { FileStore } from '../src/storage/file-store.js'

/** Writes the rows of each item, which are lines of text. */
export const textFile = (output: TextFile, { exchange, asOf }: SinkContext, files: FileStore): Sink =>
  filePerItem(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const lines = Array.from(rows, (line) => `${String(line)}\n`)
    return { file, write$: files.write(file, lines, asOf) }
  })
