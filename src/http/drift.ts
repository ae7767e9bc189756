import type { z } from 'zod'
import { getOrAdd } from '../model/map.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import {
  checkRecord,
  countRecords,
  countWrongKind,
  createDriftLog,
  type DriftLog,
  findEntry,
  toDrift,
  toDriftFacts,
  toLackingDrift,
} from './drift-log.js'
import type { AnswerInspector, AnyEndpoint } from './endpoint.js'
import { countAbsence, listLacking } from './presence.js'
import { type FieldProblem, findProblem, formatFieldProblem, type RequiredFieldPolicy } from './required-fields.js'
import {
  collectRecords,
  compileShape,
  isWrongKind,
  type KnownField,
  listNodes,
  type NodeRecords,
  type ShapeNode,
  takeEnds,
} from './shape-node.js'

/** Compares the answers of one endpoint with its declared shape. */
export interface ShapeWatch {
  /** Returns the check for the answers of an item; its name becomes the example of a drift. */
  readonly forItem: (item: string) => AnswerInspector
  /** Counts an answer that was read by a fast path, which works for the declared shape only. */
  readonly countAsExpected: () => void
}

interface WatchedEndpoint {
  readonly stream: string
  readonly endpoint: string
  readonly shape: z.ZodType
}

/** Creates the drift check of one endpoint. */
const createShapeWatch = ({ stream, endpoint, shape }: WatchedEndpoint, policy?: RequiredFieldPolicy) => {
  const { mask, expected, root } = compileShape(shape)
  const nodes = listNodes(root)
  const log = createDriftLog()
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
  const watch: ShapeWatch = {
    forItem: (name) => {
      log.item = name
      return inspect
    },
    countAsExpected: () => {
      asExpected += 1
    },
  }
  const listDrifts = (): readonly Drift[] => {
    const source = { stream, endpoint, asExpected }
    return [
      ...[...log.entries.values()].map((entry) => toDrift(entry, source)),
      ...nodes.flatMap((node) => listLacking(node, asExpected).map((field) => toLackingDrift(node, field, source))),
    ]
  }
  return { watch, listDrifts }
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

/** Collects the drift of a run, by endpoint, with counts of answers and records. */
export interface DriftWatch {
  /** Checks the endpoints of a stream that declare a shape. */
  readonly forStream: (stream: string) => (endpoint: AnyEndpoint) => ShapeWatch | undefined
  /** Replaces the drift that another process of the run has reported so far; a late report with fewer answers is ignored. */
  readonly add: (source: string, seen: readonly Drift[]) => void
  /** The most frequent first. */
  readonly listDrifts: () => readonly Drift[]
}

const MAX_REPORTED = 48

/** Without a policy for required fields, drift is recorded and no answer is refused. */
export const createDriftWatch = (policy?: RequiredFieldPolicy): DriftWatch => {
  const streams = new Map<string, Map<AnyEndpoint, ReturnType<typeof createShapeWatch>>>()
  const byProcess = new Map<string, readonly Drift[]>()
  return {
    forStream: (stream) => {
      const watches = getOrAdd(streams, stream, () => new Map())
      return (endpoint) => {
        const { name, shape } = endpoint
        return shape && getOrAdd(watches, endpoint, () => createShapeWatch({ stream, endpoint: name, shape }, policy)).watch
      }
    },
    add: (source, seen) => {
      if (sumAnswers(seen) >= sumAnswers(byProcess.get(source) ?? [])) byProcess.set(source, seen)
    },
    listDrifts: () =>
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
