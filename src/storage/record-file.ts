import { map, type Observable } from 'rxjs'
import { DamagedFileError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import { asBuffer, repairJson } from '../model/text.js'
import { disk } from './disk.js'
import type { FileChunk, FileStore } from './file-store.js'

/** The separator between two records of an array. */
export const RECORD_SEPARATOR: Uint8Array = Buffer.from(',\n')

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
  files.read(file).pipe(map((bytes) => (bytes === undefined ? undefined : parseStored(asBuffer(bytes).toString(), file))))

/** The error for a stored file that this run needs and cannot read. */
const createDamagedFileError = (file: string): DamagedFileError =>
  new DamagedFileError(`${file} is damaged, and this run needs its content; move the file away and run again`)

/**
 * Parses the records of a stored array and ignores other elements.
 *
 * @throws DamagedFileError if the text is not an array
 * @example from(parseRecords(text, 'market_news/TCS_news.json'))
 */
export const parseRecords = (text: string, file: string): readonly Row[] => {
  const records = parseStored(text, file)
  if (!Array.isArray(records)) throw createDamagedFileError(file)
  return records.filter(isRow)
}

/** Parses the line of a record. */
type ParseLine = (line: Buffer, file: string) => unknown

/** Reads the records of a stored array: in batches if it has one record per line, as a run writes it; otherwise the whole file at once. */
export async function* readRecords(path: string, file: string, read: ParseLine = parseRecord): AsyncGenerator<readonly Row[]> {
  // Checks of the first two lines, which may arrive in different batches.
  const checks: ((line: Buffer) => boolean)[] = [(line) => equalsText(line, '['), (line) => isRecordLine(line) || equalsText(line, ']')]
  let last: Buffer | undefined
  for await (const lines of readLineBatches(path)) {
    for (const line of lines.slice(0, checks.length))
      if (checks.shift()?.(line) === false) return yield parseRecords(await disk.readFile(path, 'utf8'), file)
    if (last === undefined) lines.shift()
    last = lines.at(-1) ?? last ?? OPENING
    if (equalsText(last, ']')) lines.pop()
    yield lines.map((line) => read(line, file)).filter(isRow)
  }
  if (!equalsText(last, ']')) throw createDamagedFileError(file)
}

/** Reads only `Symbol` and `ISIN` of a record, which come first in files that a run wrote. */
export const parseOwner: ParseLine = (line, file) => {
  const owner = isRecordLine(line) ? OWNER_PATTERN.exec(line.toString('latin1', 0, OWNER_BYTES)) : undefined
  return owner ? { Symbol: owner[1], ISIN: owner[2] } : parseRecord(line, file)
}

const OWNER_PATTERN = /^\{"Symbol":"([ !#-[\]-~]*)","ISIN":"([ !#-[\]-~]*)"/
const OWNER_BYTES = 120

const parseRecord: ParseLine = (line, file) => parseStored(line.toString('utf8', 0, line.length - (line.at(-1) === COMMA ? 1 : 0)), file)

const [LINE_FEED, COMMA, OPENS, CLOSES] = Buffer.from('\n,{}')

const isRecordLine = (line: Buffer): boolean => line[0] === OPENS && line.at(line.at(-1) === COMMA ? -2 : -1) === CLOSES

const OPENING = Buffer.from('[')

const equalsText = (line: Buffer | undefined, text: string): boolean => line?.length === text.length && line.toString() === text

/** Reads the lines of a file, one batch for each chunk. Text after the last line feed is a line, too. */
async function* readLineBatches(path: string): AsyncGenerator<Buffer[]> {
  let incomplete: Buffer[] = []
  for await (const chunk of disk.createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
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

const parseStored = (text: string, file: string): unknown => {
  try {
    return JSON.parse(repairJson(text))
  } catch {
    throw createDamagedFileError(file)
  }
}
