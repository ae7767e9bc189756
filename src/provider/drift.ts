import type { Drift } from '../model/report.js'
import { isRow, type Row } from '../model/row.js'
import type { AnyEndpoint } from './endpoint.js'
import type { Seen, Shape } from './shape.js'
import { bitOf, type Known, kindOf, maskOf, nodeOf, pathTo, type ShapeNode } from './shape-node.js'

/** Compares answers of one call with the shape that they should have. */
export interface Watch {
  /** What to show an answer to; `whom` it is about is kept as an example of what drifted. */
  readonly of: (whom: string) => Seen
  /** An answer was read in a way that only does for the very shape. */
  readonly asExpected: () => void
}

/** Gathers what drifted in a run: call by call, in how many of how many answers. */
export interface DriftWatch {
  /** Watches the calls of a stream, those that state a shape. */
  readonly ofStream: (stream: string) => (endpoint: AnyEndpoint) => Watch | undefined
  /** What another process of the run has seen so far; what it told before counts no more, though it may come later. */
  readonly add: (source: string, seen: readonly Drift[]) => void
  /** The most frequent first. */
  readonly found: () => readonly Drift[]
}

const MOST_TOLD = 48
/** Of one call: a record with names such as dates would have one for each answer. */
const MOST_KEPT = 40
const MOST_LAYOUTS = 200
const LONGEST_NAME = 80
/** Answers from which on it can be told that a field is gone which is absent here and there. */
const FEWEST_TO_JUDGE = 5

type Node = ShapeNode<Layout>

interface Layout {
  readonly names: readonly string[]
  readonly fields: readonly (Known<Layout> | undefined)[]
  readonly drifts: readonly Entry[]
}

interface Entry extends Omit<Drift, 'stream' | 'endpoint' | 'of'> {
  answers: number
  /** How many records, of those looked at. */
  records: number
  last: number
  readonly node: Node
  readonly isUsual: boolean
}

export const createDriftWatch = (): DriftWatch => {
  const watched: (() => readonly Drift[])[] = []
  const streams = new Map<string, ReturnType<DriftWatch['ofStream']>>()
  const elsewhere = new Map<string, readonly Drift[]>()
  return {
    ofStream: (stream) => {
      const before = streams.get(stream)
      if (before) return before
      const watches = new Map<AnyEndpoint, Watch>()
      const watching = (endpoint: AnyEndpoint): Watch | undefined => {
        const known = watches.get(endpoint)
        if (known || endpoint.shape === undefined) return known
        const { watch, found } = watchOf(stream, endpoint.name, endpoint.shape)
        watches.set(endpoint, watch)
        watched.push(found)
        return watch
      }
      streams.set(stream, watching)
      return watching
    },
    add: (source, seen) => {
      if (answersIn(seen) >= answersIn(elsewhere.get(source) ?? [])) elsewhere.set(source, seen)
    },
    found: () =>
      addedUp([...watched.flatMap((found) => found()), ...[...elsewhere.values()].flat()])
        .sort((one, other) => other.answers - one.answers)
        .slice(0, MOST_TOLD),
  }
}

const answersIn = (drifts: readonly Drift[]): number => drifts.reduce((sum, { answers }) => sum + answers, 0)

/** The same drift, seen by several processes, once. */
const addedUp = (all: readonly Drift[]): Drift[] => {
  const sums = new Map<string, Drift>()
  for (const one of all) {
    const { stream, endpoint, kind, field, expected, seen } = one
    const key = JSON.stringify([stream, endpoint, kind, field, expected, seen])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : { ...sum, answers: sum.answers + one.answers, of: sum.of + one.of })
  }
  return [...sums.values()]
}

