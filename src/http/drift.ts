import type { z } from 'zod'
import { describeField as describeSchema } from '../model/field-description.js'
import { getOrAdd } from '../model/map.js'
import type { Drift } from '../model/report.js'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import type { AnswerInspector, AnyEndpoint } from './endpoint.js'
import {
  createShapeNode,
  describeKind,
  type FieldDifference,
  isFilled,
  isWrongKind,
  joinPath,
  type KnownField,
  listNodes,
  mayLackValues,
  type NodeRecords,
  type ShapeNode,
  toMask,
} from './shape.js'

/** The fault of a required field: absent, wrong type, null in all records, or wrong format. */
export type FieldFault = 'gone' | 'type' | 'null' | 'format'

export interface FieldProblem {
  readonly node: ShapeNode
  readonly field: KnownField
  readonly fault: FieldFault
  readonly seen: unknown
  readonly sampleSize: number
  readonly isRefused: boolean
}

/** Checks the fields without which an answer is refused. */
export interface RequiredFields {
  readonly find: (node: ShapeNode, field: KnownField, records: NodeRecords) => FieldProblem | undefined
  /** Throws unless the run accepts such answers. */
  readonly refuse: (problem: FieldProblem) => void
}

/** Per endpoint: a record with names such as dates would add a difference for each answer. */
const MAX_DIFFERENCES = 40
const MAX_NAME_LENGTH = 80

export type ShapeWatch = ReturnType<typeof createShapeWatch>

/** Compares the answers of one endpoint with its declared shape. */
const createShapeWatch = (stream: string, endpoint: string, shape: z.ZodType, required?: RequiredFields) => {
  const described = describeSchema(shape)
  const whole = { mask: toMask(described.kinds), field: 'the answer', expected: described.expected }
  const root = createShapeNode([], '', described)
  const nodes = listNodes(root)
  const check: ShapeCheck = {
    required,
    differences: new Map(),
    number: 0,
    item: '',
    answer: undefined,
    problems: [],
  }
  let asExpected = 0

  const inspect: AnswerInspector = (answer) => {
    check.number += 1
    check.answer = answer
    check.problems = []
    if (isWrongKind(answer, whole)) return countWrongKind(check, root, whole, answer)
    checkNode(check, root, [answer])
    check.answer = undefined
    countProblems(check)
  }
  const toDrift = ({
    kind,
    field,
    node,
    expected,
    seen,
    required,
    answers,
    records,
    example,
  }: Omit<FieldDifference, 'last'>): Drift => ({
    stream,
    endpoint,
    kind,
    field: field.slice(0, MAX_NAME_LENGTH),
    ...omitUndefined({ expected, seen, required }),
    answers,
    of: Math.max(node.answers, answers) + asExpected,
    records,
    ofRecords: Math.max(node.records, records) + asExpected,
    example,
  })
  return {
    /** Returns the check for the answers of an item; its name becomes the example of a drift. */
    forItem: (name: string): AnswerInspector => {
      check.item = name
      return inspect
    },
    /** Counts an answer that was read by a fast path, which works for the declared shape only. */
    countAsExpected: (): void => {
      asExpected += 1
    },
    listDrifts: (): readonly Drift[] =>
      [...check.differences.values(), ...nodes.flatMap((node) => listLacking(node, asExpected))].map(toDrift),
  }
}

/** The answer that is being checked, and the differences so far. */
interface ShapeCheck {
  readonly required: RequiredFields | undefined
  readonly differences: Map<string, FieldDifference>
  number: number
  answer: unknown
  item: string
  /** The faults of its required fields. */
  problems: FieldProblem[]
}

/** Counts the faults of required fields, and refuses the answer for one of them. */
const countProblems = (check: ShapeCheck): void => {
  for (const problem of check.problems) {
    const { fault, field, node, sampleSize } = problem
    // Other faults are counted by the check of the records.
    if (fault === 'null' || fault === 'format' || (fault === 'gone' && !field.isExpected))
      countDifference(check, node, { kind: fault, ...field.described }, sampleSize)
    if (problem.isRefused) check.required?.refuse(problem)
  }
}

