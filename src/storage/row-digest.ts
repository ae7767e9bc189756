import { createHash } from 'node:crypto'
import { listColumns, type Table } from '../model/table.js'
import type { Columns, TableRow, Value } from './table-rows.js'

/** Digests rows: two rows of a table are the same if their digests are, and two lists in whatever order if their contents are. */
export interface RowDigests {
  /** Adds the rows of some columns, from a row on. */
  readonly add: (columns: Columns, from?: number) => void
  /** The digest of each row, in the order in which they were added. */
  readonly keys: readonly number[]
  /** The digest of all rows, under the names of their columns. */
  readonly content: () => string
}

export const createRowDigests = (table: Table): RowDigests => {
  const keys: number[] = []
  const hashRow = createRowHash()
  return {
    keys,
    add: (columns, from = 0) => {
      for (let row = from; row < (columns[0]?.length ?? 0); row++) keys.push(hashRow(columns, row))
    },
    content: () => {
      const names = listColumns(table).map(({ name }) => name)
      return createHash('sha256').update(JSON.stringify(names)).update(Float64Array.from(keys).sort()).digest('hex')
    },
  }
}

/** The values of rows that are objects. A column that they lack is null. */
export const toColumns = (table: Table, rows: readonly TableRow[]): Columns =>
  listColumns(table).map(({ name }) => rows.map((row) => row[name] ?? null))

/** The digest of a list. */
export const digestRows = (table: Table, rows: readonly TableRow[]): string => {
  const digests = createRowDigests(table)
  digests.add(toColumns(table, rows))
  return digests.content()
}

/**
 * Creates a function that hashes a row to 53 bits (cyrb53). It compares the rows of one list with each other, a quarter of a million a day; a
 * cryptographic hash of each row and the text it needs take five times as long.
 */
const createRowHash = (): ((columns: Columns, row: number) => number) => {
  const double = new Float64Array(1)
  const halves = new Uint32Array(double.buffer)
  let [one, other] = [0, 0]
  const mix = (part: number): void => {
    one = Math.imul(one ^ part, 2_654_435_761)
    other = Math.imul(other ^ part, 1_597_334_677)
  }
  const mixValue = (value: Value): void => {
    if (value === null) mix(1)
    else if (typeof value === 'number') {
      // JSON has no negative zero.
      double[0] = value + 0
      mix(2)
      mix(halves[0] as number)
      mix(halves[1] as number)
    } else {
      const text = typeof value === 'string' ? value : `${value}`
      mix(typeof value === 'string' ? 3 : 4)
      mix(text.length)
      for (let at = 0; at < text.length; at++) mix(text.charCodeAt(at))
    }
  }
  return (columns, row) => {
    ;[one, other] = [0xdeadbeef, 0x41c6ce57]
    for (const values of columns) mixValue(values[row] as Value)
    one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909)
    other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909)
    return (other & 0x1f_ffff) * 2 ** 32 + (one >>> 0)
  }
}