const watchOf = (stream: string, endpoint: string, shape: Shape) => {
  const entries = new Map<string, Entry>()
  const root = nodeOf<Layout>('', shape)
  const rootMask = maskOf(shape.allows)
  let answer = 0
  let asExpected = 0
  let whom = ''

  const entryOf = (facts: Pick<Entry, 'kind' | 'field' | 'expected' | 'seen' | 'node' | 'isUsual'>): Entry | undefined => {
    const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
    const known = entries.get(key)
    if (known || entries.size >= MOST_KEPT) return known
    const entry = { ...facts, answers: 0, records: 0, last: 0, example: whom }
    entries.set(key, entry)
    return entry
  }
  const hit = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    entry.records += 1
    if (entry.last === answer) return
    entry.last = answer
    entry.answers += 1
  }
  const wrongKind = (node: Node, field: string, expected: string, value: unknown): void =>
    hit(entryOf({ kind: 'type', field, expected, seen: kindOf(value), node, isUsual: false }))
  const layoutOf = (node: Node, names: readonly string[]): Layout => {
    const key = names.join('\n')
    const known = node.layouts.get(key)
    if (known) return known
    const fields = names.map((name) => node.known.get(name))
    const fresh = names.filter((_, place) => fields[place] === undefined)
    const gone = [...node.known.values()].filter(({ name, isRequired }) => isRequired && !names.includes(name))
    const drifts = [
      ...fresh.map((name) => entryOf({ kind: 'new', field: pathTo(node, name), node, isUsual: false })),
      ...gone.map(({ name, expected, isUsual }) => entryOf({ kind: 'gone', field: pathTo(node, name), expected, node, isUsual })),
    ].filter((entry) => entry !== undefined)
    const layout = { names, fields, drifts }
    if (node.layouts.size >= MOST_LAYOUTS) node.layouts.clear()
    node.layouts.set(key, layout)
    return layout
  }
  const check = (node: Node, row: Row): void => {
    if (node.last !== answer) {
      node.last = answer
      node.answers += 1
    }
    node.records += 1
    const layout = hasNames(row, node.usual) ? node.usual : layoutOf(node, Object.keys(row))
    node.usual = layout
    const { names, fields, drifts } = layout
    for (let place = 0; place < names.length; place += 1) {
      const field = fields[place]
      if (field === undefined) continue
      const value = row[field.name]
      const bit = bitOf(value)
      if ((bit & ~field.mask) !== 0) wrongKind(node, pathTo(node, field.name), field.expected, value)
      else if (field.inner !== undefined && bit !== 0) within(field.inner, value)
    }
    for (const entry of drifts) hit(entry)
  }
  const checkOne = (node: Node, row: unknown): void => {
    if (isRow(row)) check(node, row)
    else if (row !== null) wrongKind(node, node.path, 'record', row)
  }
  /** The first, the middle and the last of a list stand for all of it. */
  const within = (node: Node, value: unknown): void => {
    if (!Array.isArray(value)) checkOne(node, value)
    else if (value.length > 0) {
      checkOne(node, value[0])
      if (value.length > 2) checkOne(node, value[value.length >> 1])
      if (value.length > 1) checkOne(node, value[value.length - 1])
    }
  }
  const seen: Seen = (value) => {
    answer += 1
    const bit = bitOf(value)
    if ((bit & ~rootMask) !== 0) wrongKind(root, 'the answer', shape.allows.join('|'), value)
    else if (bit !== 0) within(root, value)
  }
  const isWorthTelling = ({ isUsual, records, node }: Entry): boolean =>
    !isUsual || (node.answers >= FEWEST_TO_JUDGE && records === node.records)
  const watch: Watch = {
    of: (about) => {
      whom = about
      return seen
    },
    asExpected: () => {
      asExpected += 1
    },
  }
  const found = (): readonly Drift[] =>
    [...entries.values()].filter(isWorthTelling).map(({ kind, field, expected, seen: kindSeen, answers, example, node }) => ({
      ...{ stream, endpoint, kind, field: field.slice(0, LONGEST_NAME) },
      ...(expected === undefined ? {} : { expected }),
      ...(kindSeen === undefined ? {} : { seen: kindSeen }),
      ...{ answers, of: Math.max(node.answers, answers) + asExpected, example },
    }))
  return { watch, found }
}

const hasNames = (row: Row, layout: Layout | undefined): layout is Layout => {
  if (layout === undefined) return false
  let place = 0
  for (const name in row) if (layout.names[place++] !== name) return false
  return place === layout.names.length
}
