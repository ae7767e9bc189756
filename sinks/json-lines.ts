import { map, type Observable } from 'rxjs'
import { DamagedFile } from '../src/model/errors.js'
import type { Files } from './files.js'

/** The text of a JSON array with one record per line, part by part. `lines` are JSON texts. */
export function* arrayText(lines: Iterable<string>): Generator<string> {
  let isFirst = true
  for (const line of lines) {
    yield isFirst ? `[\n${line}` : `,\n${line}`
    isFirst = false
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

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
