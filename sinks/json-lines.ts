import { map, type Observable } from 'rxjs'
import { DamagedFile } from '../src/model/errors.js'
import type { Part } from './atomic-file.js'
import type { Files } from './files.js'

/** Between two records of an array. */
export const BETWEEN_RECORDS = Buffer.from(',\n')

/** A JSON array with one record per line, part by part. A part is the JSON of a record, or of several with what stands between them. */
export function* arrayText(parts: Iterable<Part>): Generator<Part> {
  let isFirst = true
  for (const part of parts) {
    yield isFirst ? OPENED : BETWEEN_RECORDS
    yield part
    isFirst = false
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

const OPENED = Buffer.from('[\n')

/** A stored JSON document; nothing if there is no such file. One that is no JSON is a `DamagedFile`. */
export const readDocument = (files: Files, file: string): Observable<unknown> =>
  files.read(file).pipe(map((text) => (text === undefined ? undefined : parse(text, file))))

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
