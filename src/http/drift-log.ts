import type { Drift } from '../model/report.js'
import { isRow, type Row } from '../model/row.js'
import type { LackingField } from './presence.js'
import { describeKind, joinPath, type KnownField, type ShapeNode, toKindBit } from './shape-node.js'

/** Per endpoint: a record with names such as dates would add an entry for each answer. */
const MAX_ENTRIES = 40
const MAX_NAME_LENGTH = 80

/** The records at one path of the answer, with the layouts seen there. */
type Node = ShapeNode<FieldLayout>

/** The field names of a record in their order, with what the schema says of each, and the drift of such a record. */
export interface FieldLayout {
  readonly names: readonly string[]
  readonly fields: readonly (KnownField<FieldLayout> | undefined)[]
  readonly drifts: readonly DriftEntry[]
}

/** One difference from the declared shape, and how often it was seen. */
export interface DriftEntry extends Pick<Drift, 'kind' | 'field' | 'expected' | 'seen' | 'required' | 'example'> {
  answers: number
  /** Records, of those checked. */
  records: number
  /** The number of the last answer with it. */
  last: number
  readonly node: Node
}

type DriftFacts = Omit<DriftEntry, 'answers' | 'records' | 'last' | 'example'>

/** The drift of one endpoint so far, and the answer that is being checked. */
export interface DriftLog {
  readonly entries: Map<string, DriftEntry>
  /** The number of the current answer. */
  answer: number
  /** The item that the current answer is for. */
  item: string
}

export const createDriftLog = (): DriftLog => ({ entries: new Map(), answer: 0, item: '' })

export const toDriftFacts = (node: Node, kind: Drift['kind'], { name, expected, isRequired }: KnownField<FieldLayout>): DriftFacts => ({
  ...{ kind, field: joinPath(node, name), expected, node },
  ...(isRequired ? { required: true } : {}),
})

/** Returns the entry of a difference; a new one up to the limit. */
export const findEntry = ({ entries, item }: DriftLog, facts: DriftFacts): DriftEntry | undefined => {
  const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
  const known = entries.get(key)
  if (known || entries.size >= MAX_ENTRIES) return known
  const entry = { ...facts, answers: 0, records: 0, last: 0, example: item }
  entries.set(key, entry)
  return entry
}

/** Counts records of the current answer with a difference. */
export const countRecords = ({ answer }: DriftLog, entry: DriftEntry | undefined, records = 1): void => {
  if (entry === undefined) return
  entry.records += records
  if (entry.last === answer) return
  entry.last = answer
  entry.answers += 1
}

export const countWrongKind = (log: DriftLog, facts: Omit<DriftFacts, 'kind'>, value: unknown): void =>
  countRecords(log, findEntry(log, { ...facts, kind: 'type', seen: describeKind(value) }))

/** The endpoint of a drift, and its answers that were not checked because a fast path read them. */
export interface DriftSource extends Pick<Drift, 'stream' | 'endpoint'> {
  readonly asExpected: number
}

export const toDrift = (
  { kind, field, expected, seen, required, answers, records, example, node }: DriftEntry,
  { stream, endpoint, asExpected }: DriftSource,
): Drift => ({
  ...{ stream, endpoint, kind, field: field.slice(0, MAX_NAME_LENGTH) },
  ...(expected === undefined ? {} : { expected }),
  ...(seen === undefined ? {} : { seen }),
  ...(required ? { required } : {}),
  ...{
    answers,
    of: Math.max(node.answers, answers) + asExpected,
    records,
    ofRecords: Math.max(node.records, records) + asExpected,
    example,
  },
})

export const toLackingDrift = (
  { field, path, kind, lacking, answers, lackingRecords, records, example }: LackingField<FieldLayout>,
  { stream, endpoint, asExpected }: DriftSource,
): Drift => ({
  ...{ stream, endpoint, kind, field: path.slice(0, MAX_NAME_LENGTH), expected: field.expected },
  ...(field.isRequired ? { required: true } : {}),
  ...{ answers: lacking, of: answers + asExpected, records: lackingRecords, ofRecords: records + asExpected, example },
})

const MAX_LAYOUTS = 200

/** Checks the first, the middle and the last record of a list, or a single record. */
export const checkSample = (log: DriftLog, node: Node, value: unknown): void => {
  if (!Array.isArray(value)) checkValue(log, node, value)
  else if (value.length > 0) {
    checkValue(log, node, value[0])
    if (value.length > 2) checkValue(log, node, value[value.length >> 1])
    if (value.length > 1) checkValue(log, node, value[value.length - 1])
  }
}

const checkValue = (log: DriftLog, node: Node, value: unknown): void => {
  if (isRow(value)) checkRecord(log, node, value)
  else if (value !== null) countWrongKind(log, { field: node.path, expected: 'record', node }, value)
}

const checkRecord = (log: DriftLog, node: Node, row: Row): void => {
  if (node.last !== log.answer) {
    node.last = log.answer
    node.answers += 1
  }
  node.records += 1
  const layout = matchesLayout(row, node.usual) ? node.usual : findLayout(log, node, Object.keys(row))
  node.usual = layout
  const { names, fields, drifts } = layout
  for (let index = 0; index < names.length; index += 1) {
    const field = fields[index]
    if (field === undefined) continue
    const value = row[field.name]
    const bit = toKindBit(value)
    if ((bit & ~field.mask) !== 0) countWrongKind(log, toDriftFacts(node, 'type', field), value)
    else if (field.inner !== undefined && bit !== 0) checkSample(log, field.inner, value)
  }
  for (const entry of drifts) countRecords(log, entry)
}

const matchesLayout = (row: Row, layout: FieldLayout | undefined): layout is FieldLayout => {
  if (layout === undefined) return false
  let index = 0
  for (const name in row) if (layout.names[index++] !== name) return false
  return index === layout.names.length
}

const findLayout = (log: DriftLog, node: Node, names: readonly string[]): FieldLayout => {
  const key = names.join('\n')
  const known = node.layouts.get(key)
  if (known) return known
  const layout = createLayout(log, node, names)
  if (node.layouts.size >= MAX_LAYOUTS) node.layouts.clear()
  node.layouts.set(key, layout)
  return layout
}

const createLayout = (log: DriftLog, node: Node, names: readonly string[]): FieldLayout => {
  const fields = names.map((name) => node.known.get(name))
  const fresh = names.filter((_, index) => fields[index] === undefined)
  const missing = [...node.known.values()].filter(({ name, isExpected, isUsual }) => isExpected && !isUsual && !names.includes(name))
  const drifts = [
    ...fresh.map((name) => findEntry(log, { kind: 'new', field: joinPath(node, name), node })),
    ...missing.map((field) => findEntry(log, toDriftFacts(node, 'gone', field))),
  ].filter((entry) => entry !== undefined)
  return { names, fields, drifts }
}