/**
 * Checks the records of an answer at one node and all nodes below it: one pass over the fields of each record
 * of the sample.
 */
const checkNode = (check: ShapeCheck, node: ShapeNode, values: readonly unknown[]): void => {
  const sample: Row[] = []
  const add = (element: unknown): void => {
    if (isRow(element)) sample.push(element)
    else if (element !== null) countWrongKind(check, node, { field: node.path, expected: 'record' }, element)
  }
  for (const value of values)
    if (Array.isArray(value)) takeEnds(value).forEach(add)
    else add(value)
  if (sample.length === 0) return
  node.answers += 1
  node.records += sample.length
  for (const record of sample) checkRecord(check, node, record)
  for (const field of node.perAnswer) {
    if (field.filledIn === check.number) field.faultyInARow = 0
    else checkUnfilled(check, node, field, sample)
    if (field.inner === undefined) continue
    const inner = sample
      .map((record) => record[field.name] ?? null)
      .filter((value) => !isWrongKind(value, field))
    checkNode(check, field.inner, inner)
  }
}

const checkRecord = (check: ShapeCheck, node: ShapeNode, record: Row): void => {
  for (const name in record) {
    const value = record[name]
    const field = node.known.get(name)
    if (field === undefined) countDifference(check, node, { kind: 'new', field: joinPath(node, name) })
    else if (isWrongKind(value, field)) countWrongKind(check, node, field.described, value)
    else if (field.filledIn !== check.number && isFilled(value, field)) field.filledIn = check.number
  }
  for (const field of node.always)
    if (record[field.name] === undefined && !Object.hasOwn(record, field.name))
      countDifference(check, node, { kind: 'gone', ...field.described })
}

/** Looks at a field for which no record of the sample has a proper value. */
const checkUnfilled = (
  check: ShapeCheck,
  node: ShapeNode,
  field: KnownField,
  sample: readonly Row[],
): void => {
  let all: readonly Row[] | undefined
  const records: NodeRecords = { sample, readAll: () => (all ??= collectRecords(check.answer, node.steps)) }
  countAbsence(field, records, check.item)
  const problem = field.isRequired ? check.required?.find(node, field, records) : undefined
  if (problem !== undefined) check.problems.push(problem)
}

type DifferenceFacts = Pick<FieldDifference, 'kind' | 'field' | 'expected' | 'seen' | 'required'>

/** Counts records of the answer with a difference; a new one up to the limit. */
const countDifference = (
  { differences, number, item }: ShapeCheck,
  node: ShapeNode,
  facts: DifferenceFacts,
  records = 1,
): void => {
  const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
  let difference = differences.get(key)
  if (difference === undefined) {
    if (differences.size >= MAX_DIFFERENCES) return
    difference = { ...facts, node, example: item, answers: 0, records: 0, last: 0 }
    differences.set(key, difference)
  }
  difference.records += records
  if (difference.last === number) return
  difference.last = number
  difference.answers += 1
}

const countWrongKind = (
  check: ShapeCheck,
  node: ShapeNode,
  facts: Omit<DifferenceFacts, 'kind'>,
  value: unknown,
): void => countDifference(check, node, { kind: 'type', ...facts, seen: describeKind(value) })

/** A field is gone if at least this share of the answers lacks it. */
const MIN_SHARE = 0.95
/** With fewer answers, no field counts as gone, unless one of them is a long list. */
const MIN_ANSWERS = 5
/** A list with this many records is long. */
const LONG_LIST = 10

/**
 * Counts the answers that lack a field which single records may lack (`usual`), or that have no value in a
 * `key`. No single answer shows that it is gone: one stock may lack what the others have.
 */
