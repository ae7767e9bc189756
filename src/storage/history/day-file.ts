import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { DamagedFileError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { getErrorCode } from '../file-system.js'

/** The facts about one entry of a day: the state of a file, or what else was recorded. */
export interface EntryFacts {
  /** When it was collected, ISO 8601. The day is what it is about. */
  readonly knownAt: string
  /** The stream that wrote the file. */
  readonly stream?: string
  /** The base that it is a difference from; absent if it needs none. */
  readonly base?: string
  readonly format?: 'array' | 'document' | 'text'
}

export interface Entry extends EntryFacts {
  /** Compressed JSON; see `pack`. */
  readonly bytes: Buffer
}

/** The record of a day: entries by the path of their file. */
export interface DayRecord {
  readonly day: Day
  readonly entries: Readonly<Record<string, Entry>>
}

/** The entries that are no files. */
export const FIRST_SEEN = '.first-seen'
export const REWRITTEN = '.rewritten'

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** Higher qualities gain 5 % and take three times as long. */
const OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } }

export const pack = (text: string): Promise<Buffer> => compress(text, OPTIONS)

export const unpack = async (bytes: Buffer, path: string): Promise<unknown> => {
  try {
    return JSON.parse((await decompress(bytes)).toString())
  } catch {
    throw createDamagedError(path)
  }
}

const createDamagedError = (path: string): DamagedFileError =>
  new DamagedFileError(`${path} is damaged; delete it: the history of its day is lost, other days stay`)

const VERSION = 1

/** A line of JSON, which tells what there is without decompression, and then the entries. */
export const formatDay = ({ day, entries }: DayRecord): readonly Buffer[] => {
  const all = Object.entries(entries)
  const facts = all.map(([name, { bytes, ...entry }]) => ({ name, ...entry, length: bytes.length }))
  return [Buffer.from(`${JSON.stringify({ version: VERSION, day, entries: facts })}\n`), ...all.map(([, { bytes }]) => bytes)]
}

/** Reads the record of a day; `undefined` if there is none. @throws DamagedFileError */
export const readDay = async (path: string): Promise<DayRecord | undefined> => {
  const file = await readFile(path).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return undefined
    throw error
  })
  return file && parseDay(file, path)
}

const parseDay = (file: Buffer, path: string): DayRecord => {
  const end = file.indexOf('\n')
  const header = parseHeader(file.toString('utf8', 0, Math.max(0, end)))
  if (header === undefined) throw createDamagedError(path)
  let from = end + 1
  const entries = header.entries.map(({ name, length, ...facts }) => {
    const bytes = file.subarray(from, from + length)
    from += length
    return [name, { ...facts, bytes }] as const
  })
  if (from !== file.length) throw createDamagedError(path)
  return { day: header.day, entries: Object.fromEntries(entries) }
}

interface Header {
  readonly day: Day
  readonly entries: readonly (EntryFacts & { readonly name: string; readonly length: number })[]
}

const parseHeader = (line: string): Header | undefined => {
  try {
    const header: unknown = JSON.parse(line)
    return isRow(header) && header.version === VERSION && Array.isArray(header.entries) ? (header as unknown as Header) : undefined
  } catch {
    return undefined
  }
}
