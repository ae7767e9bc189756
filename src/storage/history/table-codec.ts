import { getOrAdd } from '../../model/map.js'
import { isRow } from '../../model/row.js'

/**
 * The rows of a file, column by column, as the difference from the rows of a base (which may be empty). Numbers in lists are run lengths or
 * gaps: equal rows and columns then compress to almost nothing. The keys of each row keep their order.
 */
export interface EncodedRows {
  /** The base row that each row continues, as pairs of first base row and count; -1 for new rows. */
  readonly from: readonly number[]
  /** The lists of keys of rows; null is a value that is not a record. */
  readonly shapes: readonly (readonly string[] | null)[]
  /** The shape of each row, as pairs of shape and count; -1 for the keys of its base row. */
  readonly shapeOf: readonly number[]
  readonly columns: readonly EncodedColumn[]
}

/** The values of a key that differ from the base; null is the key of a value that is not a record. */
interface EncodedColumn {
  readonly key: string | null
  /** The rows of the values, as gaps; absent if every row with the key has one. */
  readonly at?: readonly number[]
  readonly values: readonly unknown[]
}

/** Encodes JSON values. `decodeRows` with the same base returns equal ones, with their keys in the same order. */
export const encodeRows = (rows: readonly unknown[], base: readonly unknown[] = []): EncodedRows => {
  const from = matchRows(rows, base)
  const shapes = new Map<string, number>()
  const shapeOf = rows.map((row, index) => {
    const shape = JSON.stringify(listKeys(row))
    const earlier = from[index] as number
    if (earlier >= 0 && JSON.stringify(listKeys(base[earlier])) === shape) return -1
    return shapes.get(shape) ?? shapes.set(shape, shapes.size).size - 1
  })
  const changes = new Map<string | null, { at: number[]; values: unknown[]; rows: number[] }>()
  for (const [index, row] of rows.entries()) {
    const earlier = base[from[index] as number]
    for (const key of listKeys(row) ?? [null]) {
      const column = changes.get(key) ?? { at: [], values: [], rows: [] }
      if (column.rows.push(index) === 1) changes.set(key, column)
      const value = readCell(row, key)
      if (earlier !== undefined && isSameJson(value, readCell(earlier, key))) continue
      column.at.push(index)
      column.values.push(value)
    }
  }
  const columns = [...changes].flatMap(([key, { at, values, rows: all }]): readonly EncodedColumn[] => {
    if (at.length === 0) return []
    // Positions of nearly all rows would cost more than the values that did not change.
    if (at.length > all.length / 2) return [{ key, values: all.map((index) => readCell(rows[index], key)) }]
    return [{ key, at: at.map((position, index) => position - (at[index - 1] ?? 0)), values }]
  })
  return {
    from: toRuns(from, (previous, count, next) => next === (previous < 0 ? -1 : previous + count)),
    shapes: [...shapes.keys()].map((shape) => JSON.parse(shape)),
    shapeOf: toRuns(shapeOf, (shape, _, next) => next === shape),
    columns,
  }
}

/** The rows of `encodeRows`. */
export const decodeRows = ({ from, shapes, shapeOf, columns }: EncodedRows, base: readonly unknown[] = []): readonly unknown[] => {
  const earlierOf = fromRuns(from, (first, step) => (first < 0 ? -1 : first + step))
  const readers = new Map(columns.map(({ key, at, values }) => [key, createReader(at, values)]))
  return fromRuns(shapeOf, (shape) => shape).map((shape, index) => {
    const earlier = base[earlierOf[index] as number]
    const keys = shape < 0 ? listKeys(earlier) : (shapes[shape] as readonly string[] | null)
    const read = (key: string | null): unknown => {
      const found = readers.get(key)?.(index)
      return found === undefined ? readCell(earlier, key) : found
    }
    return keys === null ? read(null) : Object.fromEntries(keys.map((key) => [key, read(key)]))
  })
}

/** Returns the value of a row, or undefined if the column has none for it. Call it with ascending rows that have the key. */
const createReader = (at: readonly number[] | undefined, values: readonly unknown[]): ((index: number) => unknown) => {
  let [next, position] = [0, at?.[0] ?? -1]
  if (at === undefined) return () => values[next++]
  return (index) => {
    if (index !== position) return undefined
    const value = values[next++]
    position = next < at.length ? position + (at[next] as number) : -1
    return value
  }
}

const listKeys = (row: unknown): readonly string[] | null => (isRow(row) ? Object.keys(row) : null)

/** Undefined if the row lacks the key, or is of the other kind. */
const readCell = (row: unknown, key: string | null): unknown => {
  if (!isRow(row)) return key === null ? row : undefined
  return key !== null && Object.hasOwn(row, key) ? row[key] : undefined
}

const isSameJson = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && JSON.stringify(one) === JSON.stringify(other))

const MAX_IDENTITY_KEYS = 4
const MIN_DISTINCT = 0.98

/**
 * The base row that each row continues, or -1. Rows are the same if their first keys are: as few as tell nearly all rows apart, such as
 * symbol and series, or else all of them. Any pairing decodes to the same rows; a good one makes them small.
 */
const matchRows = (rows: readonly unknown[], base: readonly unknown[]): readonly number[] => {
  if (base.length === 0) return rows.map(() => -1)
  const identify = chooseIdentity(rows)
  const queues = new Map<string, number[]>()
  for (let index = base.length - 1; index >= 0; index--) {
    getOrAdd(queues, identify(base[index]), () => []).push(index)
  }
  return rows.map((row) => queues.get(identify(row))?.pop() ?? -1)
}

const chooseIdentity = (rows: readonly unknown[]): ((row: unknown) => string) => {
  const keys = listKeys(rows[0]) ?? []
  for (let count = 1; count <= Math.min(MAX_IDENTITY_KEYS, keys.length); count++) {
    const identity = keys.slice(0, count)
    const identify = (row: unknown): string => JSON.stringify(isRow(row) ? identity.map((key) => row[key]) : row)
    if (new Set(rows.map(identify)).size >= rows.length * MIN_DISTINCT) return identify
  }
  return (row) => JSON.stringify(row)
}

/** Pairs of first value and length. `continues` decides whether a value belongs to the run. */
const toRuns = (all: readonly number[], continues: (first: number, count: number, next: number) => boolean): readonly number[] => {
  const runs: number[] = []
  for (const next of all) {
    const [first, count] = runs.slice(-2)
    if (first !== undefined && count !== undefined && continues(first, count, next)) runs[runs.length - 1] = count + 1
    else runs.push(next, 1)
  }
  return runs
}

const fromRuns = (runs: readonly number[], valueAt: (first: number, step: number) => number): readonly number[] => {
  const all: number[] = []
  for (let at = 0; at < runs.length; at += 2)
    for (let step = 0; step < (runs[at + 1] as number); step++) all.push(valueAt(runs[at] as number, step))
  return all
}
