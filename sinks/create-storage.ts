import { EMPTY, map, type Observable, tap } from 'rxjs'
import { RUN_LOG } from '../src/model/run-log.js'
import { asBuffer, formatJson } from '../src/model/text.js'
import { type Output, type TextFile, toFilePath } from '../src/pipeline/output.js'
import { type Sink, type SinkContext, type Storage, toStatePath } from '../src/pipeline/storage.js'
import { type FileStore, filePerItem } from '../src/storage/file-store.js'
import { readDocument } from '../src/storage/record-file.js'
import { arrayPerItem } from './array-per-item.js'
import { candlesPerItem } from './candles-per-item.js'
import { documentPerItem } from './document-per-item.js'
import { rowsInOneFile } from './rows-in-one-file.js'

/**
 * Creates a storage that writes every output shape to the given files.
 *
 * @example createStorage({ ...bucketFiles, openSession: memorySession })
 */
export const createStorage = (files: FileStore): Storage => ({
  stored: {
    exists: files.exists,
    tail: files.tail,
    text: (file) => files.read(file).pipe(map((bytes) => bytes && asBuffer(bytes).toString())),
    document: (file) => readDocument(files, file),
  },
  openSession: files.openSession,
  open: (output, context) => {
    const write: FileStore['write'] = (...args) => files.write(...args).pipe(tap(context.wrote))
    return createSink(output, context, { ...files, write })
  },
  storeDocument: (name, document): Observable<void> =>
    files.write(toStatePath(name), [`${formatJson(document, 2)}\n`]).pipe(map(() => undefined)),
  ...(files.append ? { logRun: (entry) => files.append?.(toStatePath(RUN_LOG), formatJson(entry)) ?? EMPTY } : {}),
})

const createSink = (output: Output, context: SinkContext, files: FileStore): Sink => {
  switch (output.shape) {
    case 'rows-in-one-file':
      return rowsInOneFile(output, context, files)
    case 'array-per-item':
      return arrayPerItem(output, context, files)
    case 'document-per-item':
      return documentPerItem(output, context, files)
    case 'candles-per-item':
      return candlesPerItem(output, context, files)
    case 'text':
      return textFile(output, context, files)
  }
}

/** Writes the rows of each item, which are lines of text. */
const textFile = (output: TextFile, { exchange, asOf }: SinkContext, files: FileStore): Sink =>
  filePerItem(({ item, rows, status }) => {
    if (status !== 'success') return undefined
    const file = toFilePath(output, exchange, item)
    const lines = Array.from(rows, (line) => `${String(line)}\n`)
    return { file, write$: files.write(file, lines, asOf) }
  })
