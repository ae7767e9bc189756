import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createDriftWatch } from '../../src/http/drift.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import { createRequiredFields } from '../../src/http/required-fields.js'
import { thresholds } from '../../src/market/refusal-policy.js'
import { column, dataEnvelope, oneOrMore, row } from '../../src/model/row-schema.js'

/** Passes answers to a drift check; returns why each is refused. */
const judge = (shape: z.ZodType) => {
  const refused: string[] = []
  const drift = createDriftWatch(createRequiredFields(thresholds.fields, (why) => refused.push(why)))
  const observe =
    drift
      .forStream('stream')({ name: 'call', shape } as AnyEndpoint)
      ?.forItem('A') ?? expect.unreachable()
  const see = (answer: unknown): string | undefined => {
    refused.length = 0
    observe(answer)
    return refused[0]
  }
  return { see, found: drift.listDrifts }
}
const dataOf = (fields: z.ZodRawShape) => dataEnvelope(z.array(row(fields)))
const times = <T>(count: number, row: T): readonly T[] => Array.from({ length: count }, () => row)

describe('an answer without a required field', () => {
  const shape = dataOf({
    title: column(z.string(), { required: true, key: true }),
    other: z.string().optional(),
  })

  it('is refused when three records lack it', () => {
    expect(judge(shape).see({ data: times(3, { other: 'x' }) })).toBe(
      'data[].title is missing from the answer',
    )
    expect(judge(shape).see({ data: [{ other: 'x' }, { other: 'x' }, { title: 'a' }] })).toBeUndefined()
  })

  it('is refused with a single record if it has an unknown field or the wrong type', () => {
    expect(judge(shape).see({ data: [{ headline: 'x' }] })).toBe('data[].title is missing from the answer')
    expect(judge(shape).see({ data: [{ title: ['x'] }] })).toBe('data[].title is list instead of text')
    expect(judge(shape).see({ data: [{ other: 'x' }] })).toBeUndefined()
  })

  it('is refused when 95 % of the records lack it, not when only the sample does', () => {
    const list = (having: number) => [{}, ...times(having, { title: 'a' }), ...times(98 - having, {}), {}]
    expect(judge(shape).see({ data: list(5) })).toBeDefined()
    expect(judge(shape).see({ data: list(6) })).toBeUndefined()
  })

  it('passes if the other answers of the run have the field, unless it is large', () => {
    const { see } = judge(shape)
    for (const _ of times(10, 0)) expect(see({ data: [{ title: 'a' }] })).toBeUndefined()
    expect(see({ data: times(9, { headline: 'x' }) })).toBeUndefined()
    expect(see({ data: times(10, { headline: 'x' }) })).toBeDefined()
  })

  it('is refused, however small, once five answers lack it', () => {
    const { see } = judge(shape)
    expect(times(6, { data: [{ other: 'x' }] }).map((answer) => see(answer) !== undefined)).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
    ])
  })

  it('is refused after ten small answers in a row without it, however many had it before', () => {
    const { see } = judge(shape)
    for (const _ of times(1_000, 0)) see({ data: [{ title: 'a' }] })
    const refusals = times(12, { data: [{ headline: 'x' }] }).map((answer) => see(answer) !== undefined)
    expect(refusals.indexOf(true)).toBe(9)
    expect(refusals.slice(9)).toEqual([true, true, true])
    expect(see({ data: [{ title: 'a' }] })).toBeUndefined()
    expect(see({ data: [{ headline: 'x' }] })).toBeUndefined()
  })

  it('passes if it has no records', () => {
    for (const answer of [{ data: [] }, { data: null }, {}]) expect(judge(shape).see(answer)).toBeUndefined()
  })
})

