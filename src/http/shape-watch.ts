import type { z } from 'zod'
import type { Drift } from '../model/report.js'
import {
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
import type { AnswerInspector } from './endpoint.js'
import { createPresenceCheck } from './presence.js'
import { checkSample } from './record-check.js'
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
export const createShapeWatch = ({ stream, endpoint, shape }: WatchedEndpoint, policy?: RequiredFieldPolicy) => {
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
