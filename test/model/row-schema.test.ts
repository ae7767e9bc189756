import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { describeField } from '../../src/model/field-description.js'
import {
  type BuiltRowOf,
  type CsvRowOf,
  column,
  dataEnvelope,
  oneOrMore,
  type RowOf,
  row,
  textSuchAs,
} from '../../src/model/row-schema.js'
import { toColumns, toDocumentColumns } from '../../src/model/table.js'

const Action = row({
  on: column(z.string(), { about: 'first day', sql: 'on_day', format: 'day', required: true }),
})
const Share = row({
  symbol: column(z.string(), { about: 'trading symbol', sql: 'symbol', required: true, key: true }),
  side: column(textSuchAs('B', 'S'), { about: 'B or S', sql: 'side' }),
  quantity: column(z.int(), { about: 'shares', sql: 'quantity' }),
  price: column(z.number().nullable(), { about: 'rupees', sql: 'price', usual: true, or: 'text' }),
  at: column(z.number(), {
    about: 'when',
    sql: ['at', 'TIMESTAMP'],
    format: 'millis',
    convert: { sql: (value) => `f(${value})`, value: String },
  }),
  actions: column(oneOrMore(Action).optional(), { required: true }),
  blocks: column(z.record(z.string(), z.string()), { about: 'all blocks', sql: 'blocks' }),
  band: column(z.string(), {
    about: 'percent or text',
    sql: 'band',
    further: [{ name: 'band_percent', type: 'DOUBLE', comment: 'percent', from: { row: ['band'] } }],
  }),
  note: z.string().optional(),
  isNew: z.boolean(),
})
type Share = RowOf<typeof Share>

const describeFields = (schema: z.ZodObject) =>
  Object.fromEntries(Object.entries(schema.shape).map(([name, field]) => [name, describeField(field)]))

describe('a row schema', () => {
  it('gives the type of an answered row: every field optional and readonly, unknown fields allowed', () => {
    expectTypeOf<Share['price']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<Share['actions']>().toEqualTypeOf<readonly RowOf<typeof Action>[] | undefined>()
    expectTypeOf<Share['anything']>().toEqualTypeOf<unknown>()
    expectTypeOf<'B'>().toExtend<NonNullable<Share['side']>>()
    expectTypeOf<BuiltRowOf<typeof Action>>().toEqualTypeOf<{ readonly on: string }>()
    expectTypeOf<CsvRowOf<typeof Share>['quantity']>().toEqualTypeOf<string | undefined>()
  })

  it('names the kinds of each field, its format and whether it may be absent', () => {
    const fields = describeFields(Share)
    expect(
      Object.entries(fields).map(
        ([name, { expected, isOptional }]) => `${name} ${expected}${isOptional ? '?' : ''}`,
      ),
    ).toEqual([
      'symbol text',
      'side text',
      'quantity number',
      'price number|text',
      'at millis',
      'actions list|record?',
      'blocks record',
      'band text',
      'note text?',
      'isNew flag',
    ])
    expect(describeField(Action.shape.on)).toMatchObject({
      expected: 'day',
      kinds: ['text'],
      facts: { required: true },
    })
  })

  it('finds the fields of nested records, but not those of a record with any names', () => {
    const { actions, blocks, symbol } = describeFields(Share)
    expect(Object.keys(actions?.fields ?? {})).toEqual(['on'])
    expect([blocks?.fields, symbol?.fields]).toEqual([undefined, undefined])
    expect(describeField(z.array(Action)).fields).toBe(Action.shape)
    expect(describeField(z.array(z.unknown())).fields).toBeUndefined()
  })

  it('keeps the facts of a field that is made optional afterwards, and of a schema that is used twice', () => {
    const text = z.string()
    const both = row({ a: column(text, { about: 'first' }), b: column(text, { about: 'second' }), c: text })
    expect(Object.values(describeFields(both)).map(({ facts }) => facts.about)).toEqual([
      'first',
      'second',
      undefined,
    ])
    expect(describeField(both.shape.a.optional())).toMatchObject({
      isOptional: true,
      facts: { about: 'first' },
    })
  })

  it('rejects a schema without a kind', () => {
    expect(() => describeField(z.unknown())).toThrow('a row schema cannot contain unknown')
  })

  it('describes its fields in JSON Schema', () => {
    expect(z.toJSONSchema(Action).properties?.on).toMatchObject({ type: 'string', description: 'first day' })
  })
})

describe('the columns of a row schema', () => {
  it('have a type that follows from the field, and the order of the fields', () => {
    expect(toColumns(Share).map(({ name, type }) => `${name} ${type}`)).toEqual([
      'symbol VARCHAR',
      'side VARCHAR',
      'quantity BIGINT',
      'price DOUBLE',
      'at TIMESTAMP',
      'blocks JSON',
      'band VARCHAR',
      'band_percent DOUBLE',
    ])
    expect(toColumns(Action)).toEqual([
      { name: 'on_day', type: 'DATE', comment: 'first day', from: { row: ['on'] } },
    ])
    expect(
      toColumns(Share)
        .find(({ name }) => name === 'at')
        ?.convert?.sql('x'),
    ).toBe('f(x)')
  })

  it('can be read from the document around the rows', () => {
    expect(toDocumentColumns(Action)).toMatchObject([{ name: 'on_day', from: { document: ['on'] } }])
  })
})

describe('the usual envelope', () => {
  it('has rows under data and may have fields of its own', () => {
    const fields = describeFields(dataEnvelope(z.array(Action), { total: z.number() }))
    expect(
      Object.entries(fields).map(
        ([name, { expected, isOptional }]) => `${name} ${expected}${isOptional ? '?' : ''}`,
      ),
    ).toEqual(['code number?', 'status text|number?', 'tot_rec number?', 'data list', 'total number'])
  })
})