const countAbsence = (field: KnownField, { sample, readAll }: NodeRecords, item: string): void => {
  if (!field.isUsual && !mayLackValues(field)) return
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

const hasField = (record: Row, field: KnownField): boolean => {
  const value = record[field.name]
  if (value === undefined) return !field.isUsual
  return !mayLackValues(field) || (value !== null && value !== '')
}

/**
 * The fields of a node that (nearly) all answers of the run lack. `others`: answers that had all fields and
 * were not checked.
 */
const listLacking = (node: ShapeNode, others: number): readonly Omit<FieldDifference, 'last'>[] =>
  node.perAnswer
    .filter((field) => isLacking(field, node, others))
    .map((field) => {
      const { isNull, answers, records, example } = field.absence
      return { kind: isNull ? 'null' : 'gone', node, ...field.described, answers, records, example }
    })

/**
 * One answer is judged by itself only if it is a list, and if an absent field is the exception among the
 * fields that may be absent.
 */
const isLacking = ({ absence }: KnownField, { known, answers }: ShapeNode, others: number): boolean => {
  if (absence.answers === 0 || absence.answers < (answers + others) * MIN_SHARE) return false
  if (answers >= MIN_ANSWERS) return true
  const optional = [...known.values()].filter(({ isUsual }) => isUsual)
  const present = optional.filter((other) => other.absence.answers < answers)
  return absence.readCompletely >= LONG_LIST && (absence.isNull || present.length * 2 >= optional.length)
}

export type DriftWatch = ReturnType<typeof createDriftWatch>

const MAX_REPORTED = 48

/**
 * Collects the drift of a run, by endpoint, with counts of answers and records. Without `required`, no answer
 * is refused.
 */
export const createDriftWatch = (required?: RequiredFields) => {
  const streams = new Map<string, Map<AnyEndpoint, ShapeWatch>>()
  const byProcess = new Map<string, readonly Drift[]>()
  return {
    /** Checks the endpoints of a stream that declare a shape. */
    forStream: (stream: string) => {
      const watches = getOrAdd(streams, stream, () => new Map())
      return (endpoint: AnyEndpoint): ShapeWatch | undefined => {
        const { name, shape } = endpoint
        return shape && getOrAdd(watches, endpoint, () => createShapeWatch(stream, name, shape, required))
      }
    },
    /**
     * Replaces the drift that another process of the run has reported so far; a late report with fewer
     * answers is ignored.
     */
    add: (source: string, seen: readonly Drift[]): void => {
      if (sumAnswers(seen) >= sumAnswers(byProcess.get(source) ?? [])) byProcess.set(source, seen)
    },
    /** The most frequent first. */
    listDrifts: (): readonly Drift[] => {
      const own = [...streams.values()].flatMap((watches) =>
        [...watches.values()].flatMap(({ listDrifts }) => listDrifts()),
      )
      const merged = mergeDrifts([...own, ...[...byProcess.values()].flat()])
      return merged.sort((one, other) => other.answers - one.answers).slice(0, MAX_REPORTED)
    },
  }
}

const sumAnswers = (drifts: readonly Drift[]): number => drifts.reduce((sum, { answers }) => sum + answers, 0)

/** Adds up the same drift seen by several processes. */
const mergeDrifts = (all: readonly Drift[]): Drift[] => {
  const sums = new Map<string, Drift>()
  for (const one of all) {
    const key = JSON.stringify([one.stream, one.endpoint, one.kind, one.field, one.expected, one.seen])
    const { answers, of, records, ofRecords, ...facts } = sums.get(key) ?? {
      ...one,
      answers: 0,
      of: 0,
      records: 0,
      ofRecords: 0,
    }
    const counts = {
      answers: answers + one.answers,
      of: of + one.of,
      records: records + one.records,
      ofRecords: ofRecords + one.ofRecords,
    }
    sums.set(key, { ...facts, ...counts })
  }
  return [...sums.values()]
}

/** The first, the middle and the last element of a list. */
export const takeEnds = (list: readonly unknown[]): readonly unknown[] =>
  list.length < 4 ? list : [list[0], list[list.length >> 1], list.at(-1)]

/** Collects all records at the end of a path of names; each step may be a list or a single record. */
export const collectRecords = (value: unknown, [step, ...further]: readonly string[]): readonly Row[] => {
  const here = [value].flat().filter(isRow)
  return step === undefined ? here : here.flatMap((record) => collectRecords(record[step], further))
}
