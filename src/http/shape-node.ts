import type { z } from 'zod'
import { describeField, type FieldDescription } from '../model/field-description.js'
import { isRow, type Row } from '../model/row.js'
import type { Kind } from '../model/row-schema.js'

const BITS: Readonly<Record<Kind, number>> = { text: 1, number: 2, flag: 4, list: 8, record: 16 }

/** A field that the schema declares, and what the answers of the run had in it. */
export interface KnownField {
  readonly name: string
  readonly mask: number
  readonly expected: string
  /** A record without it counts as drift. */
  readonly isExpected: boolean
  readonly isUsual: boolean
  /** An answer without it is refused. */
  readonly isRequired: boolean
  readonly mayBeNull: boolean
  readonly format: 'day' | 'millis' | undefined
  readonly inner: ShapeNode | undefined
  /** The number of the last answer in which a record had a value of it that has no fault. */
  filledIn: number
  /** The answers in which no record had it. */
  readonly absence: {
    answers: number
    /** Records of their samples, and all their records. */
    records: number
    readCompletely: number
    /** The field was present, but without a value. */
    isNull: boolean
    example: string
  }
  /** Answers with a fault in it, if it is required; and how many of them were consecutive up to the latest answer. */
  faulty: number
  faultyInARow: number
}

/** The records at one path of the answer. */
export interface ShapeNode {
  readonly path: string
  /** The names of the fields that lead to it. */
  readonly steps: readonly string[]
  readonly known: ReadonlyMap<string, KnownField>
  /** The fields that every record must have. */
  readonly always: readonly KnownField[]
  /** The fields that are checked per answer: those that must be filled, and those with records. */
  readonly perAnswer: readonly KnownField[]
  /** Answers that had one. */
  answers: number
  /** Records checked. */
  records: number
}

/** The records of one answer at a node: first, middle and last of each list, and all of them if the sample is not enough. */
export interface NodeRecords {
  readonly sample: readonly Row[]
  readonly readAll: () => readonly Row[]
}

/** Compiles the schema of an answer: what the answer is, and the records in it. */
export const compileShape = (schema: z.core.$ZodType) => {
  const description = describeField(schema)
  return { mask: toMask(description.kinds), expected: description.expected, root: createShapeNode([], '', description) }
}

const createShapeNode = (steps: readonly string[], path: string, { kinds, fields = {} }: FieldDescription): ShapeNode => {
  const own = kinds.includes('list') ? `${path}[]` : path
  const node = { steps, path: own, answers: 0, records: 0 }
  const known = Object.entries(fields).map(([name, schema]) => toKnownField(node, name, describeField(schema)))
  return {
    ...node,
    known: new Map(known.map((field) => [field.name, field])),
    always: known.filter(({ isExpected, isUsual }) => isExpected && !isUsual),
    perAnswer: known.filter((field) => field.inner !== undefined || mustBeFilled(field)),
  }
}

const toKnownField = (node: Pick<ShapeNode, 'path' | 'steps'>, name: string, field: FieldDescription): KnownField => {
  const { usual, required, key, format } = field.facts
  return {
    ...{ name, mask: toMask(field.kinds), expected: field.expected },
    ...{ isExpected: !field.isOptional || usual === true, isUsual: usual === true },
    ...{ isRequired: required === true, mayBeNull: key !== true, format },
    inner: field.fields && createShapeNode([...node.steps, name], joinPath(node, name), field),
    filledIn: 0,
    absence: { answers: 0, records: 0, readCompletely: 0, isNull: false, example: '' },
    ...{ faulty: 0, faultyInARow: 0 },
  }
}

/** A node and all below it. */
export const listNodes = (node: ShapeNode): readonly ShapeNode[] => [
  node,
  ...[...node.known.values()].flatMap(({ inner }) => (inner === undefined ? [] : listNodes(inner))),
]

const toMask = (kinds: readonly Kind[]): number => kinds.reduce((mask, kind) => mask | BITS[kind], 0)

export const joinPath = ({ path }: { readonly path: string }, name: string): string => (path === '' ? name : `${path}.${name}`)

/** The kind of a value as one bit of a mask; no bit for null, which is always allowed. */
const toKindBit = (value: unknown): number => {
  switch (typeof value) {
    case 'string':
      return BITS.text
    case 'number':
      return BITS.number
    case 'boolean':
      return BITS.flag
    default:
      return value === null || value === undefined ? 0 : Array.isArray(value) ? BITS.list : BITS.record
  }
}

export const isWrongKind = (value: unknown, { mask }: { readonly mask: number }): boolean => (toKindBit(value) & ~mask) !== 0

/** Whether a field has to have a value somewhere in (nearly) all answers. */
const mustBeFilled = (field: KnownField): boolean => field.isRequired || mayBeGone(field) || mayLackValues(field)

/** Other absent fields count per answer: either they are drift, or they are optional. */
export const mayBeGone = ({ isUsual }: KnownField): boolean => isUsual

/** A required key without a value is refused per answer. */
export const mayLackValues = (field: KnownField): boolean =>
  field.isExpected && !field.mayBeNull && !field.isRequired && !isContainer(field)

/** Whether the field may only be a list or a record. */
export const isContainer = ({ mask }: { readonly mask: number }): boolean => (mask & ~(BITS.list | BITS.record)) === 0

export const describeKind = (value: unknown): string => {
  const bit = toKindBit(value)
  return Object.entries(BITS).find(([, own]) => own === bit)?.[0] ?? 'nothing'
}

/** The first, the middle and the last element of a list. */
export const takeEnds = (list: readonly unknown[]): readonly unknown[] =>
  list.length < 4 ? list : [list[0], list[list.length >> 1], list.at(-1)]

/** Collects all records at the end of a path of names; each step may be a list or a single record. */
export const collectRecords = (value: unknown, [step, ...further]: readonly string[]): readonly Row[] => {
  const here = [value].flat().filter(isRow)
  return step === undefined ? here : here.flatMap((record) => collectRecords(record[step], further))
}
