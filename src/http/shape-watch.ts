import type { z } from 'zod'
import type { Drift } from '../model/report.js'
import { isRow, type Row } from '../model/row.js'
import type { AnswerInspector } from './endpoint.js'
import { createPresenceCheck, type LackingField } from './presence.js'
import { createRequiredFieldCheck, type FieldProblem, formatFieldProblem, type RequiredFieldPolicy } from './required-fields.js'
import { compileShape, describeKind, joinPath, type KnownField, type ShapeNode, toKindBit } from './shape-node.js'

/** Compares the answers of one endpoint with its declared shape. */
export interface ShapeWatch {
  /** Returns the check for the answers of an item; its name becomes the example of a drift. */
  readonly forItem: (item: string) => AnswerInspector
  /** Counts an answer that was read by a fast path, which works for the declared shape only. */
  readonly countAsExpected: () => void
}

/** Per endpoint: a record with names such as dates would add an entry for each answer. */
const MAX_ENTRIES = 40
const MAX_LAYOUTS = 200
const MAX_NAME_LENGTH = 80

type Node = ShapeNode<FieldLayout>

interface FieldLayout {
  readonly names: readonly string[]
  readonly fields: readonly (KnownField<FieldLayout> | undefined)[]
  readonly drifts: readonly Entry[]
}

interface Entry extends Pick<Drift, 'kind' | 'field' | 'expected' | 'seen' | 'required' | 'example'> {
  answers: number
  /** Records, of those checked. */
  records: number
  last: number
  readonly node: Node
}

type DriftFacts = Omit<Entry, 'answers' | 'records' | 'last' | 'example'>

const toDriftFacts = (node: Node, kind: Drift['kind'], { name, expected, isRequired }: KnownField<FieldLayout>): DriftFacts => ({
  ...{ kind, field: joinPath(node, name), expected, node },
  ...(isRequired ? { required: true } : {}),
})

interface WatchedEndpoint {
  readonly stream: string
  readonly endpoint: string
  readonly shape: z.ZodType
}

/** Creates the drift check of one endpoint. */
export const createShapeWatch = ({ stream, endpoint, shape }: WatchedEndpoint, policy?: RequiredFieldPolicy) => {
  const entries = new Map<string, Entry>()
  const compiled = compileShape<FieldLayout>(shape)
  const { root } = compiled
  const presence = createPresenceCheck(root)
  const findProblems = policy && createRequiredFieldCheck(root, policy.rules)
  let answer = 0
  let asExpected = 0
  let item = ''

  const findEntry = (facts: DriftFacts): Entry | undefined => {
    const key = `${facts.kind}\n${facts.field}\n${facts.seen ?? ''}`
    const known = entries.get(key)
    if (known || entries.size >= MAX_ENTRIES) return known
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
  const wrongKind = (facts: Omit<DriftFacts, 'kind'>, value: unknown): void =>
    hit(findEntry({ ...facts, kind: 'type', seen: describeKind(value) }))
  const findLayout = (node: Node, names: readonly string[]): FieldLayout => {
    const key = names.join('\n')
    const known = node.layouts.get(key)
    if (known) return known
    const fields = names.map((name) => node.known.get(name))
    const fresh = names.filter((_, index) => fields[index] === undefined)
    const missing = [...node.known.values()].filter(({ name, isExpected, isUsual }) => isExpected && !isUsual && !names.includes(name))
    const drifts = [
      ...fresh.map((name) => findEntry({ kind: 'new', field: joinPath(node, name), node })),
      ...missing.map((field) => findEntry(toDriftFacts(node, 'gone', field))),
    ].filter((entry) => entry !== undefined)
    const layout = { names, fields, drifts }
    if (node.layouts.size >= MAX_LAYOUTS) node.layouts.clear()
    node.layouts.set(key, layout)
    return layout
  }
  const check = (node: Node, row: Row): void => {
    if (node.last !== answer) {
      node.last = answer
      node.answers += 1
    }
    node.records += 1
    const layout = matchesLayout(row, node.usual) ? node.usual : findLayout(node, Object.keys(row))
    node.usual = layout
    const { names, fields, drifts } = layout
    for (let index = 0; index < names.length; index += 1) {
      const field = fields[index]
      if (field === undefined) continue
      const value = row[field.name]
      const bit = toKindBit(value)
      if ((bit & ~field.mask) !== 0) wrongKind(toDriftFacts(node, 'type', field), value)
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
  const inspect: AnswerInspector = (value) => {
    answer += 1
    const bit = toKindBit(value)
    if ((bit & ~compiled.mask) !== 0) wrongKind({ field: 'the answer', expected: compiled.expected, node: root }, value)
    else if (bit !== 0) within(root, value)
    presence.observe(value, item)
    for (const problem of findProblems?.(value) ?? []) judge(problem)
  }
  const judge = (problem: FieldProblem<FieldLayout>): void => {
    // Other faults were recorded above.
    if (problem.fault === 'null' || problem.fault === 'format' || (problem.fault === 'gone' && !problem.field.isExpected))
      hit(findEntry(toDriftFacts(problem.node, problem.fault, problem.field)), problem.sampleSize)
    if (problem.isRefused) policy?.refuse(formatFieldProblem(problem))
  }
  const watch: ShapeWatch = {
    forItem: (name) => {
      item = name
      return inspect
    },
    countAsExpected: () => {
      asExpected += 1
    },
  }
  const toDrift = ({ kind, field, expected, seen: kindSeen, required, answers, records, example, node }: Entry): Drift => ({
    ...{ stream, endpoint, kind, field: field.slice(0, MAX_NAME_LENGTH) },
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
  const toLackingDrift = ({ field, path, kind, lacking, answers, lackingRecords, records, example }: LackingField<FieldLayout>): Drift => ({
    ...{ stream, endpoint, kind, field: path.slice(0, MAX_NAME_LENGTH), expected: field.expected },
    ...(field.isRequired ? { required: true } : {}),
    ...{ answers: lacking, of: answers + asExpected, records: lackingRecords, ofRecords: records + asExpected, example },
  })
  const listDrifts = (): readonly Drift[] => [...[...entries.values()].map(toDrift), ...presence.list(asExpected).map(toLackingDrift)]
  return { watch, listDrifts }
}

const matchesLayout = (row: Row, layout: FieldLayout | undefined): layout is FieldLayout => {
  if (layout === undefined) return false
  let index = 0
  for (const name in row) if (layout.names[index++] !== name) return false
  return index === layout.names.length
}
