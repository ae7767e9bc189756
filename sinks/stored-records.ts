import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { isRow, type Row } from '../src/model/row.js'
import { unusable } from './json-lines.js'

/** The records of a stored array; anything else in it is passed over. Throws `DamagedFile` if the text is no array. */
export const recordsOf = (text: string, file: string): readonly Row[] => {
  const records = parsed(text, file)
  if (!Array.isArray(records)) throw unusable(file)
  return records.filter(isRow)
}

/** The records of a stored array, one by one where it is laid out as we do, a record a line; else it is read as a whole. */
export async function* recordsIn(path: string, file: string): AsyncGenerator<Row> {
  const input = createReadStream(path)
  try {
    let place = 0
    let last = ''
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if ((place === 0 && line !== '[') || (place === 1 && !isRecord(line))) return yield* recordsOf(await readFile(path, 'utf8'), file)
      if (place > 0 && line !== ']') {
        const record = parsed(line.replace(/,$/, ''), file)
        if (isRow(record)) yield record
      }
      place += 1
      last = line
    }
    if (last !== ']') throw unusable(file)
  } finally {
    input.destroy()
  }
}

const isRecord = (line: string): boolean => line.startsWith('{') && /\},?$/.test(line)

const parsed = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable(file)
  }
}
