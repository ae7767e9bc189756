import type { Row } from '../model/row.js'
import { isContainer, type KnownField, type NodeRecords, type ShapeNode } from './shape-node.js'

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
export const countAbsence = (field: KnownField, { sample, readAll }: NodeRecords, item: string): void => {
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
export const listLacking = (node: ShapeNode, others: number): readonly KnownField[] =>
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
