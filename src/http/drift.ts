import type { z } from 'zod'
import { getOrAdd } from '../model/map.js'
import type { Drift } from '../model/report.js'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import type { AnswerInspector, AnyEndpoint } from './endpoint.js'
import { type FieldProblem, findProblem, formatFieldProblem, type RequiredFieldPolicy } from './required-fields.js'
import {
  collectRecords,
  compileShape,
  describeKind,
  isContainer,
  isWrongKind,
  joinPath,
  type KnownField,
  listNodes,
  type NodeRecords,
  type ShapeNode,
  takeEnds,
} from './shape-node.js'

export type ShapeWatch = ReturnType<typeof createShapeWatch>

/** Compares the answers of one endpoint with its declared shape. */
const createShapeWatch = (stream: string, endpoint: string, shape: z.ZodType, policy?: RequiredFieldPolicy) => {
  const { mask, expected, root } = compileShape(shape)
  const nodes = listNodes(root)
  const log: DriftLog = { entries: new Map(), answer: 0, item: '' }
  let asExpected = 0

  const inspect: AnswerInspector = (answer) => {
    log.answer += 1
    if (isWrongKind(answer, { mask })) return countWrongKind(log, { field: 'the answer', expected, node: root }, answer)
    const problems = checkNode(root, [answer], { answer, log, policy })
    for (const problem of problems) {
      countProblem(log, problem)
      if (problem.isRefused) policy?.refuse(formatFieldProblem(problem))
    }
  }
  return {
    /** Returns the check for the answers of an item; its name becomes the example of a drift. */
    forItem: (name: string): AnswerInspector => {
      log.item = name
      return inspect
    },
    /** Counts an answer that was read by a fast path, which works for the declared shape only. */
    countAsExpected: (): void => {
      asExpected += 1
    },
    listDrifts: (): readonly Drift[] =>
      [...log.entries.values(), ...nodes.flatMap((node) => listLacking(node, asExpected).map((field) => toLackingEntry(node, field)))].map(
        (entry) => toDrift(entry, { stream, endpoint, asExpected }),
      ),
  }
}

interface CheckedAnswer {
  readonly answer: unknown
  readonly log: DriftLog
  readonly policy: RequiredFieldPolicy | undefined
}

/** Checks the records of an answer at one node and all nodes below it. Returns the faults of required fields. */
const checkNode = (node: ShapeNode, values: readonly unknown[], checked: CheckedAnswer): readonly FieldProblem[] => {
  const { answer, log, policy } = checked
  const elements = values.flatMap((value) => (Array.isArray(value) ? takeEnds(value) : [value]))
  const sample = elements.filter(isRow)
  for (const element of elements)
    if (!isRow(element) && element !== null) countWrongKind(log, { field: node.path, expected: 'record', node }, element)
  if (sample.length === 0) return []
  node.answers += 1
  node.records += sample.length
  for (const row of sample) checkRecord(log, node, row)
  let all: NodeRecords['sample'] | undefined
  const records: NodeRecords = { sample, readAll: () => (all ??= collectRecords(answer, node.steps)) }
  return [...node.known.values()].flatMap((field) => {
    countAbsence(field, records, log.item)
    const problem = policy && field.isRequired ? findProblem(node, field, records, policy.rules) : undefined
    const inner = field.inner && checkNode(field.inner, listInner(sample, field), checked)
    return [...(problem === undefined ? [] : [problem]), ...(inner ?? [])]
  })
}

/** The values of a field that are of its kind. */
const listInner = (sample: NodeRecords['sample'], field: KnownField): readonly unknown[] =>
  sample.map((row) => row[field.name]).filter((value) => value !== null && value !== undefined && !isWrongKind(value, field))

/** Counts the faults of a required field that the check of the records does not count. */
const countProblem = (log: DriftLog, { fault, field, node, sampleSize }: FieldProblem): void => {
  if (fault === 'null' || fault === 'format' || (fault === 'gone' && !field.isExpected))
    countRecords(log, findEntry(log, toDriftFacts(node, fault, field)), sampleSize)
}

export type DriftWatch = ReturnType<typeof createDriftWatch>

const MAX_REPORTED = 48

/**
 * Collects the drift of a run, by endpoint, with counts of answers and records. Without a policy for required fields, drift is recorded and
 * no answer is refused.
 */
export const createDriftWatch = (policy?: RequiredFieldPolicy) => {
  const streams = new Map<string, Map<AnyEndpoint, ShapeWatch>>()
  const byProcess = new Map<string, readonly Drift[]>()
  return {
    /** Checks the endpoints of a stream that declare a shape. */
    forStream: (stream: string) => {
      const watches = getOrAdd(streams, stream, () => new Map())
      return (endpoint: AnyEndpoint): ShapeWatch | undefined => {
        const { name, shape } = endpoint
        return shape && getOrAdd(watches, endpoint, () => createShapeWatch(stream, name, shape, policy))
      }
    },
    /** Replaces the drift that another process of the run has reported so far; a late report with fewer answers is ignored. */
    add: (source: string, seen: readonly Drift[]): void => {
      if (sumAnswers(seen) >= sumAnswers(byProcess.get(source) ?? [])) byProcess.set(source, seen)
    },
    /** The most frequent first. */
    listDrifts: (): readonly Drift[] =>
      mergeDrifts([
        ...[...streams.values()].flatMap((watches) => [...watches.values()].flatMap(({ listDrifts }) => listDrifts())),
        ...[...byProcess.values()].flat(),
      ])
        .sort((one, other) => other.answers - one.answers)
        .slice(0, MAX_REPORTED),
  }
}

const sumAnswers = (drifts: readonly Drift[]): number => drifts.reduce((sum, { answers }) => sum + answers, 0)

