import type { Row } from '../model/row.js'
import type { FieldFault, FieldProblem, RequiredFields } from './drift.js'
import {
  describeKind,
  hasFormat,
  isContainer,
  isWrongKind,
  type KnownField,
  type NodeRecords,
  type ShapeNode,
} from './shape.js'

/** The thresholds for a missing required field. Shares are fractions of 1. */
interface FieldRules {
  /** A field is missing if this share of the records of an answer lacks it. */
  readonly missingShare: number
  /** An answer with this many records is judged by itself, */
  readonly minRecords: number
  /** with this many where other answers of the run have the field, or where it may be absent. */
  readonly minRecordsIfUsual: number
  /**
   * A field is usual once this many answers and `usualShare` of all had it. After this many without it, small
   * answers are refused too.
   */
  readonly answers: number
  readonly usualShare: number
  /** After this many answers in a row without it, a field no longer counts as usual. */
  readonly inARow: number
}

/** Answers that lack a required field are refused: `refuse` throws unless the run accepts them. */
export const createRequiredFields = (
  rules: FieldRules,
  refuse: (reason: string) => void,
): RequiredFields => ({
  find: (node, field, records) => findProblem(node, field, records, rules),
  refuse: (problem) => refuse(formatFieldProblem(problem)),
})

/**
 * Checks a required field in the sample of an answer, and in all its records only if the sample has a fault.
 */
const findProblem = (
  node: ShapeNode,
  field: KnownField,
  { sample, readAll }: NodeRecords,
  rules: FieldRules,
): FieldProblem | undefined => {
  if (sample.some((record) => findFieldFault(record, field, node) === undefined)) {
    field.faultyInARow = 0
    return undefined
  }
  field.faultyInARow += 1
  const all = readAll()
  const faulty = all.filter((record) => findFieldFault(record, field, node) !== undefined)
  const first = faulty.find((record) => record[field.name] !== undefined) ?? faulty[0]
  if (first === undefined || faulty.length < all.length * rules.missingShare) return undefined
  const fault = findFieldFault(first, field, node) ?? 'gone'
  const evidence = {
    fault,
    answers: node.answers,
    records: all.length,
    isReplaced: faulty.some((one) => hasUnknownField(one, node)),
  }
  const isRefused = mustRefuse(field, evidence, rules)
  field.faulty += 1
  return { node, field, fault, seen: first[field.name], sampleSize: sample.length, isRefused }
}

interface Evidence {
  readonly fault: FieldFault
  /** Answers of this run with such records. */
  readonly answers: number
  readonly records: number
  /** Unknown fields are present, so it was probably renamed. */
  readonly isReplaced: boolean
}

/**
 * One odd record must not fail its stock. A small answer is refused only with more evidence: a wrong type, a
 * new name, or that most answers of this run lack the field.
 */
const mustRefuse = (
  field: KnownField,
  { fault, answers, records, isReplaced }: Evidence,
  rules: FieldRules,
): boolean => {
  const { faulty, faultyInARow } = field
  const present = answers - faulty - 1
  const isUsual =
    present >= rules.answers && present >= answers * rules.usualShare && faultyInARow < rules.inARow
  const mayBeAbsent = !field.isExpected || field.isUsual
  if (mayBeAbsent && isContainer(field)) return true
  // Records may lack such a field, but not have it without a value.
  const isAllowed = mayBeAbsent && fault !== 'null'
  if (records >= (isUsual || isAllowed ? rules.minRecordsIfUsual : rules.minRecords)) return true
  if (isUsual) return false
  return fault === 'type' || (fault === 'gone' && !mayBeAbsent && isReplaced) || faulty + 1 >= rules.answers
}

const findFieldFault = (record: Row, field: KnownField, node: ShapeNode): FieldFault | undefined => {
  const value = record[field.name]
  if (value === undefined || value === null) return findAbsence(record, field, node)
  if (value === '' && !field.mayBeNull) return 'null'
  if (isWrongKind(value, field)) return 'type'
  return hasFormat(value, field) ? undefined : 'format'
}

const findAbsence = (record: Row, field: KnownField, node: ShapeNode): FieldFault | undefined => {
  const isAbsent = record[field.name] === undefined
  if ((!field.isExpected || field.isUsual) && isContainer(field))
    return hasUnknownContainer(record, node) ? 'gone' : undefined
  if (isAbsent) return 'gone'
  return field.mayBeNull ? undefined : 'null'
}

const hasUnknownField = (record: Row, { known }: ShapeNode): boolean =>
  Object.keys(record).some((name) => !known.has(name))

const hasUnknownContainer = (record: Row, { known }: ShapeNode): boolean =>
  Object.entries(record).some(
    ([name, value]) =>
      !known.has(name) && typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  )

const formatFieldProblem = ({ fault, field, seen }: FieldProblem): string => {
  const descriptions: Readonly<Record<FieldFault, string>> = {
    gone: 'is missing from the answer',
    type: `is ${describeKind(seen)} instead of ${field.described.expected?.replaceAll('|', ' or ')}`,
    null: seen === '' ? 'is empty in all records' : 'is null in all records',
    format:
      field.format === 'day' ? 'does not start with a date (YYYY-MM-DD)' : 'is not in epoch milliseconds',
  }
  return `${field.described.field} ${descriptions[fault]}`
}
