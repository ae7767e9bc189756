import { isRow, type Row } from '../model/row.js'
import { readDay } from '../model/trading-day.js'
import { describeKind, isContainer, joinPath, type KnownField, type ShapeNode, toKindBit } from './shape-node.js'

/** The thresholds for a missing required field. Shares are fractions of 1. */
export interface FieldRules {
  /** A field is missing if this share of the records of an answer lacks it. */
  readonly missingShare: number
  /** An answer with this many records is judged by itself, */
  readonly minRecords: number
  /** with this many where other answers of the run have the field, or where it may be absent. */
  readonly minRecordsIfUsual: number
  /** A field is usual once this many answers and `usualShare` of all had it. After this many without it, small answers are refused too. */
  readonly answers: number
  readonly usualShare: number
  /** After this many answers in a row without it, a field no longer counts as usual. */
  readonly inARow: number
}

/** What to do with answers that lack required fields. */
export interface RequiredFieldPolicy {
  readonly rules: FieldRules
  /** Throws unless the run accepts such answers. */
  readonly refuse: (reason: string) => void
}

/** The fault of a required field: absent, wrong type, null in all records, or wrong format. */
export type FieldFault = 'gone' | 'type' | 'null' | 'format'

export interface FieldProblem<Layout> {
  readonly node: ShapeNode<Layout>
  readonly field: KnownField<Layout>
  readonly path: string
  readonly fault: FieldFault
  /** The first wrong value. */
  readonly seen: unknown
  /** Number of records in the sample. */
  readonly sampleSize: number
  readonly isRefused: boolean
}

interface FieldCheck<Layout> {
  readonly field: KnownField<Layout>
  /** Answers of this run with such records, and how many of them had a fault in the field. */
  answers: number
  faulty: number
  /** Consecutive answers with the fault, up to the latest. */
  faultyInARow: number
}

interface RecordPath<Layout> {
  readonly steps: readonly string[]
  readonly node: ShapeNode<Layout>
  readonly checks: readonly FieldCheck<Layout>[]
}

/** Returns a check of an answer's required fields. It samples three records of each list, and reads all only if the sample has a fault. */
export const createRequiredFieldCheck = <Layout>(
  root: ShapeNode<Layout>,
  rules: FieldRules,
): ((answer: unknown) => readonly FieldProblem<Layout>[]) => {
  const recordPaths = findRecordPaths(root)
  const findProblems = (answer: unknown, { steps, node, checks }: RecordPath<Layout>): readonly FieldProblem<Layout>[] => {
    const sample = collectRecords(answer, steps, takeEnds)
    return checks.flatMap((check) => {
      const { field } = check
      if (sample.length > 0) check.answers += 1
      if (sample.length === 0) return []
      check.faultyInARow += 1
      if (sample.some((record) => findFault(record, field, node) === undefined)) {
        check.faultyInARow = 0
        return []
      }
      const all = collectRecords(answer, steps, (list) => list)
      const faulty = all.filter((record) => findFault(record, field, node) !== undefined)
      const first = faulty.find((record) => record[field.name] !== undefined) ?? faulty[0]
      if (first === undefined || faulty.length < all.length * rules.missingShare) return []
      const fault = findFault(first, field, node) ?? 'gone'
      const isRefused = mustRefuse(
        { check, fault, records: all.length, isReplaced: faulty.some((one) => hasUnknownField(one, node)) },
        rules,
      )
      check.faulty += 1
      return [{ node, field, path: joinPath(node, field.name), fault, seen: first[field.name], sampleSize: sample.length, isRefused }]
    })
  }
  return (answer) => (recordPaths.length === 0 ? [] : recordPaths.flatMap((recordPath) => findProblems(answer, recordPath)))
}

const findRecordPaths = <Layout>(node: ShapeNode<Layout>, steps: readonly string[] = []): readonly RecordPath<Layout>[] => {
  const fields = [...node.known.values()]
  const checks = fields.filter(({ isRequired }) => isRequired).map((field) => ({ field, answers: 0, faulty: 0, faultyInARow: 0 }))
  return [
    ...(checks.length === 0 ? [] : [{ steps, node, checks }]),
    ...fields.flatMap(({ name, inner }) => (inner === undefined ? [] : findRecordPaths(inner, [...steps, name]))),
  ]
}

