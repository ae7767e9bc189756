import { map, type Observable } from 'rxjs'
import type { LockedStorage, SessionRequest, Tail } from '../engine/storage.js'
import { DamagedFileError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import { asBuffer, repairJson } from '../model/text.js'
import { disk } from './disk.js'
import type { FileChunk } from './file-system.js'

/**
 * Reads a stored JSON document; `undefined` if the file is missing. Errors with `DamagedFileError` if it is
 * not JSON.
 */
export const readStoredDocument = (files: FileStore, file: string): Observable<unknown> =>
  files
    .read(file)
    .pipe(map((bytes) => (bytes === undefined ? undefined : parseStored(asBuffer(bytes).toString(), file))))

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

const parseStored = (text: string, file: string): unknown => {
  try {
    return JSON.parse(repairJson(text))
  } catch {
    throw createDamagedFileError(file)
  }
}

/** Parses lines of records, each with a comma after it, which the last one may lack. */
type ParseLines = (lines: string, file: string) => readonly unknown[]

const parseLines: ParseLines = (lines, file) => parseRecords(`[${lines.trimEnd().replace(/,$/, '')}]`, file)

/** Reads only `Symbol` and `ISIN` of records, which come first in files that a run wrote. */
export const parseOwners: ParseLines = (lines, file) => {
  const owners = lines.trimEnd().split('\n').map(readOwner)
  return owners.includes(undefined) ? parseLines(lines, file) : owners
}

const readOwner = (line: string): Row | undefined => {
  const [, symbol, isin] = /^\{"Symbol":"([^"\\]*)","ISIN":"([^"\\]*)"/.exec(line) ?? []
  return symbol === undefined ? undefined : { Symbol: symbol, ISIN: isin }
}

/** The first two lines of an array with one record per line, as a run writes it. */
const OPENING = /^\[\n(?:\{[^\n]*\},?|\])\n/

/**
 * Reads the records of a stored array: in batches if it has one record per line; otherwise the whole file at
 * once.
 */
export async function* readRecords(
  path: string,
  file: string,
  parse = parseLines,
): AsyncGenerator<readonly Row[]> {
  let [isOpen, isClosed] = [false, false]
  let text = ''
  for await (const lines of readLines(path)) {
    text += lines
    if (!isOpen) {
      if (text.indexOf('\n') === text.lastIndexOf('\n')) continue
      if (!OPENING.test(text)) break
      isOpen = true
      text = text.slice('[\n'.length)
    }
    isClosed = /(?:^|\n)\]\n?$/.test(text.slice(-3))
    yield parse(isClosed ? text.slice(0, text.lastIndexOf(']')) : text, file).filter(isRow)
    text = ''
  }
  if (!isOpen) yield parseRecords(await disk.readFile(path, 'utf8'), file)
  else if (!isClosed) throw createDamagedFileError(file)
}

/**
 * Reads the lines of a file with their line feeds, several at a time. Text after the last line feed is a
 * line, too.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  const rest: Buffer[] = []
  for await (const chunk of disk.createReadStream(path, {
    highWaterMark: 1 << 16,
  }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf('\n') + 1
    if (end > 0) yield Buffer.concat([...rest.splice(0), chunk.subarray(0, end)]).toString()
    rest.push(chunk.subarray(end))
  }
  const last = Buffer.concat(rest)
  if (last.length > 0) yield last.toString()
}

/**
 * The file system calls that the sinks need. Paths are relative, with `/`. Each call emits once, except
 * `records` and `owners`.
 */
export interface FileStore {
  /** All bytes of a file; `undefined` if it is missing. */
  read(file: string): Observable<Uint8Array | undefined>
  exists(file: string): Observable<boolean>
  /** See `Stored`. */
  list?(folder: string): Observable<readonly string[]>
  /** `undefined` if the file is missing. */
  tail(file: string): Observable<Tail | undefined>
  /**
   * The records of a stored JSON array, streamed one by one; none if the file is missing. Errors with
   * `DamagedFileError`.
   */
  records(file: string): Observable<Row>
  /** The same records, of which only `Symbol` and `ISIN` are needed. */
  owners(file: string): Observable<Row>
  /**
   * Replaces a file atomically, with `asOf` as its modification time if given; emits its size in bytes. A
   * file with the same bytes is not touched and keeps its modification time. `base` is the stored content
   * that the new one continues; a store that keeps digests checks it.
   */
  write(file: string, parts: Iterable<FileChunk>, asOf?: number, base?: Uint8Array): Observable<number>
  /** Accepts a stored file as it is; a store that keeps digests renews that of a file that changed. */
  keep?(file: string): void
  /** See `Storage`. */
  move?(from: string, to: string): Observable<void>
  /** Adds a line at the end of a file; absent where files cannot grow. */
  append?(file: string, line: string): Observable<void>
  /** See `Storage`. */
  openSession(request: SessionRequest): Observable<LockedStorage>
}

const MAX_TAIL_LINES = 2

/**
 * Extracts header and last lines from the first and last bytes of a file. Ignores a last line without line
 * feed: it may be torn.
 *
 * @example createTail({ head: text, end: text, asOf: Date.now() })
 */
export const createTail = ({
  head,
  end,
  asOf,
}: {
  readonly head: string
  readonly end: string
  readonly asOf: number
}): Tail => {
  const [header = ''] = head.split('\n', 1)
  const whole = end.slice(0, end.lastIndexOf('\n') + 1).split('\n')
  return {
    header,
    lines: whole
      .slice(0, -1)
      .slice(-MAX_TAIL_LINES)
      .filter((line) => line !== header),
    asOf,
  }
}
