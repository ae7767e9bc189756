import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isRow, type Row } from '../src/model/row.js'
import { unusable } from './json-lines.js'

/** Parses the records of a stored array and ignores other elements. Throws `DamagedFileError` if the text is not an array. */
export const recordsOf = (text: string, file: string): readonly Row[] => {
  const records = parsed(text, file)
  if (!Array.isArray(records)) throw unusable(file)
  return records.filter(isRow)
}

/** Parses the line of a record. */
type ReadLine = (line: Buffer, file: string) => unknown

/** Reads the records of a stored array: in batches if it has one record per line, as a run writes it; otherwise the whole file at once. */
export async function* recordsIn(path: string, file: string, read: ReadLine = recordIn): AsyncGenerator<readonly Row[]> {
  // Checks of the first two lines, which may arrive in different batches.
  const checks: ((line: Buffer) => boolean)[] = [(line) => isText(line, '['), (line) => isRecord(line) || isText(line, ']')]
  let last: Buffer | undefined
  for await (const lines of linesIn(path)) {
    for (const line of lines.slice(0, checks.length))
      if (checks.shift()?.(line) === false) return yield recordsOf(await readFile(path, 'utf8'), file)
    if (last === undefined) lines.shift()
    last = lines.at(-1) ?? last ?? OPENING
    if (isText(last, ']')) lines.pop()
    yield lines.map((line) => read(line, file)).filter(isRow)
  }
  if (!isText(last, ']')) throw unusable(file)
}

/** Reads only `Symbol` and `ISIN` of a record, which come first in files that a run wrote. */
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

/** Reads the lines of a file, one batch for each chunk. Text after the last line feed is a line, too. */
async function* linesIn(path: string): AsyncGenerator<Buffer[]> {
  let incomplete: Buffer[] = []
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
    const lines: Buffer[] = []
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED as number); end >= 0; end = chunk.indexOf(LINE_FEED as number, from)) {
      const part = chunk.subarray(from, end)
      lines.push(incomplete.length === 0 ? part : Buffer.concat([...incomplete, part]))
      incomplete = []
      from = end + 1
    }
    if (from < chunk.length) incomplete.push(chunk.subarray(from))
    if (lines.length > 0) yield lines
  }
  if (incomplete.length > 0) yield [Buffer.concat(incomplete)]
}

const parsed = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable(file)
  }
}
