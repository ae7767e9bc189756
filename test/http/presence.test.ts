import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createDriftWatch } from '../../src/http/drift.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import { column, dataEnvelope, row } from '../../src/model/row-schema.js'

const dataOf = (fields: z.ZodRawShape) => dataEnvelope(z.array(row(fields)))

/** The drift of a run with these answers. */
const driftOf = (shape: z.ZodType, answers: readonly (readonly object[])[]) => {
  const drift = createDriftWatch()
  const watch = drift.forStream('stream')({ name: 'call', shape } as AnyEndpoint) ?? expect.unreachable()
  for (const [place, data] of answers.entries()) watch.forItem(`S${place}`)({ data })
  return drift.listDrifts()
}
const times = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)

describe('a field that some records may lack', () => {
  const shape = dataOf({
    a: column(z.number(), { usual: true }),
    b: column(z.number(), { usual: true }),
    x: z.number().optional(),
  })

  it('is gone if five answers or more lack it, and nearly no other has it', () => {
    expect(driftOf(shape, times(4, [{ b: 1 }]))).toEqual([])
    expect(driftOf(shape, times(5, [{ b: 1 }, { b: 2 }]))).toEqual([
      {
        stream: 'stream',
        endpoint: 'call',
        kind: 'gone',
        field: 'data[].a',
        expected: 'number',
        answers: 5,
        of: 5,
        records: 10,
        ofRecords: 10,
        example: 'S0',
      },
    ])
    expect(driftOf(shape, [[{ a: 1, b: 1 }], ...times(19, [{ b: 1 }])])).toMatchObject([
      { kind: 'gone', answers: 19, of: 20 },
    ])
    expect(driftOf(shape, [[{ a: 1, b: 1 }], ...times(18, [{ b: 1 }])])).toEqual([])
  })

  it('is there if any record of an answer has it, not only one of the sample', () => {
    const rows = [...times(3, { b: 1 }), { a: 1, b: 1 }, ...times(20, { b: 1 })]
    expect(driftOf(shape, [rows])).toEqual([])
    expect(driftOf(shape, times(10, rows))).toEqual([])
  })

  it('is gone from a single list of ten records if at least half of these fields are there', () => {
    expect(driftOf(shape, [times(10, { b: 1 })])).toMatchObject([
      { kind: 'gone', field: 'data[].a', answers: 1, of: 1, records: 3 },
    ])
    expect(driftOf(shape, [times(9, { b: 1 })])).toEqual([])
    expect(driftOf(shape, [times(60, { x: 1 })])).toEqual([])
  })

  it('may be null everywhere, unless it is a key', () => {
    expect(driftOf(shape, times(9, [{ a: null, b: null }]))).toEqual([])
    const ids = dataOf({
      a: column(z.number(), { usual: true, key: true }),
      b: column(z.string(), { usual: true, key: true }),
    })
    expect(driftOf(ids, times(9, [{ a: null, b: null }]))).toMatchObject([
      { kind: 'null', field: 'data[].a', answers: 9, of: 9 },
      { kind: 'null', field: 'data[].b', answers: 9, of: 9 },
    ])
  })
})

describe('a key that is not required', () => {
  const shape = dataOf({
    id: column(z.string(), { key: true }),
    note: z.string(),
    more: column(z.string().optional(), { key: true }),
  })
  const row = { id: 'x', note: 'n' }

  it('is drift if it is null in all answers', () => {
    const nulls = { id: null, note: null, more: null }
    expect(driftOf(shape, times(5, [nulls])).map(({ kind, field }) => [kind, field])).toEqual([
      ['null', 'data[].id'],
    ])
    expect(driftOf(shape, [...times(19, [nulls]), ...times(2, [row])])).toEqual([])
  })

  it('is drift if it is empty in all answers', () => {
    expect(driftOf(shape, times(5, [{ ...row, note: '' }]))).toEqual([])
    expect(driftOf(shape, times(5, [{ ...row, id: '' }]))).toMatchObject([
      { kind: 'null', field: 'data[].id' },
    ])
  })
})
