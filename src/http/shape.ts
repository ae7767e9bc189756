import { describeField as describeSchema, type FieldDescription } from '../model/field-description.js'
import type { Drift } from '../model/report.js'
import type { Row } from '../model/row.js'
import type { Kind } from '../model/row-schema.js'
import { readDay } from '../model/trading-day.js'

const BITS: Readonly<Record<Kind, number>> = { text: 1, number: 2, flag: 4, list: 8, record: 16 }

/** A field that the schema declares, and what the answers of the run had in it. */
export interface KnownField {
  readonly name: string
  readonly mask: number
  /** How a difference in it is reported. */
  readonly described: Pick<FieldDifference, 'field' | 'expected' | 'required'>
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
  /**
   * Answers with a fault in it, if it is required; and how many of them were consecutive up to the latest
   * answer.
   */
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
  records: number
}

/**
 * The records of one answer at a node: first, middle and last of each list, and all of them if the sample is
 * not enough.
 */
export interface NodeRecords {
  readonly sample: readonly Row[]
  readonly readAll: () => readonly Row[]
}

export const createShapeNode = (
  steps: readonly string[],
  path: string,
  { kinds, fields = {} }: FieldDescription,
): ShapeNode => {
  const own = kinds.includes('list') ? `${path}[]` : path
  const node = { steps, path: own, answers: 0, records: 0 }
  const known = Object.entries(fields).map(([name, schema]) =>
    toKnownField(node, name, describeSchema(schema)),
  )
  return {
    ...node,
    known: new Map(known.map((field) => [field.name, field])),
    always: known.filter(({ isExpected, isUsual }) => isExpected && !isUsual),
    perAnswer: known.filter(
      (field) => field.inner !== undefined || field.isRequired || field.isUsual || mayLackValues(field),
    ),
  }
}

const toKnownField = (
  node: Pick<ShapeNode, 'path' | 'steps'>,
  name: string,
  field: FieldDescription,
): KnownField => {
  const { usual, required, key, format } = field.facts
  return {
    name,
    mask: toMask(field.kinds),
    described: {
      field: joinPath(node, name),
      expected: field.expected,
      ...(required === true ? { required } : {}),
    },
    isExpected: !field.isOptional || usual === true,
    isUsual: usual === true,
    isRequired: required === true,
    mayBeNull: key !== true,
    format,
    inner: field.fields && createShapeNode([...node.steps, name], joinPath(node, name), field),
    filledIn: 0,
    absence: { answers: 0, records: 0, readCompletely: 0, isNull: false, example: '' },
    faulty: 0,
    faultyInARow: 0,
  }
}

export const listNodes = (node: ShapeNode): readonly ShapeNode[] => [
  node,
  ...[...node.known.values()].flatMap(({ inner }) => (inner === undefined ? [] : listNodes(inner))),
]

export const toMask = (kinds: readonly Kind[]): number => kinds.reduce((mask, kind) => mask | BITS[kind], 0)

export const joinPath = ({ path }: { readonly path: string }, name: string): string =>
  path === '' ? name : `${path}.${name}`

/** The kind of a value as one bit of a mask; no bit for null, which is always allowed. */
const toKindBit = (value: unknown): number => {
  if (typeof value === 'string') return BITS.text
  if (typeof value === 'number') return BITS.number
  if (typeof value === 'boolean') return BITS.flag
  return value === null || value === undefined ? 0 : Array.isArray(value) ? BITS.list : BITS.record
}

export const isWrongKind = (value: unknown, { mask }: { readonly mask: number }): boolean =>
  (toKindBit(value) & ~mask) !== 0

/** A required key without a value is refused per answer. */
export const mayLackValues = (field: KnownField): boolean =>
  field.isExpected && !field.mayBeNull && !field.isRequired && !isContainer(field)

/** Whether the field may only be a list or a record. */
export const isContainer = ({ mask }: { readonly mask: number }): boolean =>
  (mask & ~(BITS.list | BITS.record)) === 0

export const describeKind = (value: unknown): string =>
  Object.entries(BITS).find(([, bit]) => bit === toKindBit(value))?.[0] ?? 'nothing'

/** The years 1990 to 2100; values in seconds or microseconds are far outside. */
const [FIRST_MILLIS, LAST_MILLIS] = [Date.UTC(1990), Date.UTC(2100)] as const

export const hasFormat = (value: unknown, { format }: KnownField): boolean => {
  if (format === 'day') return readDay(value) !== undefined
  return format === undefined || (typeof value === 'number' && value >= FIRST_MILLIS && value <= LAST_MILLIS)
}

/** Whether a value of the right kind is more than null or empty text, and in its format. */
export const isFilled = (value: unknown, field: KnownField): boolean =>
  value !== null && value !== undefined && value !== '' && hasFormat(value, field)

/** A difference from the declared shape, and how often it was seen. */
export interface FieldDifference {
  readonly kind: Drift['kind']
  readonly field: string
  readonly node: ShapeNode
  readonly expected?: string | undefined
  readonly seen?: string | undefined
  readonly required?: true | undefined
  readonly example: string
  answers: number
  /** Records, of those checked. */
  records: number
  /** The number of the last answer with it. */
  last: number
}
