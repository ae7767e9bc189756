import type { z } from 'zod'
import type { Drift } from '../model/report.js'
import {
  checkSample,
  countRecords,
  countWrongKind,
  createDriftLog,
  type DriftLog,
  type FieldLayout,
  findEntry,
  toDrift,
  toDriftFacts,
  toLackingDrift,
} from './drift-log.js'
import type { AnswerInspector, AnyEndpoint } from './endpoint.js'
import { createPresenceCheck } from './presence.js'
import { createRequiredFieldCheck, type FieldProblem, formatFieldProblem, type RequiredFieldPolicy } from './required-fields.js'
import { compileShape, toKindBit } from './shape-node.js'

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
  const { mask, expected, root } = compileShape<FieldLayout>(shape)
  const presence = createPresenceCheck(root)
  const findProblems = policy && createRequiredFieldCheck(root, policy.rules)
  const log = createDriftLog()
  let asExpected = 0

  const inspect: AnswerInspector = (value) => {
    log.answer += 1
    const bit = toKindBit(value)
    if ((bit & ~mask) !== 0) countWrongKind(log, { field: 'the answer', expected, node: root }, value)
    else if (bit !== 0) checkSample(log, root, value)
    presence.observe(value, log.item)
    for (const problem of findProblems?.(value) ?? []) {
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
      ...presence.list(asExpected).map((lacking) => toLackingDrift(lacking, source)),
    ]
  }
  return { watch, listDrifts }
}

/** Counts the faults of a required field that the check of the records does not count. */
const countProblem = (log: DriftLog, { fault, field, node, sampleSize }: FieldProblem<FieldLayout>): void => {
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
  const watched: (() => readonly Drift[])[] = []
  const streams = new Map<string, ReturnType<DriftWatch['forStream']>>()
  const byProcess = new Map<string, readonly Drift[]>()
  return {
    forStream: (stream) => {
      const existing = streams.get(stream)
      if (existing) return existing
      const watches = new Map<AnyEndpoint, ShapeWatch>()
      const watchEndpoint = (endpoint: AnyEndpoint): ShapeWatch | undefined => {
        const known = watches.get(endpoint)
        if (known || endpoint.shape === undefined) return known
        const { watch, listDrifts } = createShapeWatch({ stream, endpoint: endpoint.name, shape: endpoint.shape }, policy)
        watches.set(endpoint, watch)
        watched.push(listDrifts)
        return watch
      }
      streams.set(stream, watchEndpoint)
      return watchEndpoint
    },
    add: (source, seen) => {
      if (sumAnswers(seen) >= sumAnswers(byProcess.get(source) ?? [])) byProcess.set(source, seen)
    },
    listDrifts: () =>
      mergeDrifts([...watched.flatMap((list) => list()), ...[...byProcess.values()].flat()])
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
