import { map, type Observable } from 'rxjs'
import { bufferOf } from '../src/model/bytes.js'
import { DamagedFile } from '../src/model/errors.js'
import type { Files, Part } from './files.js'

/** The separator between two records of an array. */
export const BETWEEN_RECORDS = Buffer.from(',\n')

/** Formats a JSON array with one record per line, in chunks. `records` are JSON texts. */
export const arrayText = (records: Iterable<string>): Iterable<Part> => enclosed(separated(records))

/** The same for chunks that already have separators between the records. Large chunks are not copied. */
export function* enclosed(parts: Iterable<Part>): Generator<Part> {
  let isFirst = true
  for (const part of parts) {
    if (isFirst) yield OPENED
    yield part
    isFirst = false
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

export function* separated(records: Iterable<string>): Generator<Part> {
  let isFirst = true
  for (const record of records) {
    if (!isFirst) yield BETWEEN_RECORDS
    yield record
    isFirst = false
  }
}

const OPENED = Buffer.from('[\n')

/** Reads a stored JSON document; `undefined` if the file is missing. Errors with `DamagedFileError` if it is not JSON. */
export const readDocument = (files: Files, file: string): Observable<unknown> =>
  files.read(file).pipe(map((bytes) => (bytes === undefined ? undefined : parse(bufferOf(bytes).toString(), file))))

const parse = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable(file)
  }
}

/** The error for a stored file that this run needs and cannot read. */
export const unusable = (file: string): DamagedFile =>
  new DamagedFile(`${file} is damaged, and this run needs its content; move the file away and run again`)
