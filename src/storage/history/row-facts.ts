import { createHash } from 'node:crypto'
import { decompress, readLines } from './compression.js'
import type { Entry } from './day-file.js'
import { createBaseReader } from './history-reader.js'
import { decodeChanges } from './row-codec.js'
import type { RowChanges, Values } from './rows.js'
import { splitValues } from './split-values.js'

/** A row of JSON: its parts, and the path of the value at each odd place, such as `CV.PE`. Rows of the same form share the paths. */
export interface SplitRow {
  /** See `splitValues`. A character is a byte of UTF-8. */
  readonly parts: readonly string[]
  readonly paths: Paths
}

/** Paths by place. Values of a list have the same path. */
export type Paths = readonly (string | undefined)[]

/**
 * What a check needs to know of a row, as a number. It is found once from the text of the row, and then from values that changed: so many days
 * are compared without reading rows that stay.
 */
export interface RowFacts {
  readonly find: (row: SplitRow) => number
  /** From the fact of a row, that of the row with other values. */
  readonly change: (fact: number, values: Values) => number
}

/** The facts of the rows of a recorded file. */
export interface RecordedFacts {
  /** The same for two days only if the content is the same. A new base after a change of quarter may have another one. */
  readonly content: string
  /** One list for each kind of facts, until the next file is read. Lines that are no records have no fact. */
  readonly facts: FactLists
}

type FactLists = readonly Int32Array[]

/** Marks a line that is no record, such as the bracket around all. */
const NO_RECORD = -1

/** Finds the facts of rows: from their texts, or from those of other rows and what changed. */
const createFactFinder = (kinds: readonly RowFacts[]) => {
  const toPaths = createPathFinder()
  const find = (text: string): readonly number[] => {
    const parts = splitValues(text)
    if (parts.length < 2) return kinds.map(() => NO_RECORD)
    const row = { parts, paths: toPaths(parts) }
    return kinds.map((kind) => kind.find(row))
  }
  const addAll = async (target: Collected, lines: AsyncIterable<readonly string[]>): Promise<void> => {
    for await (const batch of lines) for (const text of batch) target.add(find(text))
  }
  const addChanged = (target: Collected, base: FactLists, { from, added, values }: RowChanges): void => {
    let next = 0
    for (let row = 0; row < from.length; row++) {
      const before = from[row] as number
      const changed = values.get(row)
      if (before < 0) target.add(find(added[next++] as string))
      else target.addOf(base, before, changed && ((fact, kind) => (fact === NO_RECORD ? fact : kinds[kind]?.change(fact, changed)) ?? fact))
    }
  }
  return { find, addAll, addChanged }
}

/** Reads facts of the rows of a file with a record on each line; the entries of one file after the other. */
export const createFactReader = (root: string, kinds: readonly RowFacts[]) => {
  const { find, addAll, addChanged } = createFactFinder(kinds)
  const bases = createBaseReader<FactLists>(root, {
    begin: async (bytes) => {
      const own = createCollected(kinds.length)
      await addAll(own, readLines(bytes))
      return own.lists(true)
    },
    change: (base, changes) => {
      const own = createCollected(kinds.length)
      addChanged(own, base, changes)
      return own.lists(true)
    },
    close: () => undefined,
  })
  const collected = createCollected(kinds.length)

  return {
    /** @throws DamagedFileError */
    read: async ({ base, bytes }: Entry): Promise<RecordedFacts> => {
      collected.clear()
      if (base === undefined) {
        await addAll(collected, readLines(decompress([bytes])))
        return { content: hash(bytes), facts: collected.lists() }
      }
      const rows = await bases.open(base)
      // A document has its end: rows that begin like all of the base are all of them.
      let isSame = true
      let next = 0
      const changes = bytes.length === 0 ? [keepAll(rows[0]?.length ?? 0)] : decodeChanges(readLines(decompress([bytes])))
      for await (const block of changes) {
        isSame &&= block.values.size === 0 && block.from.every((before) => before === next++)
        addChanged(collected, rows, block)
      }
      return { content: isSame ? base : `${base} ${hash(bytes)}`, facts: collected.lists() }
    },
    /** The same for rows of a file that is no JSON. */
    readRows: (rows: readonly object[]): RecordedFacts => {
      const texts = rows.map((row) => JSON.stringify(row))
      collected.clear()
      for (const text of texts) collected.add(find(text))
      return { content: hash(texts.join('\n')), facts: collected.lists() }
    },
  }
}

const keepAll = (count: number): RowChanges => ({ from: Array.from({ length: count }, (_, row) => row), added: [], values: new Map() })

interface Collected {
  /** One fact of each kind. */
  readonly add: (facts: readonly number[]) => void
  /** The facts of a row of others, changed by a function of the fact and its kind. */
  readonly addOf: (others: FactLists, row: number, change?: (fact: number, kind: number) => number) => void
  readonly clear: () => void
  /** The facts of each kind, until the next change. */
  readonly lists: (withOthers?: boolean) => FactLists
}

/** Lists that are used again for each day: new ones of 70,000 rows would be large objects, which live until the next major GC. */
const createCollected = (kinds: number): Collected => {
  let lists = Array.from({ length: kinds }, () => new Int32Array(1_024))
  let count = 0
  const reserve = (): number => {
    if (count === lists[0]?.length)
      lists = lists.map((list) => {
        const longer = new Int32Array(2 * list.length)
        longer.set(list)
        return longer
      })
    return count++
  }
  const set = (kind: number, at: number, fact: number): void => {
    ;(lists[kind] as Int32Array)[at] = fact
  }
  return {
    add: (facts) => {
      const at = reserve()
      for (let kind = 0; kind < kinds; kind++) set(kind, at, facts[kind] as number)
    },
    addOf: (others, row, change) => {
      const at = reserve()
      for (let kind = 0; kind < kinds; kind++) {
        const fact = others[kind]?.[row] as number
        set(kind, at, change ? change(fact, kind) : fact)
      }
    },
    clear: () => {
      count = 0
    },
    lists: (withOthers = false) => lists.map((list) => (withOthers ? list.slice(0, count) : dropOthers(list.subarray(0, count)))),
  }
}

/** Moves the facts of records to the front. */
const dropOthers = (list: Int32Array): Int32Array => {
  let kept = 0
  for (const fact of list) if (fact !== NO_RECORD) list[kept++] = fact
  return list.subarray(0, kept)
}

const hash = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

/** Creates a function that finds the paths of the values in the parts of a row, once for each form. */
const createPathFinder = (): ((parts: readonly string[]) => Paths) => {
  const known = new Map<string, Paths>()
  return (parts) => {
    let form = ''
    for (let place = 0; place < parts.length - 1; place += 2) form += `${parts[place]}\n`
    const paths = known.get(form) ?? findPaths(parts)
    known.set(form, paths)
    return paths
  }
}

const TOKEN = /"((?:[^"\\]|\\.)*)"\s*:|[[\]{}]/g

const findPaths = (parts: readonly string[]): Paths => {
  const outer: string[] = []
  let name = ''
  return parts.map((part, place) => {
    if (place % 2 === 1) return [...outer, name].filter((one) => one !== '').join('.')
    for (const [token, key] of part.matchAll(TOKEN)) {
      if (key !== undefined) name = key
      else if (token === '{' || token === '[') outer.push(name)
      else outer.pop()
      if (key === undefined) name = ''
    }
    return undefined
  })
}
