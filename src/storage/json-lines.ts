import { map, type Observable } from 'rxjs'
import { asBuffer } from '../model/bytes.js'
import { DamagedFileError } from '../model/errors.js'
import type { FileChunk, FileStore } from './file-store.js'

/** The separator between two records of an array. */
export const RECORD_SEPARATOR = Buffer.from(',\n')

/** Formats a JSON array with one record per line, in chunks. `records` are JSON texts. */
export const arrayText = (records: Iterable<string>): Iterable<FileChunk> => encloseInArray(separateRecords(records))

/** The same for chunks that already have separators between the records. */
export function* encloseInArray(parts: Iterable<FileChunk>): Generator<FileChunk> {
  let isFirst = true
  for (const part of parts) {
    if (isFirst) yield ARRAY_START
    yield part
    isFirst = false
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

export function* separateRecords(records: Iterable<string>): Generator<FileChunk> {
  let isFirst = true
  for (const record of records) {
    if (!isFirst) yield RECORD_SEPARATOR
    yield record
    isFirst = false
  }
}

const ARRAY_START = Buffer.from('[\n')

/** Reads a stored JSON document; `undefined` if the file is missing. Errors with `DamagedFileError` if it is not JSON. */
export const readDocument = (files: FileStore, file: string): Observable<unknown> =>
  files.read(file).pipe(map((bytes) => (bytes === undefined ? undefined : parseDocument(asBuffer(bytes).toString(), file))))

const parseDocument = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw createDamagedFileError(file)
  }
}

/** The error for a stored file that this run needs and cannot read. */
export const createDamagedFileError = (file: string): DamagedFileError =>
  new DamagedFileError(`${file} is damaged, and this run needs its content; move the file away and run again`)
