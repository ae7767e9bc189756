import type { Drift } from '../model/report.js'
import { omitUndefined, type Row } from '../model/row.js'
import { describeKind, isWrongKind, joinPath, type KnownField, type ShapeNode } from './shape-node.js'

/** Per endpoint: a record with names such as dates would add an entry for each answer. */
const MAX_ENTRIES = 40
const MAX_NAME_LENGTH = 80

/** One difference from the declared shape, and how often it was seen. */
export interface DriftEntry extends Pick<Drift, 'kind' | 'field' | 'expected' | 'seen' | 'required' | 'example'> {
  answers: number
  /** Records, of those checked. */
  records: number
  /** The number of the last answer with it. */
  last: number
  readonly node: ShapeNode
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

export const toDriftFacts = (node: ShapeNode, kind: Drift['kind'], { name, expected, isRequired }: KnownField): DriftFacts => ({
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
  ...omitUndefined({ expected, seen, required }),
  ...{
    answers,
    of: Math.max(node.answers, answers) + asExpected,
    records,
    ofRecords: Math.max(node.records, records) + asExpected,
    example,
  },
})

/** The drift of a field that (nearly) all answers lack. */
export const toLackingDrift = (
  node: ShapeNode,
  { name, expected, isRequired, absence }: KnownField,
  { stream, endpoint, asExpected }: DriftSource,
): Drift => ({
  ...{ stream, endpoint, kind: absence.isNull ? 'null' : 'gone', field: joinPath(node, name).slice(0, MAX_NAME_LENGTH), expected },
  ...(isRequired ? { required: true } : {}),
  ...{ answers: absence.answers, of: node.answers + asExpected, records: absence.records, ofRecords: node.records + asExpected },
  example: absence.example,
})

/** Compares the fields of a record with those of its node. */
export const checkRecord = (log: DriftLog, node: ShapeNode, row: Row): void => {
  for (const name in row) {
    const value = row[name]
    const field = node.known.get(name)
    if (field === undefined) countRecords(log, findEntry(log, { kind: 'new', field: joinPath(node, name), node }))
    else if (isWrongKind(value, field)) countWrongKind(log, toDriftFacts(node, 'type', field), value)
  }
  for (const field of node.known.values())
    if (field.isExpected && !field.isUsual && !Object.hasOwn(row, field.name))
      countRecords(log, findEntry(log, toDriftFacts(node, 'gone', field)))
}
