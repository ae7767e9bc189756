import { isRow, type Row } from '../model/row.js'
import { readDay } from '../model/trading-day.js'
import { bitOf, isContainer, type Known, kindOf, pathTo, type ShapeNode } from './shape-node.js'

/** The figures by which it is told that a required field is gone. Shares are of 1. */
export interface FieldRules {
  /** Gone means: from this share of the records of an answer. */
  readonly offShare: number
  /** An answer of so many records is judged by itself, */
  readonly fewest: number
  /** one of so many where other answers of the run have the field, or where it may be absent. */
  readonly fewestIfUsual: number
  /** A field is usual in a run once so many answers had it, and this share of all; smaller answers without it are refused after as many. */
  readonly answers: number
  readonly usualShare: number
}

/** How answers are judged that lack required fields. */
export interface Requiring {
  readonly rules: FieldRules
  /** Throws, where the run takes no such answers. */
  readonly refuse: (why: string) => void
}

/** What is wrong with a required field: absent, of another type, null everywhere, or not in the format that it had. */
export type Fault = 'gone' | 'type' | 'null' | 'format'

export interface Off<Layout> {
  readonly node: ShapeNode<Layout>
  readonly field: Known<Layout>
  readonly path: string
  readonly fault: Fault
  /** The first value that was seen instead. */
  readonly seen: unknown
  /** How many records were looked at first. */
  readonly sampled: number
  readonly isRefused: boolean
}

interface Check<Layout> {
  readonly field: Known<Layout>
  /** Answers of this run that held such records, and in how many of them the field was off. */
  answers: number
  off: number
}

interface Place<Layout> {
  readonly steps: readonly string[]
  readonly node: ShapeNode<Layout>
  readonly checks: readonly Check<Layout>[]
}

/** Looks for required fields that are off in an answer. Three records of each list stand for all of it, until they have no such field. */
export const requiredIn = <Layout>(root: ShapeNode<Layout>, rules: FieldRules): ((answer: unknown) => readonly Off<Layout>[]) => {
  const places = placesIn(root)
  const offIn = (answer: unknown, { steps, node, checks }: Place<Layout>): readonly Off<Layout>[] => {
    const sample = recordsAt(answer, steps, ends)
    return checks.flatMap((check) => {
      const { field } = check
      if (sample.length > 0) check.answers += 1
      if (sample.length === 0 || sample.some((record) => faultOf(record, field, node) === undefined)) return []
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
  const checks = fields.filter(({ isRequired }) => isRequired).map((field) => ({ field, answers: 0, off: 0 }))
  return [
    ...(checks.length === 0 ? [] : [{ steps, node, checks }]),
    ...fields.flatMap(({ name, inner }) => (inner === undefined ? [] : placesIn(inner, [...steps, name]))),
  ]
}

interface Evidence<Layout> {
  readonly check: Check<Layout>
  readonly fault: Fault
  readonly records: number
  /** Whether fields that nobody knows stand beside it: it was renamed. */
  readonly isReplaced: boolean
}

/**
 * One odd record must not cost its stock, so a small answer is refused only where there is more evidence: another type or name, or that
 * answers of this run lack the field as a rule.
 */
const mustRefuse = <Layout>({ check, fault, records, isReplaced }: Evidence<Layout>, rules: FieldRules): boolean => {
  const { field, answers, off } = check
  const held = answers - off - 1
  const isUsual = held >= rules.answers && held >= answers * rules.usualShare
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

/** The years 1990 to 2100: figures in seconds or microseconds lie far outside. */
const [FIRST_MILLIS, LAST_MILLIS] = [Date.UTC(1990), Date.UTC(2100)] as const

const isMillis = (value: unknown): boolean => typeof value === 'number' && value >= FIRST_MILLIS && value <= LAST_MILLIS

const hasUnknown = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean => Object.keys(record).some((name) => !known.has(name))

const hasUnknownContainer = <Layout>(record: Row, { known }: ShapeNode<Layout>): boolean =>
  Object.entries(record).some(
    ([name, value]) => !known.has(name) && typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  )

type Take = <T>(list: readonly T[]) => readonly T[]

const ends: Take = (list) => (list.length < 4 ? list : [list[0], list[list.length >> 1], list.at(-1)].filter((one) => one !== undefined))

/** The records at the end of a path of names, each of which may hold a list of them or a single one. */
const recordsAt = (value: unknown, steps: readonly string[], take: Take): readonly Row[] => {
  const here = (Array.isArray(value) ? take(value) : [value]).filter(isRow)
  const [step, ...further] = steps
  return step === undefined ? here : here.flatMap((record) => recordsAt(record[step], further, take))
}

/** Says of a required field what is wrong with it. */
export const offText = <Layout>({ path, fault, field, seen }: Off<Layout>): string => {
  const what: Readonly<Record<Fault, string>> = {
    gone: 'is gone from the answer',
    type: `is ${kindOf(seen)} instead of ${field.expected.replaceAll('|', ' or ')}`,
    null: 'is null in all records',
    format: field.format === 'day' ? 'does not begin with a day, YYYY-MM-DD' : 'is not in epoch milliseconds',
  }
  return `${path} ${what[fault]}`
}
