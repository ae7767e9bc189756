import { fileOf, type TextFile } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { Files } from './files.js'
import { placing } from './placing.js'

/** Writes the rows of each item, which are lines of text. */
export const textFile = (output: TextFile, { exchange, asOf }: SinkContext, files: Files): Sink =>
  placing(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = fileOf(output, exchange, item)
    const lines = Array.from(rows, (line) => `${String(line)}\n`)
    return { file, write$: files.write(file, lines, asOf) }
  })
