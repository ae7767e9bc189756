import { getOrAdd } from '../../model/map.js'
import { createMatcher } from './row-matcher.js'
import type { RowChanges, Rows, Values } from './rows.js'
import { splitValues } from './split-values.js'

/**
 * The rows of a text as the difference from those of a base, in blocks. A block is a line of JSON, and then the lines that it counts: the
 * values that differ, column by column, and the texts of new rows. Similar lines are together, which makes them small when they are
 * compressed. A row whose form has changed is a new one.
 */
interface BlockHeader {
  /** Triples: new rows; then how many rows of the base are skipped, or repeated if it is negative; then how many of them follow. */
  readonly runs: readonly number[]
  /** Which of the rows that are not new have other values, as gaps. */
  readonly changed: readonly number[]
  /** A column each: the place of its values, and then which of the changed rows have one, as gaps. */
  readonly columns: readonly (readonly number[])[]
  readonly lines: number
}

/** Characters of rows in a block: half of it makes a difference 3 % larger, twice as much needs 10 MB more of memory. */
const BLOCK_LENGTH = 1_000_000

/** Encodes rows as the difference from a base. Emits the lines block by block. */
export async function* encodeRows(batches: AsyncIterable<readonly string[]>, base: Rows): AsyncGenerator<readonly string[]> {
  const match = await createMatcher(base)
  let block = createBlock(base)
  for await (const rows of batches)
    for (const row of rows) {
      block.add(row, match(row))
      if (block.length() < BLOCK_LENGTH) continue
      yield block.format()
      block = createBlock(base)
    }
  yield block.format()
}

/** Values of changed rows that follow the same text at the same place. */
interface Column {
  readonly gaps: number[]
  readonly values: string[]
  last: number
}

const createBlock = (base: Rows) => {
  const runs: number[] = []
  const changed: number[] = []
  const columns = new Map<string, Column>()
  const added: string[] = []
  let [length, expected, matched, lastChanged, changes] = [0, 0, 0, 0, 0]
  let isInRun = false

  const addNew = (row: string): void => {
    if (runs.length === 0 || isInRun) runs.push(0, 0, 0)
    isInRun = false
    runs[runs.length - 3] = (runs.at(-3) as number) + 1
    added.push(row)
  }

  const addMatch = (index: number): void => {
    if (runs.length === 0 || (isInRun && index !== expected)) runs.push(0, 0, 0)
    if (runs.at(-1) === 0) runs[runs.length - 2] = index - expected
    isInRun = true
    runs[runs.length - 1] = (runs.at(-1) as number) + 1
    expected = index + 1
    matched++
  }

  const addValues = (parts: readonly string[], places: readonly number[]): void => {
    changed.push(matched - lastChanged)
    lastChanged = matched
    for (const place of places) {
      const column = getOrAdd(columns, `${place} ${parts[place - 1]}`, (): Column => ({ gaps: [place], values: [], last: 0 }))
      column.gaps.push(changes - column.last)
      column.last = changes
      column.values.push(parts[place] as string)
    }
    changes++
  }

  const addChanged = (row: string, index: number): void => {
    const parts = splitValues(row)
    const places = findChangedPlaces(parts, base.parts(index))
    if (places === undefined) addNew(row)
    else {
      if (places.length > 0) addValues(parts, places)
      addMatch(index)
    }
  }

  const add = (row: string, index: number): void => {
    length += row.length
    if (index < 0) addNew(row)
    else if (base.text(index) === row) addMatch(index)
    else addChanged(row, index)
  }

  const format = (): readonly string[] => {
    const lines = [...columns.values()].flatMap(({ values }) => values).concat(added)
    const header: BlockHeader = { runs, changed, columns: [...columns.values()].map(({ gaps }) => gaps), lines: lines.length }
    return [JSON.stringify(header), ...lines]
  }
  return { add, format, length: () => length }
}

/** The places of the parts that differ; undefined if the rows are of different forms. */
const findChangedPlaces = (parts: readonly string[], earlier: readonly string[]): readonly number[] | undefined => {
  if (parts.length !== earlier.length) return undefined
  const places: number[] = []
  for (let place = 0; place < parts.length; place++) {
    if (parts[place] === earlier[place]) continue
    if (place % 2 === 0 && place < parts.length - 1) return undefined
    places.push(place)
  }
  return places
}

/** The changes of `encodeRows`, from its lines, block by block. */
export async function* decodeChanges(batches: AsyncIterable<readonly string[]>): AsyncGenerator<RowChanges> {
  let header: BlockHeader | undefined
  let lines: string[] = []
  for await (const batch of batches)
    for (const line of batch) {
      if (header === undefined) header = JSON.parse(line) as BlockHeader
      else lines.push(line)
      if (lines.length < header.lines) continue
      yield decodeBlock(header, lines)
      header = undefined
      lines = []
    }
}

const decodeBlock = ({ runs, changed, columns }: BlockHeader, lines: readonly string[]): RowChanges => {
  let line = 0
  const valuesOf = changed.map(() => new Map<number, string>())
  for (const [place = 0, ...gaps] of columns) {
    let at = 0
    for (const gap of gaps) {
      at += gap
      valuesOf[at]?.set(place, lines[line++] as string)
    }
  }
  const from: number[] = []
  const added: string[] = []
  const values = new Map<number, Values>()
  let [next, matched, changes] = [0, 0, 0]
  let nextChanged = changed[0]
  for (let at = 0; at < runs.length; at += 3) {
    const [fresh, skipped, count] = runs.slice(at, at + 3) as [number, number, number]
    for (let step = 0; step < fresh; step++) {
      added.push(lines[line++] as string)
      from.push(-1)
    }
    next += skipped
    for (let step = 0; step < count; step++) {
      if (matched++ === nextChanged) {
        values.set(from.length, valuesOf[changes++] as Values)
        nextChanged += changed[changes] ?? Number.NaN
      }
      from.push(next++)
    }
  }
  return { from, added, values }
}

/** The changes of several blocks as one. */
export const joinBlocks = async (blocks: AsyncIterable<RowChanges>): Promise<RowChanges> => {
  const from: number[] = []
  const added: string[] = []
  const values = new Map<number, Values>()
  for await (const block of blocks) {
    for (const [index, own] of block.values) values.set(from.length + index, own)
    for (const text of block.added) added.push(text)
    for (const index of block.from) from.push(index)
  }
  return { from, added, values }
}
