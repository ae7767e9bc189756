import { isRow, type Row } from '../model/row.js'
import { readDay } from '../model/trading-day.js'
import { bitOf, isContainer, type Known, kindOf, pathTo, type ShapeNode } from './shape-node.js'

/** The thresholds for a missing required field. Shares are fractions of 1. */
export interface FieldRules {
  /** A field is missing if this share of the records of an answer lacks it. */
  readonly offShare: number
  /** An answer with this many records is judged by itself, */
  readonly fewest: number
  /** with this many where other answers of the run have the field, or where it may be absent. */
  readonly fewestIfUsual: number
  /** A field is usual in a run once this many answers and `usualShare` of all had it; after this many without it, small ones are refused too. */
  readonly answers: number
  readonly usualShare: number
  /** After this many answers in a row without it, a field no longer counts as usual. */
  readonly inARow: number
}

/** What to do with answers that lack required fields. */
export interface Requiring {
  readonly rules: FieldRules
  /** Throws unless the run accepts such answers. */
  readonly refuse: (why: string) => void
}

/** The fault of a required field: absent, wrong type, null in all records, or wrong format. */
export type Fault = 'gone' | 'type' | 'null' | 'format'

export interface Off<Layout> {
  readonly node: ShapeNode<Layout>
  readonly field: Known<Layout>
  readonly path: string
  readonly fault: Fault
  /** The first wrong value. */
  readonly seen: unknown
  /** Number of records in the sample. */
  readonly sampled: number
  readonly isRefused: boolean
}

interface Check<Layout> {
  readonly field: Known<Layout>
  /** Answers of this run with such records, and how many of them had a fault in the field. */
  answers: number
  off: number
  /** How many of the latest answers had the fault, without one in between that did not. */
  offInARow: number
}

interface Place<Layout> {
  readonly steps: readonly string[]
  readonly node: ShapeNode<Layout>
  readonly checks: readonly Check<Layout>[]
}

/** Returns a check of an answer's required fields. It samples three records of each list, and reads all only if the sample has a fault. */
export const requiredIn = <Layout>(root: ShapeNode<Layout>, rules: FieldRules): ((answer: unknown) => readonly Off<Layout>[]) => {
  const places = placesIn(root)
  const offIn = (answer: unknown, { steps, node, checks }: Place<Layout>): readonly Off<Layout>[] => {
    const sample = recordsAt(answer, steps, ends)
    return checks.flatMap((check) => {
      const { field } = check
      if (sample.length > 0) check.answers += 1
      if (sample.length === 0) return []
      check.offInARow += 1
      if (sample.some((record) => faultOf(record, field, node) === undefined)) {
        check.offInARow = 0
        return []
      }
      const all = recordsAt(answer, steps, (list) => list)
      const off = all.filter((record) => faultOf(record, field, node) !== undefined)
      const [first] = off
      if (first === undefined || off.length < all.length * rules.offShare) return []
      const fault = faultOf(first, field, node) ?? 'gone'
      const isRefused = mustRefuse({ check, fault, records: all.length, isReplaced: off.some((one) => hasUnknown(one, node)) }, rules)
      check.off += 1
      return [{ node, field, path: pathTo(node, field.name), fault, seen: first[field.name], sampled: sample.length, isRefused }]
    })
  }
  return (answer) => (places.length === 0 ? [] : places.flatMap((place) => offIn(answer, place)))
}

const placesIn = <Layout>(node: ShapeNode<Layout>, steps: readonly string[] = []): readonly Place<Layout>[] => {
  const fields = [...node.known.values()]
  const checks = fields.filter(({ isRequired }) => isRequired).map((field) => ({ field, answers: 0, off: 0, offInARow: 0 }))
  return [
    ...(checks.length === 0 ? [] : [{ steps, node, checks }]),
    ...fields.flatMap(({ name, inner }) => (inner === undefined ? [] : placesIn(inner, [...steps, name]))),
  ]
}

interface Evidence<Layout> {
  readonly check: Check<Layout>
  readonly fault: Fault
  readonly records: number
  /** Unknown fields are present, so it was probably renamed. */
  readonly isReplaced: boolean
}

/**
 * One odd record must not fail its stock. A small answer is refused only with more evidence: a wrong type, a new name, or that most answers
 * of this run lack the field.
 */
const mustRefuse = <Layout>({ check, fault, records, isReplaced }: Evidence<Layout>, rules: FieldRules): boolean => {
  const { field, answers, off, offInARow } = check
  const present = answers - off - 1
  const isUsual = present >= rules.answers && present >= answers * rules.usualShare && offInARow < rules.inARow
  const mayBeAbsent = !field.isExpected || field.isUsual
  if (mayBeAbsent && isContainer(field)) return true
  if (records >= (isUsual || mayBeAbsent ? rules.fewestIfUsual : rules.fewest)) return true
  if (isUsual) return false
  return fault === 'type' || (fault === 'gone' && !mayBeAbsent && isReplaced) || off + 1 >= rules.answers
}

const faultOf = <Layout>(record: Row, field: Known<Layout>, node: ShapeNode<Layout>): Fault | undefined => {
  const value = record[field.name]
  if (value === undefined || value === null) return absenceOf(record, field, node)
  if ((bitOf(value) & ~field.mask) !== 0) return 'type'
  if (field.format === undefined) return undefined
  return (field.format === 'day' ? readDay(value) !== undefined : isMillis(value)) ? undefined : 'format'
}

const absenceOf = <Layout>(record: Row, field: Known<Layout>, node: ShapeNode<Layout>): Fault | undefined => {
  const isAbsent = record[field.name] === undefined
  if ((!field.isExpected || field.isUsual) && isContainer(field)) return hasUnknownContainer(record, node) ? 'gone' : undefined
  if (isAbsent) return 'gone'
  return field.mayBeNull ? undefined : 'null'
}

/** The years 1990 to 2100; values in seconds or microseconds are far outside. */
const [FIRST_MILLIS, LAST_MILLIS] = [Date.UTC(1990), Date.UTC(2100)] as const

const isMillis = (value: unknown): boolean => typeof value === 'number' && value >= FIRST_MILLIS && value <= LAST_MILLIS

const hasUnknown = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean => Object.keys(record).some((name) => !known.has(name))

const hasUnknownContainer = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean =>
  Object.entries(record).some(
    ([name, value]) => !known.has(name) && typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  )

type Take = <T>(list: readonly T[]) => readonly T[]

const ends: Take = (list) => (list.length < 4 ? list : [list[0], list[list.length >> 1], list.at(-1)].filter((one) => one !== undefined))

/** Collects the records at the end of a path of names; each step may be a list or a single record. */
const recordsAt = (value: unknown, steps: readonly string[], take: Take): readonly Row[] => {
  const here = (Array.isArray(value) ? take(value) : [value]).filter(isRow)
  const [step, ...further] = steps
  return step === undefined ? here : here.flatMap((record) => recordsAt(record[step], further, take))
}

/** Describes the fault of a required field. */
export const offText = <Layout>({ path, fault, field, seen }: Off<Layout>): string => {
  const descriptions: Readonly<Record<Fault, string>> = {
    gone: 'is missing from the answer',
    type: `is ${kindOf(seen)} instead of ${field.expected.replaceAll('|', ' or ')}`,
    null: 'is null in all records',
    format: field.format === 'day' ? 'does not start with a date (YYYY-MM-DD)' : 'is not in epoch milliseconds',
  }
  return `${path} ${descriptions[fault]}`
}
