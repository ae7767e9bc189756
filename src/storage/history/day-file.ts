import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { DamagedFileError } from '../../model/errors.js'
import type { RewrittenFile } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { getErrorCode } from '../file-system.js'
import { collect, compress } from './compression.js'

/** The facts about one entry of a day: the state of a file, or what else was recorded. */
export interface EntryFacts {
  /** When it was collected, ISO 8601. The day is what it is about. */
  readonly knownAt: string
  /** The stream that wrote the file. */
  readonly stream?: string
  /** The base that it is a difference from; absent if it needs none. */
  readonly base?: string
}

export interface Entry extends EntryFacts {
  /** Compressed: a file, or its difference from the base, or the JSON of what else was recorded. Empty if the file is as its base. */
  readonly bytes: Buffer
}

/** The record of a day: entries by the path of their file. */
export interface DayRecord {
  readonly day: Day
  readonly entries: Readonly<Record<string, Entry>>
}

/** What can be read of the record of a day, and the names of the other entries. */
export interface ReadableRecord extends DayRecord {
  readonly damaged: readonly string[]
}

/** The entries that are no files. */
export const FIRST_SEEN = '.first-seen'
export const REWRITTEN = '.rewritten'

/** The content of `REWRITTEN`: the files that runs of a day replaced, by stream, each with when it was. */
export type Rewritten = Readonly<Record<string, readonly (RewrittenFile & Partial<Pick<EntryFacts, 'knownAt'>>)[]>>

export const pack = (content: object): Promise<Buffer> => compress([Buffer.from(JSON.stringify(content))], collect)

/** The content of `pack`; an empty object without it. */
export const unpack = async (entry: Entry | undefined): Promise<object> =>
  entry === undefined ? {} : (JSON.parse((await promisify(brotliDecompress)(entry.bytes)).toString()) as object)

const VERSION = 1

/** A digest of a part of the history: brotli does not notice every change. */
export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

interface Header {
  readonly day: Day
  readonly entries: readonly (EntryFacts & { readonly name: string; readonly length: number; readonly digest: string })[]
}

/** A line of JSON, which tells what there is without decompression, and then the entries. */
export const formatDay = ({ day, entries }: DayRecord): readonly Buffer[] => {
  const all = Object.entries(entries)
  const facts = all.map(([name, { bytes, ...entry }]) => ({ name, ...entry, length: bytes.length, digest: digestOf(bytes) }))
  const header: Header & { readonly version: number } = { version: VERSION, day, entries: facts }
  return [Buffer.from(`${JSON.stringify(header)}\n`), ...all.map(([, { bytes }]) => bytes)]
}

/** Reads the record of a day; `undefined` without one. @throws DamagedFileError if any part of it is damaged */
export const readDay = async (path: string): Promise<DayRecord | undefined> => {
  const record = await readWhatIsReadable(path)
  if (record !== undefined && record.damaged.length > 0) throw createDamagedError(path)
  return record
}

/** Reads what can be read of the record of a day; `undefined` without one. @throws DamagedFileError if nothing can be read */
export const readWhatIsReadable = async (path: string): Promise<ReadableRecord | undefined> => {
  const file = await readFile(path).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return undefined
    throw error
  })
  return file && parseDay(file, path)
}

const createDamagedError = (path: string): DamagedFileError =>
  new DamagedFileError(`${path} is damaged; delete it: the history of its day is lost, other days stay`)

const parseDay = (file: Buffer, path: string): ReadableRecord => {
  const end = file.indexOf('\n')
  const header = parseHeader(file.toString('utf8', 0, Math.max(0, end)))
  if (header === undefined) throw createDamagedError(path)
  let from = end + 1
  const damaged: string[] = []
  const entries = header.entries.flatMap(({ name, length, digest, ...facts }) => {
    const bytes = file.subarray(from, from + length)
    from += length
    if (digestOf(bytes) === digest) return [[name, { ...facts, bytes }] as const]
    damaged.push(name)
    return []
  })
  return { day: header.day, entries: Object.fromEntries(entries), damaged }
}

const parseHeader = (line: string): Header | undefined => {
  try {
    const header: unknown = JSON.parse(line)
    return isRow(header) && header.version === VERSION && Array.isArray(header.entries) ? (header as unknown as Header) : undefined
  } catch {
    return undefined
  }
}