/** Merges the same drift seen by several processes. */
const mergeDrifts = (all: readonly Drift[]): Drift[] => {
  const sums = new Map<string, Drift>()
  for (const one of all) {
    const { stream, endpoint, kind, field, expected, seen } = one
    const key = JSON.stringify([stream, endpoint, kind, field, expected, seen])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : addDrift(sum, one))
  }
  return [...sums.values()]
}

const addDrift = (sum: Drift, one: Drift): Drift => ({
  ...sum,
  answers: sum.answers + one.answers,
  of: sum.of + one.of,
  records: sum.records + one.records,
  ofRecords: sum.ofRecords + one.ofRecords,
})

/** Per endpoint: a record with names such as dates would add an entry for each answer. */
const MAX_ENTRIES = 40
const MAX_NAME_LENGTH = 80

/** One difference from the declared shape, and how often it was seen. */
interface DriftEntry extends Pick<Drift, 'kind' | 'field' | 'expected' | 'seen' | 'required' | 'example'> {
  answers: number
  /** Records, of those checked. */
  records: number
  /** The number of the last answer with it. */
  last: number
  readonly node: ShapeNode
}

type DriftFacts = Omit<DriftEntry, 'answers' | 'records' | 'last' | 'example'>

/** The drift of one endpoint so far, and the answer that is being checked. */
interface DriftLog {
  readonly entries: Map<string, DriftEntry>
  /** The number of the current answer. */
  answer: number
  /** The item that the current answer is for. */
  item: string
}

const toDriftFacts = (node: ShapeNode, kind: Drift['kind'], { name, expected, isRequired }: KnownField): DriftFacts => ({
  ...{ kind, field: joinPath(node, name), expected, node },
  ...(isRequired ? { required: true } : {}),
})

/** Returns the entry of a difference; a new one up to the limit. */
const findEntry = ({ entries, item }: DriftLog, facts: DriftFacts): DriftEntry | undefined => {
  const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
  const known = entries.get(key)
  if (known || entries.size >= MAX_ENTRIES) return known
  const entry = { ...facts, answers: 0, records: 0, last: 0, example: item }
  entries.set(key, entry)
  return entry
}

/** Counts records of the current answer with a difference. */
const countRecords = ({ answer }: DriftLog, entry: DriftEntry | undefined, records = 1): void => {
  if (entry === undefined) return
  entry.records += records
  if (entry.last === answer) return
  entry.last = answer
  entry.answers += 1
}

const countWrongKind = (log: DriftLog, facts: Omit<DriftFacts, 'kind'>, value: unknown): void =>
  countRecords(log, findEntry(log, { ...facts, kind: 'type', seen: describeKind(value) }))

/** `asExpected`: answers of the endpoint that were not checked because a fast path read them. */
const toDrift = (
  { kind, field, expected, seen, required, answers, records, example, node }: Omit<DriftEntry, 'last'>,
  { stream, endpoint, asExpected }: Pick<Drift, 'stream' | 'endpoint'> & { readonly asExpected: number },
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
const toLackingEntry = (node: ShapeNode, field: KnownField): Omit<DriftEntry, 'last'> => {
  const { isNull, answers, records, example } = field.absence
  return { ...toDriftFacts(node, isNull ? 'null' : 'gone', field), answers, records, example }
}

/** Compares the fields of a record with those of its node. */
const checkRecord = (log: DriftLog, node: ShapeNode, row: Row): void => {
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

/** A field is gone if this share of the answers lacks it, */
const MIN_SHARE = 0.95
/** and this many answers were seen, */
const MIN_ANSWERS = 5
/** or a list with this many records. */
const MIN_RECORDS = 10

/**
 * Counts the answers that lack a field which single records may lack (`usual`), or that have no value in a `key`. No single answer shows
 * that it is gone: one stock may lack what the others have.
 */
const countAbsence = (field: KnownField, { sample, readAll }: NodeRecords, item: string): void => {
  if (!mayBeGone(field) && !mayLackValues(field)) return
  if (sample.some((record) => hasField(record, field))) return
  const all = readAll()
  if (all.some((record) => hasField(record, field))) return
  const { absence } = field
  if (absence.answers === 0) absence.example = item
  absence.answers += 1
  absence.records += sample.length
  absence.readCompletely += all.length
  absence.isNull ||= all.some((record) => record[field.name] !== undefined)
}

/** Lists the fields of a node that (nearly) all answers of the run lack. `others`: answers that had all fields and were not checked. */
const listLacking = (node: ShapeNode, others: number): readonly KnownField[] =>
  [...node.known.values()].filter((field) => isLacking(field, node, others))

/** Other absent fields count per answer: either they are drift, or they are optional. */
const mayBeGone = ({ isUsual }: KnownField): boolean => isUsual

/** A required key without a value is refused per answer. */
const mayLackValues = (field: KnownField): boolean => field.isExpected && !field.mayBeNull && !field.isRequired && !isContainer(field)

const hasField = (record: Row, field: KnownField): boolean => {
  const value = record[field.name]
  if (value === undefined) return !mayBeGone(field)
  return !mayLackValues(field) || (value !== null && value !== '')
}

/** One answer is judged by itself only if it is a list, and if an absent field is the exception among the fields that may be absent. */
const isLacking = ({ absence }: KnownField, { known, answers }: ShapeNode, others: number): boolean => {
  if (absence.answers === 0 || absence.answers < (answers + others) * MIN_SHARE) return false
  if (answers >= MIN_ANSWERS) return true
  const optional = [...known.values()].filter(mayBeGone)
  const present = optional.filter((other) => other.absence.answers < answers)
  return absence.readCompletely >= MIN_RECORDS && (absence.isNull || present.length * 2 >= optional.length)
}
