import { map, type Observable } from 'rxjs'
import { StorageError } from '../src/model/errors.js'
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

/** The records of a stored JSON array; none if there is no such file. One that is no array is an error: it must not be written over. */
export const readArray = (files: Files, file: string): Observable<readonly unknown[]> =>
  files.read(file).pipe(
    map((text) => {
      if (text === undefined) return []
      const records = parse(text)
      if (!Array.isArray(records))
        throw new StorageError(`${file} is not a JSON array, so its records cannot be kept: move it away and run again`)
      return records
    }),
  )

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
