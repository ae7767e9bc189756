import { map, type Observable } from 'rxjs'
import { bufferOf } from '../src/model/bytes.js'
import { DamagedFile } from '../src/model/errors.js'
import type { Files, Part } from './files.js'

/** Between two records of an array. */
export const BETWEEN_RECORDS = Buffer.from(',\n')

/** A JSON array with one record per line, part by part. `records` are JSON texts. */
export const arrayText = (records: Iterable<string>): Iterable<Part> => enclosed(separated(records))

/** The same, of parts that hold the records and what stands between them: large ones pass as they are. */
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

/** A stored JSON document; nothing if there is no such file. One that is no JSON is a `DamagedFile`. */
export const readDocument = (files: Files, file: string): Observable<unknown> =>
  files.read(file).pipe(map((bytes) => (bytes === undefined ? undefined : parse(bufferOf(bytes).toString(), file))))

const parse = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable(file)
  }
}

/** A stored file whose content is needed and cannot be read. */
export const unusable = (file: string): DamagedFile =>
  new DamagedFile(`${file} is damaged, and what it holds is needed now: move it away and run again`)
