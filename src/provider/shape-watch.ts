import type { Drift } from '../model/report.js'
import { isRow, type Row } from '../model/row.js'
import { type Off, offText, type Requiring, requiredIn } from './required.js'
import type { Seen, Shape } from './shape.js'
import { bitOf, type Known, kindOf, maskOf, nodeOf, pathTo, type ShapeNode } from './shape-node.js'

/** Compares the answers of one endpoint with its declared shape. */
export interface Watch {
  /** Returns the check for the answers of an item; its name becomes the example of a drift. */
  readonly of: (item: string) => Seen
  /** Counts an answer that was read by a fast path, which works for the declared shape only. */
  readonly asExpected: () => void
}

/** Per endpoint: a record with names such as dates would add an entry for each answer. */
const MOST_KEPT = 40
const MOST_LAYOUTS = 200
const LONGEST_NAME = 80
/** From this many answers on, a field that some records may lack can count as gone. */
const FEWEST_TO_JUDGE = 5

type Node = ShapeNode<Layout>

interface Layout {
  readonly names: readonly string[]
  readonly fields: readonly (Known<Layout> | undefined)[]
  readonly drifts: readonly Entry[]
}

interface Entry extends Pick<Drift, 'kind' | 'field' | 'expected' | 'seen' | 'required' | 'example'> {
  answers: number
  /** Records, of those checked. */
  records: number
  last: number
  readonly node: Node
  readonly isUsual: boolean
}

type Facts = Omit<Entry, 'answers' | 'records' | 'last' | 'example'>

const factsOf = (node: Node, kind: Drift['kind'], { name, expected, isRequired }: Known<Layout>): Facts => ({
  ...{ kind, field: pathTo(node, name), expected, node, isUsual: false },
  ...(isRequired ? { required: true } : {}),
})

interface Called {
  readonly stream: string
  readonly endpoint: string
  readonly shape: Shape
}

/** Creates the drift check of one endpoint. */
export const watchOf = ({ stream, endpoint, shape }: Called, requiring?: Requiring) => {
  const entries = new Map<string, Entry>()
  const root = nodeOf<Layout>('', shape)
  const rootMask = maskOf(shape.allows)
  const offIn = requiring && requiredIn(root, requiring.rules)
  let answer = 0
  let asExpected = 0
  let item = ''

  const entryOf = (facts: Facts): Entry | undefined => {
    const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
    const known = entries.get(key)
    if (known || entries.size >= MOST_KEPT) return known
    const entry = { ...facts, answers: 0, records: 0, last: 0, example: item }
    entries.set(key, entry)
    return entry
  }
  const hit = (entry: Entry | undefined, records = 1): void => {
    if (entry === undefined) return
    entry.records += records
    if (entry.last === answer) return
    entry.last = answer
    entry.answers += 1
  }
  const wrongKind = (facts: Omit<Facts, 'kind' | 'isUsual'>, value: unknown): void =>
    hit(entryOf({ ...facts, kind: 'type', seen: kindOf(value), isUsual: false }))
  const layoutOf = (node: Node, names: readonly string[]): Layout => {
    const key = names.join('\n')
    const known = node.layouts.get(key)
    if (known) return known
    const fields = names.map((name) => node.known.get(name))
    const fresh = names.filter((_, index) => fields[index] === undefined)
    const gone = [...node.known.values()].filter(({ name, isExpected }) => isExpected && !names.includes(name))
    const drifts = [
      ...fresh.map((name) => entryOf({ kind: 'new', field: pathTo(node, name), node, isUsual: false })),
      ...gone.map((field) => entryOf({ ...factsOf(node, 'gone', field), isUsual: field.isUsual })),
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
    for (let index = 0; index < names.length; index += 1) {
      const field = fields[index]
      if (field === undefined) continue
      const value = row[field.name]
      const bit = bitOf(value)
      if ((bit & ~field.mask) !== 0) wrongKind(factsOf(node, 'type', field), value)
      else if (field.inner !== undefined && bit !== 0) within(field.inner, value)
    }
    for (const entry of drifts) hit(entry)
  }
  const checkOne = (node: Node, row: unknown): void => {
    if (isRow(row)) check(node, row)
    else if (row !== null) wrongKind({ field: node.path, expected: 'record', node }, row)
  }
  /** Samples the first, the middle and the last record of a list. */
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
    if ((bit & ~rootMask) !== 0) wrongKind({ field: 'the answer', expected: shape.allows.join('|'), node: root }, value)
    else if (bit !== 0) within(root, value)
    for (const off of offIn?.(value) ?? []) judge(off)
  }
  const judge = (off: Off<Layout>): void => {
    // Other faults were recorded above.
    if (off.fault === 'null' || off.fault === 'format' || (off.fault === 'gone' && !off.field.isExpected))
      hit(entryOf(factsOf(off.node, off.fault, off.field)), off.sampled)
    if (off.isRefused) requiring?.refuse(offText(off))
  }
  const isReported = ({ isUsual, records, node }: Entry): boolean =>
    !isUsual || (node.answers >= FEWEST_TO_JUDGE && records === node.records)
  const watch: Watch = {
    of: (name) => {
      item = name
      return seen
    },
    asExpected: () => {
      asExpected += 1
    },
  }
  const driftOf = ({ kind, field, expected, seen: kindSeen, required, answers, records, example, node }: Entry): Drift => ({
    ...{ stream, endpoint, kind, field: field.slice(0, LONGEST_NAME) },
    ...(expected === undefined ? {} : { expected }),
    ...(kindSeen === undefined ? {} : { seen: kindSeen }),
    ...(required ? { required } : {}),
    ...{
      answers,
      of: Math.max(node.answers, answers) + asExpected,
      records,
      ofRecords: Math.max(node.records, records) + asExpected,
      example,
    },
  })
  const found = (): readonly Drift[] => [...entries.values()].filter(isReported).map(driftOf)
  return { watch, found }
}

const hasNames = (row: Row, layout: Layout | undefined): layout is Layout => {
  if (layout === undefined) return false
  let index = 0
  for (const name in row) if (layout.names[index++] !== name) return false
  return index === layout.names.length
}