interface Evidence<Layout> {
  readonly check: FieldCheck<Layout>
  readonly fault: FieldFault
  readonly records: number
  /** Unknown fields are present, so it was probably renamed. */
  readonly isReplaced: boolean
}

/**
 * One odd record must not fail its stock. A small answer is refused only with more evidence: a wrong type, a new name, or that most answers
 * of this run lack the field.
 */
const mustRefuse = <Layout>({ check, fault, records, isReplaced }: Evidence<Layout>, rules: FieldRules): boolean => {
  const { field, answers, faulty, faultyInARow } = check
  const present = answers - faulty - 1
  const isUsual = present >= rules.answers && present >= answers * rules.usualShare && faultyInARow < rules.inARow
  const mayBeAbsent = !field.isExpected || field.isUsual
  if (mayBeAbsent && isContainer(field)) return true
  // Records may lack such a field, but not have it without a value.
  const isAllowed = mayBeAbsent && fault !== 'null'
  if (records >= (isUsual || isAllowed ? rules.minRecordsIfUsual : rules.minRecords)) return true
  if (isUsual) return false
  return fault === 'type' || (fault === 'gone' && !mayBeAbsent && isReplaced) || faulty + 1 >= rules.answers
}

const findFault = <Layout>(record: Row, field: KnownField<Layout>, node: ShapeNode<Layout>): FieldFault | undefined => {
  const value = record[field.name]
  if (value === undefined || value === null) return findAbsence(record, field, node)
  if (value === '' && !field.mayBeNull) return 'null'
  if ((toKindBit(value) & ~field.mask) !== 0) return 'type'
  if (field.format === undefined) return undefined
  return (field.format === 'day' ? readDay(value) !== undefined : isMillis(value)) ? undefined : 'format'
}

const findAbsence = <Layout>(record: Row, field: KnownField<Layout>, node: ShapeNode<Layout>): FieldFault | undefined => {
  const isAbsent = record[field.name] === undefined
  if ((!field.isExpected || field.isUsual) && isContainer(field)) return hasUnknownContainer(record, node) ? 'gone' : undefined
  if (isAbsent) return 'gone'
  return field.mayBeNull ? undefined : 'null'
}

/** The years 1990 to 2100; values in seconds or microseconds are far outside. */
const [FIRST_MILLIS, LAST_MILLIS] = [Date.UTC(1990), Date.UTC(2100)] as const

const isMillis = (value: unknown): boolean => typeof value === 'number' && value >= FIRST_MILLIS && value <= LAST_MILLIS

const hasUnknownField = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean => Object.keys(record).some((name) => !known.has(name))

const hasUnknownContainer = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean =>
  Object.entries(record).some(
    ([name, value]) => !known.has(name) && typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  )

type TakeRecords = <T>(list: readonly T[]) => readonly T[]

export const takeEnds: TakeRecords = (list) =>
  list.length < 4 ? list : [list[0], list[list.length >> 1], list.at(-1)].filter((one) => one !== undefined)

/** Collects the records at the end of a path of names; each step may be a list or a single record. */
export const collectRecords = (value: unknown, steps: readonly string[], take: TakeRecords): readonly Row[] => {
  const here = (Array.isArray(value) ? take(value) : [value]).filter(isRow)
  const [step, ...further] = steps
  return step === undefined ? here : here.flatMap((record) => collectRecords(record[step], further, take))
}

/** Describes the fault of a required field. */
export const formatFieldProblem = <Layout>({ path, fault, field, seen }: FieldProblem<Layout>): string => {
  const descriptions: Readonly<Record<FieldFault, string>> = {
    gone: 'is missing from the answer',
    type: `is ${describeKind(seen)} instead of ${field.expected.replaceAll('|', ' or ')}`,
    null: seen === '' ? 'is empty in all records' : 'is null in all records',
    format: field.format === 'day' ? 'does not start with a date (YYYY-MM-DD)' : 'is not in epoch milliseconds',
  }
  return `${path} ${descriptions[fault]}`
}
