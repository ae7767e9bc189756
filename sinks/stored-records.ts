import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isRow, type Row } from '../src/model/row.js'
import { unusable } from './json-lines.js'

/** The records of a stored array; anything else in it is passed over. Throws `DamagedFile` if the text is no array. */
export const recordsOf = (text: string, file: string): readonly Row[] => {
  const records = parsed(text, file)
  if (!Array.isArray(records)) throw unusable(file)
  return records.filter(isRow)
}

/** How the line of a record is read. */
type ReadLine = (line: Buffer, file: string) => unknown

/** The records of a stored array, many at a time where it is laid out as we do, a record a line; else it is read as a whole. */
export async function* recordsIn(path: string, file: string, read: ReadLine = recordIn): AsyncGenerator<readonly Row[]> {
  // Both may come in bunches of their own.
  const toCome: ((line: Buffer) => boolean)[] = [(line) => isText(line, '['), (line) => isRecord(line) || isText(line, ']')]
  let last: Buffer | undefined
  for await (const lines of linesIn(path)) {
    for (const line of lines.slice(0, toCome.length))
      if (toCome.shift()?.(line) === false) return yield recordsOf(await readFile(path, 'utf8'), file)
    if (last === undefined) lines.shift()
    last = lines.at(-1) ?? last ?? OPENING
    if (isText(last, ']')) lines.pop()
    yield lines.map((line) => read(line, file)).filter(isRow)
  }
  if (!isText(last, ']')) throw unusable(file)
}

/** Reads no more of a record than whose it is, which stands first where we wrote it. */
export const ownerIn: ReadLine = (line, file) => {
  const owner = isRecord(line) ? OWNER.exec(line.toString('latin1', 0, OWNER_BYTES)) : undefined
  return owner ? { Symbol: owner[1], ISIN: owner[2] } : recordIn(line, file)
}

const OWNER = /^\{"Symbol":"([ !#-[\]-~]*)","ISIN":"([ !#-[\]-~]*)"/
const OWNER_BYTES = 120

const recordIn: ReadLine = (line, file) => parsed(line.toString('utf8', 0, line.length - (line.at(-1) === COMMA ? 1 : 0)), file)

const [LINE_FEED, COMMA, OPENS, CLOSES] = Buffer.from('\n,{}')

const isRecord = (line: Buffer): boolean => line[0] === OPENS && line.at(line.at(-1) === COMMA ? -2 : -1) === CLOSES

const OPENING = Buffer.from('[')

const isText = (line: Buffer | undefined, text: string): boolean => line?.length === text.length && line.toString() === text

/** The lines of a file, as many at a time as are read at once; what follows the last line end is one, too, unless there is nothing. */
async function* linesIn(path: string): AsyncGenerator<Buffer[]> {
  let begun: Buffer[] = []
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
    const lines: Buffer[] = []
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED as number); end >= 0; end = chunk.indexOf(LINE_FEED as number, from)) {
      const part = chunk.subarray(from, end)
      lines.push(begun.length === 0 ? part : Buffer.concat([...begun, part]))
      begun = []
      from = end + 1
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
    if (lines.length > 0) yield lines
  }
  if (begun.length > 0) yield [Buffer.concat(begun)]
}

const parsed = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable(file)
  }
}
