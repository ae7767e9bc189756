import { z } from 'zod'
import { getOrAdd } from './map.js'
import type { ColumnFacts, Kind } from './row-schema.js'

export interface FieldDescription {
  readonly kinds: readonly Kind[]
  /** The kinds as people read them; a format replaces its kind. */
  readonly expected: string
  readonly isOptional: boolean
  readonly isWhole: boolean
  readonly facts: ColumnFacts
  /** The fields of its record, or of the records of its list. */
  readonly fields: Readonly<Record<string, z.core.$ZodType>> | undefined
}

const KIND_OF_TYPE: Partial<Record<z.core.$ZodTypeDef['type'], Kind>> = {
  string: 'text',
  enum: 'text',
  number: 'number',
  boolean: 'flag',
  array: 'list',
  tuple: 'list',
  object: 'record',
  record: 'record',
}

const FORMATS = { day: 'text', millis: 'number' } as const

const described = new WeakMap<z.core.$ZodType, FieldDescription>()

/** Reads a schema, once. @throws TypeError for a schema that says no kind, such as `z.unknown()` */
export const describeField = (schema: z.core.$ZodType): FieldDescription =>
  getOrAdd(described, schema, () => describe(schema))

const describe = (schema: z.core.$ZodType): FieldDescription => {
  const facts = findFacts(schema)
  const options = listOptions(schema)
  const own = [...new Set([...options.map(readKind), ...(facts.or === undefined ? [] : [facts.or])])]
  const { format } = facts
  return {
    kinds: own,
    expected: own.map((kind) => (format !== undefined && FORMATS[format] === kind ? format : kind)).join('|'),
    isOptional: isOptional(schema),
    isWhole: options.every((option) => option instanceof z.ZodNumberFormat),
    facts,
    fields: options.map(findFields).find((fields) => fields !== undefined),
  }
}

const readKind = ({ _zod: { def } }: z.core.$ZodType): Kind => {
  const kind = KIND_OF_TYPE[def.type]
  if (kind === undefined)
    throw new TypeError(`a row schema cannot contain ${def.type}; use text, numbers, flags, lists or records`)
  return kind
}

const unwrap = (schema: z.core.$ZodType): z.core.$ZodType | undefined =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly
    ? schema.unwrap()
    : undefined

const listOptions = (schema: z.core.$ZodType): readonly z.core.$ZodType[] => {
  const inner = unwrap(schema)
  if (inner !== undefined) return listOptions(inner)
  return schema instanceof z.ZodUnion ? schema.options.flatMap(listOptions) : [schema]
}

const isOptional = (schema: z.core.$ZodType): boolean => {
  const inner = unwrap(schema)
  return schema instanceof z.ZodOptional || (inner !== undefined && isOptional(inner))
}

const findFacts = (schema: z.core.$ZodType): ColumnFacts => {
  const facts = z.globalRegistry.get(schema)?.column as ColumnFacts | undefined
  const inner = unwrap(schema)
  return facts ?? (inner === undefined ? {} : findFacts(inner))
}

const findFields = (schema: z.core.$ZodType): FieldDescription['fields'] => {
  if (schema instanceof z.ZodArray) return findFields(schema.element)
  return schema instanceof z.ZodObject ? schema.shape : undefined
}