describe('a required field', () => {
  it('may be null, but a key not in all records', () => {
    const shape = dataOf({
      id: column(z.string(), { required: true, key: true }),
      price: column(z.number(), { required: true }),
    })
    expect(judge(shape).see({ data: times(3, { id: 'a', price: null }) })).toBeUndefined()
    const { see, found } = judge(shape)
    expect(see({ data: times(3, { id: null, price: 1 }) })).toBe('data[].id is null in all records')
    expect(found()).toMatchObject([
      { kind: 'null', field: 'data[].id', required: true, answers: 1, records: 3 },
    ])
    expect(see({ data: [{ id: 'a', price: 1 }, ...times(2, { id: null, price: 1 })] })).toBeUndefined()
  })

  it('may be an empty text, but a key not in all records', () => {
    const shape = dataOf({
      title: column(z.string(), { required: true, key: true }),
      text: column(z.string(), { required: true }),
    })
    expect(judge(shape).see({ data: times(3, { title: 'a', text: '' }) })).toBeUndefined()
    expect(
      judge(shape).see({ data: [{ title: 'a', text: '' }, ...times(2, { title: '', text: '' })] }),
    ).toBeUndefined()
    const { see, found } = judge(shape)
    expect(see({ data: times(3, { title: '', text: 'a' }) })).toBe('data[].title is empty in all records')
    expect(found()).toMatchObject([{ kind: 'null', field: 'data[].title', required: true }])
  })

  it('of the kind day starts with a date', () => {
    const see = (date: unknown) =>
      judge(dataOf({ date: column(z.string(), { format: 'day', required: true }) })).see({
        data: times(3, { date }),
      })
    expect(see('2026-02-12 23:56:04')).toBeUndefined()
    expect(see('2026-02-12')).toBeUndefined()
    for (const date of ['12-02-2026', '12 Feb 2026', '2026-02-31', ''])
      expect(see(date)).toBe('data[].date does not start with a date (YYYY-MM-DD)')
    expect(see(1_770_890_400_000)).toBe('data[].date is number instead of day')
  })

  it('of the kind millis is in epoch milliseconds', () => {
    const see = (at: unknown) =>
      judge(dataOf({ at: column(z.number(), { format: 'millis', required: true }) })).see({
        data: times(3, { at }),
      })
    expect(see(1_770_890_400_000)).toBeUndefined()
    for (const at of [1_770_890_400, 1_770_890_400_000_000, 0])
      expect(see(at)).toBe('data[].at is not in epoch milliseconds')
    expect(see('2026-02-12')).toBe('data[].at is text instead of millis')
  })

  it('is found in nested records', () => {
    const day = column(z.string(), { format: 'day', required: true })
    const shape = dataOf({
      acts: column(oneOrMore(row({ on: day })), { required: true, key: true }),
      deep: column(row({ x: column(z.string(), { required: true }) }), { required: true, key: true }),
    })
    const record = { acts: [{ on: '2026-02-12' }], deep: { x: 'a' } }
    expect(judge(shape).see({ data: times(3, record) })).toBeUndefined()
    expect(judge(shape).see({ data: times(3, { ...record, acts: { when: '2026-02-12' } }) })).toBe(
      'data[].acts[].on is missing from the answer',
    )
    expect(judge(shape).see({ data: times(3, { ...record, deep: { y: 'a' } }) })).toBe(
      'data[].deep.x is missing from the answer',
    )
    expect(judge(shape).see({ data: times(3, { ...record, deep: null }) })).toBe(
      'data[].deep is null in all records',
    )
  })

  it('that some records may lack needs larger answers, or more of them, to be refused', () => {
    const { see } = judge(
      dataOf({
        date: column(z.string(), { format: 'day', required: true, usual: true }),
        x: z.string().optional(),
      }),
    )
    expect(see({ data: times(9, { newDate: 'x' }) })).toBeUndefined()
    expect(see({ data: times(10, {}) })).toBeDefined()
  })

  it('that some records may lack is refused if three records have it as null', () => {
    const shape = dataOf({
      id: column(z.string(), { required: true, key: true, usual: true }),
      x: z.string().optional(),
    })
    expect(judge(shape).see({ data: [{ x: 'a' }, { x: 'a', id: null }, { x: 'a', id: null }] })).toBe(
      'data[].id is null in all records',
    )
    expect(judge(shape).see({ data: times(3, { x: 'a' }) })).toBeUndefined()
    expect(judge(shape).see({ data: [{ id: null }, { id: null }, { id: 'a' }] })).toBeUndefined()
  })
})

describe('an optional list', () => {
  it.each([
    { answer: {}, isRefused: false },
    { answer: { code: 0 }, isRefused: false },
    { answer: { code: 0, data: null, message: 'none' }, isRefused: false },
    { answer: { code: 0, records: [] }, isRefused: false },
    { answer: { code: 0, records: [{ a: 1 }] }, isRefused: true },
    { answer: { code: 0, data: null, records: [{ a: 1 }] }, isRefused: true },
    { answer: { code: 0, data: [{ a: 1 }], records: [{ a: 1 }] }, isRefused: false },
  ])('is missing if another list is in its place: $answer', ({ answer, isRefused }) => {
    expect(judge(dataEnvelope(column(z.array(row({})), { usual: true, required: true }))).see(answer)).toBe(
      isRefused ? 'data is missing from the answer' : undefined,
    )
  })

  it('is missing however many answers have it', () => {
    const { see, found } = judge(row({ data: column(z.array(row({})).optional(), { required: true }) }))
    for (const _ of times(20, 0)) see({ data: [{}] })
    expect(see({ items: [{ a: 1 }] })).toBe('data is missing from the answer')
    expect(found()).toContainEqual(
      expect.objectContaining({ kind: 'gone', field: 'data', required: true, answers: 1 }),
    )
  })
})
