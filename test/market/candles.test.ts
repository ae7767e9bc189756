import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createCandleEndpoint } from '../../src/market/candle-answer.js'
import { BadAnswerError } from '../../src/model/errors.js'
import { badAnswerOf } from '../http/support.js'

const { read } = createCandleEndpoint('candles', z.string())
const INPUT = {
  EXCH: 'NSE',
  SYM: 'A',
  SEG: 'E',
  INST: 'EQUITY',
  SEC_ID: '1',
  EXPCODE: 0,
  INTERVAL: 'D',
  START: 1,
  END: 2,
} as const
const rowsIn = (text: string): readonly (readonly unknown[])[] => [...read(text, INPUT)]

const COLUMNS = ['Time', 'o', 'h', 'l', 'c', 'v'] as const
const oneCandle = (changed: string, value: string): string =>
  `{"data":{${COLUMNS.map((column) => `"${column}":[${column === changed ? value : 1}]`).join(',')}}}`

describe('candles', () => {
  it.each(COLUMNS)('must be numbers in %s', (column) => {
    expect(rowsIn(oneCandle(column, '1'))).toHaveLength(1)
    for (const value of ['"=1+1"', '"1"', 'null', 'true', '[1]', '{"toString":1}', '1e999', '-1e999', '""'])
      expect(badAnswerOf(rowsIn, oneCandle(column, value)), value).toMatchObject({ reason: 'schema' })
  })

  it('are six finite numbers per row, or the answer is rejected', () => {
    const value = fc.oneof(
      { weight: 9, arbitrary: fc.double({ noNaN: true }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    )
    const column = fc.oneof(
      { weight: 9, arbitrary: fc.array(value, { minLength: 2, maxLength: 2 }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    )
    fc.assert(
      fc.property(
        fc.record({ Time: column, o: column, h: column, l: column, c: column, v: column }),
        (data) => {
          const text = JSON.stringify({ data })
          const failure = badAnswerOf(rowsIn, text)
          expect(failure === undefined || failure instanceof BadAnswerError).toBe(true)
          for (const row of failure ? [] : rowsIn(text)) {
            expect(row).toHaveLength(6)
            expect(row.every(Number.isFinite), JSON.stringify(row)).toBe(true)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
