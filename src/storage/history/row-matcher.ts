import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Rows } from './rows.js'
import { splitStart } from './split-values.js'

const MAX_IDENTITY_VALUES = 4
const MIN_DISTINCT = 0.98
const MAX_SAMPLES = 2_000
const ROWS_PER_TURN = 2_000

/**
 * Creates a function that finds the number of the row that a row continues; -1 without a match. Rows are the same if they are until the end
 * of their first values: as few as tell nearly all rows apart, such as symbol and series. Any pairing is correct; a good one makes the
 * difference small.
 */
export const createMatcher = async (rows: Rows): Promise<(row: string) => number> => {
  const limit = chooseLimit(rows)
  // Lists of rows with the same key, oldest first: the first row by key, the next one by row. Numbers only, since a list may be long.
  const first = new Map<number, number>()
  const next = new Int32Array(rows.count)
  for (let index = rows.count - 1; index >= 0; index--) {
    const key = hashText(rows.startParts(index, limit).join(''))
    next[index] = first.get(key) ?? -1
    first.set(key, index)
    if (index % ROWS_PER_TURN === 0) await yieldToEventLoop()
  }
  return (row) => {
    const key = hashText(splitStart(row, limit).join(''))
    const found = first.get(key) ?? -1
    if (found >= 0) first.set(key, next[found] as number)
    return found
  }
}

/** The number of parts that tell the rows apart. */
const chooseLimit = (rows: Rows): number => {
  const step = Math.ceil(rows.count / MAX_SAMPLES)
  const samples = Array.from({ length: Math.ceil(rows.count / Math.max(1, step)) }, (_, at) =>
    rows.startParts(at * step, 2 * MAX_IDENTITY_VALUES),
  )
  for (let limit = 2; limit <= 2 * MAX_IDENTITY_VALUES; limit += 2)
    if (new Set(samples.map((parts) => parts.slice(0, limit).join(''))).size >= samples.length * MIN_DISTINCT) return limit
  return Number.MAX_SAFE_INTEGER
}

/** FNV-1a, 32 bits. Two texts with the same hash only make a difference larger. */
const hashText = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}
