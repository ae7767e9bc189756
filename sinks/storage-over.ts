import { map, type Observable, tap } from 'rxjs'
import { bufferOf } from '../src/model/bytes.js'
import { jsonText } from '../src/model/json-text.js'
import type { Output } from '../src/pipeline/output.js'
import type { Sink, SinkContext, Storage } from '../src/pipeline/storage.js'
import { arrayPerItem } from './array-per-item.js'
import { candlesPerItem } from './candles-per-item.js'
import { documentPerItem } from './document-per-item.js'
import type { Files } from './files.js'
import { readDocument } from './json-lines.js'
import { rowsInOneFile } from './rows-in-one-file.js'
import { textFile } from './text-file.js'

/** Creates a storage that writes every output shape to the given files. */
export const storageOver = (files: Files): Storage => ({
  stored: {
    exists: files.exists,
    tail: files.tail,
    text: (file) => files.read(file).pipe(map((bytes) => bytes && bufferOf(bytes).toString())),
    document: (file) => readDocument(files, file),
  },
  begin: files.begin,
  open: (output, context) => {
    const write: Files['write'] = (file, parts, asOf) => files.write(file, parts, asOf).pipe(tap(context.wrote))
    return sinkOf(output, context, { ...files, write })
  },
  keep: (name, document): Observable<void> =>
    files.write(`.scripstream/${name}`, [`${jsonText(document, 2)}\n`]).pipe(map(() => undefined)),
})

const sinkOf = (output: Output, context: SinkContext, files: Files): Sink => {
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
