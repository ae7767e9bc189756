import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DamagedFileError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import { statFile } from '../file-system.js'
import { type Base, chooseBases, listBases, listChain, toBasePath, writeBase } from './bases.js'
import { collect, compress, joinLines, LARGE, readLines } from './compression.js'
import { type Entry, readWhatIsReadable } from './day-file.js'
import { listDays, toDayPath } from './history-folder.js'
import type { HistoryReader } from './history-reader.js'
import { encodeRows } from './row-codec.js'
import type { Rows } from './rows.js'

/** The state of a file: its base, and the difference from it, empty if equal. Without a base, its content. */
export type FileState = Pick<Entry, 'base' | 'bytes'>

export interface Recording {
  readonly root: string
  readonly day: Day
  readonly reader: HistoryReader
  readonly warn: (warning: string) => void
}

/** Bytes of a file; a smaller one is complete in its day, a larger one is a new base. */
const MIN_BASE_FILE = 200_000
/** Bytes of a difference that is worth a new base. */
const MIN_DIFFERENCE = 32_000
/** A difference is worth a new base once it has grown to this multiple of the first one from the same base. */
const MAX_GROWTH = 1.5

/**
 * Records the present state of a file; `undefined` if there is no such file, or it is damaged. A difference from a base grows with its age
 * where rows stay as they have changed. Then it is stored as a base, which costs nothing, and the next difference is small again. A complete
 * base follows once its differences are as large as itself.
 */
export const recordFile = async (recording: Recording, file: string): Promise<FileState | undefined> => {
  const { root, day, reader } = recording
  const path = join(root, file)
  if (!(await isWhole(path))) return undefined
  const found = await openBase(recording, file)
  if (found === undefined) return { base: await writeComplete(recording, file), bytes: NOTHING }
  const { base, rows, chain } = found
  const difference = await compress(joinLines(encodeRows(readLines(createReadStream(path)), rows)), collect)
  const [complete = 0, ...differences] = chain.map(({ name }) => sizeOf(toBasePath(root, name)))
  if (differences.reduce((sum, bytes) => sum + bytes, difference.length) > complete)
    return sizeOf(path) < MIN_BASE_FILE
      ? { bytes: await compress(createReadStream(path), collect) }
      : { base: await writeComplete(recording, file), bytes: NOTHING }
  if (difference.length < MIN_DIFFERENCE || difference.length <= (await findFirstDifference(root, file, base)) * MAX_GROWTH)
    return { base: base.name, bytes: difference }
  const temporary = await reader.createPath()
  return { base: await writeBase(root, { file, day, parent: base }, { bytes: [difference], temporary }), bytes: NOTHING }
}

/** The bytes of the first recorded difference of a file from a base; infinite without one. */
const findFirstDifference = async (root: string, file: string, base: Base): Promise<number> => {
  for (const day of await listDays(root)) {
    if (day < base.day) continue
    const entry = (await readWhatIsReadable(toDayPath(root, day)).catch(ignoreDamage))?.entries[file]
    if (entry?.base === base.name && entry.bytes.length > 0) return entry.bytes.length
  }
  return Number.POSITIVE_INFINITY
}

const ignoreDamage = (error: unknown): undefined => {
  if (!(error instanceof DamagedFileError)) throw error
}

const NOTHING = Buffer.alloc(0)

const sizeOf = (path: string): number => statFile(path)?.size ?? 0

/** Writes a base that needs no other; resolves to its name. */
const writeComplete = async ({ root, day, reader }: Recording, file: string): Promise<string> => {
  const temporary = await reader.createPath()
  return compress(createReadStream(join(root, file)), (bytes) => writeBase(root, { file, day }, { bytes, temporary }), LARGE)
}

interface OpenBase {
  readonly base: Base
  /** The base after those that it needs, of which the first is complete. */
  readonly chain: readonly Base[]
  readonly rows: Rows
}

/** Opens the best base of a file that can be read; warns of damaged ones. */
const openBase = async ({ root, day, reader, warn }: Recording, file: string): Promise<OpenBase | undefined> => {
  const all = await listBases(root)
  for (const base of chooseBases(all, file, day)) {
    try {
      return { base, chain: listChain(all, base.name), rows: await reader.open(base.name) }
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error
      warn(error.message)
    }
  }
  return undefined
}

/** Enough for the spaces around a document. */
const EDGE_BYTES = 64

/** Whether there is a file, and a JSON file has its end. */
const isWhole = async (path: string): Promise<boolean> => {
  const { size } = statFile(path) ?? {}
  if (size === undefined || !path.endsWith('.json')) return size !== undefined
  const file = await open(path)
  try {
    const edges = Buffer.alloc(2 * EDGE_BYTES, ' ')
    await file.read(edges, 0, EDGE_BYTES, 0)
    await file.read(edges, EDGE_BYTES, EDGE_BYTES, Math.max(0, size - EDGE_BYTES))
    return /^\s*(\[.*\]|\{.*\})\s*$/s.test(edges.toString('latin1'))
  } finally {
    await file.close()
  }
}
