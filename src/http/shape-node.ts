import type { z } from 'zod'
import { describeField, type FieldDescription } from '../model/field-description.js'
import type { Kind } from '../model/row-schema.js'

const BITS: Readonly<Record<Kind, number>> = { text: 1, number: 2, flag: 4, list: 8, record: 16 }

export interface KnownField<Layout> {
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
  readonly inner: ShapeNode<Layout> | undefined
}

/** The records at one path of the answer. */
export interface ShapeNode<Layout> {
  readonly path: string
  readonly known: ReadonlyMap<string, KnownField<Layout>>
  /** Answers that had one. */
  answers: number
  /** Records checked. */
  records: number
  last: number
  /** A cache by the order of field names: nearly all records at one path have the same. */
  readonly layouts: Map<string, Layout>
  usual: Layout | undefined
}

/** What an answer is, and the records in it. */
export interface AnswerShape<Layout> {
  readonly mask: number
  readonly expected: string
  readonly root: ShapeNode<Layout>
}

/** Compiles the schema of an answer. */
export const compileShape = <Layout>(schema: z.core.$ZodType): AnswerShape<Layout> => {
  const description = describeField(schema)
  return { mask: toMask(description.kinds), expected: description.expected, root: createShapeNode('', description) }
}

const createShapeNode = <Layout>(path: string, { kinds, fields = {} }: FieldDescription): ShapeNode<Layout> => {
  const own = kinds.includes('list') ? `${path}[]` : path
  const node = { path: own, answers: 0, records: 0, last: 0, layouts: new Map<string, Layout>(), usual: undefined }
  const known = Object.entries(fields).map(([name, schema]) => toKnownField<Layout>(node, name, describeField(schema)))
  return { ...node, known: new Map(known.map((field) => [field.name, field])) }
}

const toKnownField = <Layout>(node: { readonly path: string }, name: string, field: FieldDescription): KnownField<Layout> => {
  const { usual, required, key, format } = field.facts
  return {
    ...{ name, mask: toMask(field.kinds), expected: field.expected },
    ...{ isExpected: !field.isOptional || usual === true, isUsual: usual === true },
    ...{ isRequired: required === true, mayBeNull: key !== true, format },
    inner: field.fields && createShapeNode<Layout>(joinPath(node, name), field),
  }
}

const toMask = (kinds: readonly Kind[]): number => kinds.reduce((mask, kind) => mask | BITS[kind], 0)

export const joinPath = ({ path }: { readonly path: string }, name: string): string => (path === '' ? name : `${path}.${name}`)

/** The kind of a value as one bit of a mask; no bit for null, which is always allowed. */
export const toKindBit = (value: unknown): number => {
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

/** Whether the field may only be a list or a record. */
export const isContainer = ({ mask }: { readonly mask: number }): boolean => (mask & ~(BITS.list | BITS.record)) === 0

export const describeKind = (value: unknown): string => {
  const bit = toKindBit(value)
  return Object.entries(BITS).find(([, own]) => own === bit)?.[0] ?? 'nothing'
}
