import { closeSync, openSync, readSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Chunks } from './compression.js'
import { MAX_START, splitStart, splitValues } from './split-values.js'

/** Values of a row by their place; see `splitValues`. */
export type Values = ReadonlyMap<number, string>

/** Rows as the difference from other ones. */
export interface RowChanges {
  /** The number of the other row that each one is, but for its values; -1 for a new one. */
  readonly from: readonly number[]
  /** New rows, in their order. */
  readonly added: readonly string[]
  /** The values that differ, of the rows that have any. */
  readonly values: ReadonlyMap<number, Values>
}

/** The rows of a text, which are its lines. They can be read in any order. */
export interface Rows {
  readonly count: number
  /** The text of a row; undefined if it must be joined from its parts. */
  readonly text: (index: number) => string | undefined
  /** See `splitValues`. */
  readonly parts: (index: number) => readonly string[]
  /** See `splitStart`. */
  readonly startParts: (index: number, limit: number) => readonly string[]
  /** The rows that differ from these. They need the same file. */
  readonly change: (changes: RowChanges) => Rows
  readonly close: () => void
}

const LINE_FEED = 10

/** Writes a text to a new file, from which its rows are read until they are closed: in memory they would be tens of megabytes. */
export const storeRows = async (path: string, chunks: Chunks): Promise<Rows> => {
  const starts = [0]
  const file = await open(path, 'wx')
  let length = 0
  try {
    for await (const chunk of chunks) {
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, end + 1)) starts.push(length + end + 1)
      await file.write(chunk)
      length += chunk.length
    }
    await file.write('\n')
  } finally {
    await file.close()
  }
  const from = Int32Array.from(starts, (_, index) => index)
  return createRows(openLines(path, [...starts, length + 1]), { from, values: new Map() })
}

/** The lines of a file. */
interface Lines {
  /** A line, or its first characters. */
  readonly read: (index: number, limit?: number) => string
  /** Adds lines at the end; returns the number of the first one. */
  readonly append: (lines: readonly string[]) => number
  readonly close: () => void
}

/**
 * @param starts where the lines begin, and the end of the last one
 *
 * Synchronous: a row takes a few microseconds, a promise for each would take longer.
 */
const openLines = (path: string, starts: number[]): Lines => {
  const fd = openSync(path, 'a+')
  let buffer = Buffer.alloc(1 << 16)
  return {
    read: (index, limit = Number.POSITIVE_INFINITY) => {
      const start = starts[index] as number
      const length = Math.min(limit, (starts[index + 1] as number) - start - 1)
      if (length > buffer.length) buffer = Buffer.alloc(length)
      if (readSync(fd, buffer, 0, length, start) !== length) throw new Error(`${path} is shorter than what was written`)
      return buffer.toString('latin1', 0, length)
    },
    append: (lines) => {
      const first = starts.length - 1
      writeFileSync(fd, Buffer.from([...lines, ''].join('\n'), 'latin1'))
      for (const { length } of lines) starts.push((starts.at(-1) as number) + length + 1)
      return first
    },
    close: () => closeSync(fd),
  }
}

/** Which line each row is, and the values in which it differs. */
interface RowStates {
  readonly from: Int32Array
  readonly values: ReadonlyMap<number, Values>
}

const createRows = (lines: Lines, state: RowStates): Rows => {
  const { from, values } = state
  const read = (index: number, limit?: number): string => lines.read(from[index] as number, limit)
  return {
    count: from.length,
    text: (index) => (values.has(index) ? undefined : read(index)),
    parts: (index) => replaceValues(splitValues(read(index)), values.get(index)),
    startParts: (index, limit) => replaceValues(splitStart(read(index, MAX_START), limit), values.get(index)),
    change: (changes) => createRows(lines, joinChanges(state, changes, lines.append(changes.added))),
    close: lines.close,
  }
}

/** Both changes as one, so that the rows between them need no memory. `added` is the line of the first new row. */
const joinChanges = (earlier: RowStates, later: RowChanges, added: number): RowStates => {
  const from = new Int32Array(later.from.length)
  const values = new Map(later.values)
  let next = added
  for (let index = 0; index < from.length; index++) {
    const before = later.from[index] as number
    from[index] = before < 0 ? next++ : (earlier.from[before] as number)
    const replaced = earlier.values.get(before)
    if (replaced) values.set(index, new Map([...replaced, ...(values.get(index) ?? [])]))
  }
  return { from, values }
}

const replaceValues = (parts: string[], values: Values | undefined): readonly string[] => {
  for (const [place, value] of values ?? []) if (place < parts.length) parts[place] = value
  return parts
}

/** The texts of some rows, or of all. */
export const readTexts = (rows: Rows, from = 0, to = rows.count): readonly string[] =>
  Array.from({ length: Math.min(to, rows.count) - from }, (_, index) => rows.text(from + index) ?? rows.parts(from + index).join(''))
