import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createCandleEndpoint, toCandleCsv } from '../../src/market/candle-answer.js'
import { toDayNumber } from '../../src/market/candle-file.js'
import type { Candle } from '../../src/model/candle.js'
import { BadAnswerError } from '../../src/model/errors.js'

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

const NAMES = ['Time', 'o', 'h', 'l', 'c', 'v'] as const

/** The parsed answer; nothing if the body is invalid. */
const parsed = (body: Buffer): readonly Candle[] | undefined => {
  try {
    return [...read(new TextDecoder('utf-8', { fatal: true }).decode(body), INPUT)]
  } catch (error) {
    if (
      error instanceof BadAnswerError ||
      (error as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    )
      return undefined
    throw error
  }
}

/**
 * Whether the fast path accepts an answer; fails if its lines differ from those of the parser and the CSV
 * library.
 */
const isTaken = (answer: string | Buffer): boolean => {
  const body = Buffer.from(answer as string)
  const before = Buffer.from(body)
  const lines = toCandleCsv(body)
  expect(body.equals(before)).toBe(true)
  if (lines === undefined) return false
  const rows = parsed(body)
  expect(Buffer.from(lines.csv ?? []).toString('latin1'), body.toString()).toBe(
    stringify((rows ?? []) as unknown as unknown[][]),
  )
  expect([...lines], body.toString()).toEqual(rows)
  expect([lines.length, lines.at(0), lines.at(-1)]).toEqual([rows?.length, rows?.at(0), rows?.at(-1)])
  return true
}

type Columns = Readonly<Record<(typeof NAMES)[number], readonly string[]>>

const columnsOf = (rows: readonly (readonly string[])[]): Columns =>
  Object.fromEntries(
    NAMES.map((name, column) => [name, rows.map((row) => row[column] ?? '')]),
  ) as unknown as Columns
const columnText = (name: string, cells: readonly string[]): string => `"${name}":[${cells.join(',')}]`
const answerOf = (columns: Columns, names: readonly (keyof Columns)[] = NAMES): string =>
  `{"success":true,"data":{${names.map((name) => columnText(name, columns[name])).join(',')}}}`
/** Two candles of two days with one given cell. */
const with1 = (cell: string, name: keyof Columns = 'c'): string => {
  const rows = [
    ['1', '1', '1', '1', '1', '1'],
    ['86401', '2', '2', '2', '2', '2'],
  ]
  return answerOf({ ...columnsOf(rows), [name]: name === 'Time' ? [cell, '4102444800'] : ['7', cell] })
}

const price = fc.oneof(
  fc.nat(1_000_000).map((paise) => String(paise / 100)),
  fc.nat(1_000_000).map((paise) => (paise / 100).toFixed(2)),
  fc.tuple(fc.nat(99_999), fc.nat(9_999)).map(([whole, part]) => `${whole}.${part}00`),
  fc.constantFrom(
    '0',
    '0.0',
    '0.05',
    '0.000001',
    '0.000000',
    '12.0',
    '24726.0',
    '123456789012345',
    '12345678.123456',
  ),
)
const volume = fc.oneof(fc.nat(4_000_000_000).map(String), fc.constantFrom('0', '999999999999999', '5000.0'))
const times = fc
  .uniqueArray(fc.integer({ min: 1, max: 4_102_444_800 }), {
    minLength: 1,
    maxLength: 30,
    selector: toDayNumber,
  })
  .map((list) => list.toSorted((one, other) => one - other).map(String))
const usual: fc.Arbitrary<Columns> = times.chain((Time) => {
  const column = (cell: fc.Arbitrary<string>) =>
    fc.array(cell, { minLength: Time.length, maxLength: Time.length })
  return fc.record({
    Time: fc.constant(Time),
    o: column(price),
    h: column(price),
    l: column(price),
    c: column(price),
    v: column(volume),
  })
})
const names = fc.shuffledSubarray([...NAMES], { minLength: NAMES.length })
const usualAnswer = fc.tuple(usual, names).map(([columns, order]) => answerOf(columns, order))

/** Inserts white space between the tokens of a text without white space in its strings. */
const spaced = (text: string, space: string): string =>
  text.replace(/[{}[\]:,]/g, (token) => `${space}${token}${space}`)

/** Real shapes of answers: prices in paise, `12.0` of an index, high volumes, an index without any volume. */
const SEEN: readonly string[] = [
  answerOf({
    Time: ['1062700200', '1062959400', '1770834600'],
    o: ['12.35', '12.4', '3120.55'],
    h: ['12.9', '13', '3150'],
    l: ['12.05', '12.25', '3099.95'],
    c: ['12.4', '12.95', '3111.1'],
    v: ['14291', '9917', '2751633'],
  }),
  answerOf({
    Time: ['1739471400', '1739730600'],
    o: ['24726.0', '22809.9'],
    h: ['24726.0', '22974.20'],
    l: ['24311.05', '22725.450'],
    c: ['24500.0', '22959.5'],
    v: ['0', '0'],
  }),
  answerOf(columnsOf([['1662489000', '0.05', '0.1', '0.05', '0.1', '4294967296']])),
]

describe('the fast path from a candle answer to CSV', () => {
  it.each(SEEN)('equals the parsed answer: %s', (answer) => {
    expect(isTaken(answer)).toBe(true)
  })

  it('equals the parsed answer for any usual answer, in any order of columns', () => {
    fc.assert(
      fc.property(usualAnswer, (answer) => {
        expect(isTaken(answer), answer).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves an answer with white space to the parser', () => {
    for (const space of [' ', '\n', '\t', '\f', '\0', '\u00a0'])
      for (const answer of SEEN) expect(isTaken(spaced(answer, space)), JSON.stringify(space)).toBe(false)
    for (const answer of SEEN)
      expect(parsed(Buffer.from(spaced(answer, ' \n\t'))), answer).toEqual(parsed(Buffer.from(answer)))
    expect(isTaken(`\ufeff${SEEN[0]}`)).toBe(false)
  })

  it('equals the parsed answer or returns nothing when bytes are overwritten, inserted or removed', () => {
    const bit = fc.oneof(
      fc.constantFrom(
        ...'0123456789.,-+eE[]{}":Tt \n\0',
        '00',
        '.0',
        ',,',
        'null',
        '"o":[1],',
        '[1]',
        '1e3',
        '"success":false,',
        '\ufeff',
      ),
      fc.string({ maxLength: 3 }),
    )
    const piece = fc.oneof(
      { weight: 9, arbitrary: bit.map((text) => Buffer.from(text)) },
      fc.uint8Array({ maxLength: 2 }),
    )
    const seen = { taken: 0, parsed: 0, refused: 0 }
    const spoilt = fc.tuple(
      usualAnswer,
      fc.array(fc.tuple(fc.nat(1_000), piece, fc.nat(3)), { minLength: 1, maxLength: 3 }),
    )
    const property = fc.property(spoilt, ([answer, changes]) => {
      const body = changes.reduce((bytes, [share, put, gone]) => {
        const at = Math.floor((share / 1_000) * bytes.length)
        return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + gone)])
      }, Buffer.from(answer))
      seen[isTaken(body) ? 'taken' : parsed(body) ? 'parsed' : 'refused'] += 1
    })
    fc.assert(property, { numRuns: 5_000 })
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(20)
  })

  it('equals the parsed answer or returns nothing for any numbers', () => {
    let taken = 0
    const decimal = fc.stringMatching(/^(0|[1-9]\d{0,9}|[1-9]\d{0,19})(\.0{0,7}\d{1,9})?$/)
    const property = fc.property(decimal, fc.constantFrom(...NAMES), (cell, name) => {
      if (isTaken(with1(cell, name))) taken += 1
    })
    fc.assert(property, { numRuns: 3_000 })
    expect(taken).toBeGreaterThan(500)
    expect(taken).toBeLessThan(2_500)
  })

  it('returns nothing for a truncated answer', () => {
    for (const answer of SEEN.map(Buffer.from))
      for (let length = 0; length < answer.length; length += 1)
        expect(toCandleCsv(answer.subarray(0, length)), String(length)).toBeUndefined()
  })
})

describe('a number in the columns', () => {
  it.each([
    '0',
    '7',
    '10',
    '12.5',
    '12.0',
    '12.50',
    '0.0',
    '0.10',
    '0.000001',
    '123456789012345',
    '1234567890.1234',
    '100',
    '100.00',
  ])('is printed as JavaScript prints it: %s', (cell) => {
    for (const name of NAMES.slice(1, -1))
      expect(isTaken(with1(cell, name as keyof Columns)), name).toBe(true)
    expect(isTaken(with1(cell, 'v')), 'v').toBe(Number.isInteger(Number(cell)))
  })

  it.each([
    '-1',
    '-0',
    '+1',
    '01',
    '00',
    '.5',
    '5.',
    '1..2',
    '1.2.3',
    '1e3',
    '1E3',
    '1e-7',
    '0.0000001',
    '0.00000010',
    '1234567890123456',
    '12345678901.12345',
    '9007199254740993',
    '0.1000000',
    'null',
    'true',
    '"1"',
    '[1]',
    '{}',
    '',
    '1 2',
    '1,',
    ',1',
    'NaN',
    'Infinity',
    '0x1',
  ])('falls back to the parser: %j', (cell) => {
    for (const name of NAMES) expect(isTaken(with1(cell, name)), name).toBe(false)
  })

  it.each(['1', '215634600', '4102300000'])('is a timestamp: %s', (cell) => {
    expect(isTaken(with1(cell, 'Time'))).toBe(true)
  })

  it.each(['0', '1.5', '1.0', '4102444800', '4102444801', '1770834600000'])(
    'is rejected as a timestamp: %s',
    (cell) => {
      expect(isTaken(with1(cell, 'Time'))).toBe(false)
    },
  )
})

describe('two candles of one day', () => {
  const withLater = (count: number): string => {
    const times = [
      1_770_834_600,
      ...Array.from({ length: count + 1 }, (_, place) => 1_770_834_600 + place * 86_400 + 3_600),
    ]
    return answerOf(columnsOf(times.map((time) => [String(time), '1', '1', '1', '1', '1'])))
  }

  it('fall back to the parser among the last thirty only: older ones are history', () => {
    expect(isTaken(withLater(28))).toBe(false)
    expect(isTaken(withLater(29))).toBe(true)
  })
})

describe('a candle answer', () => {
  const data = `"data":{${NAMES.map((name) => `"${name}":[1]`).join(',')}}`

  it.each([`{${data}}`, `{"success":true,${data}}`])('uses the fast path: %s', (answer) => {
    expect(isTaken(answer)).toBe(true)
  })

  it.each([
    `{"success":false,${data}}`,
    `{"success":"true",${data}}`,
    `{${data},"error":"x"}`,
    `{"status":500,${data}}`,
    `{"success":true${data}}`,
    `{${data}}x`,
    `{${data}},`,
    `{${data}}{${data}}`,
    `[{${data}}]`,
    `{${data},${data}}`,
    `{,${data}}`,
    `{${data},}`,
    data,
    `{${data}`,
    '',
    '{',
    '{}',
    '{"data":{}}',
    '{"data":[]}',
    '{"data":null}',
    '{"success":true}',
    '<!doctype html>',
    '{"data":{"Time":[1]}}',
    `{${data.replace('"v":[1]', '"v":[]')}}`,
    `{${data.replace('"v":[1]', '"v":[1,2]')}}`,
    `{${data.replace('"o":[1]', '"o":[1,2]')}}`,
    `{${data.replace('"Time":[1]', '"Time":[1,2]')}}`,
    `{${data.replace('"v":[1]', '"v":null')}}`,
    `{${data.replace('"v":[1]', '"v":1')}}`,
    `{${data.replace('"v":[1]', '"c":[1]')}}`,
    `{${data.replace('"v":[1]', '"v":[1],"o":[2]')}}`,
    `{${data.replace('"v":[1]', '"v":[1],"x":[2]')}}`,
    `{${data.replace('"v":[1]', '"v":[1],')}}`,
    `{${data.replace('"v":[1]', '"V":[1]')}}`,
    `{${data.replace('"v":[1]', '"\\u0076":[1]')}}`,
    `{${data.replace('"v":[1]', '"v":[1')}}`,
    `{${data.replaceAll('[1]', '[]')}}`,
    `{${data.replaceAll('[1]', '[2,1]')}}`,
    `{${data.replaceAll('[1]', '[1,1]')}}`,
    `{${data.replaceAll('[1]', '[1,2,]')}}`,
    `{${data.replaceAll('[1]', '[1;2]')}}`,
  ])('falls back to the parser: %s', (answer) => {
    expect(isTaken(answer)).toBe(false)
  })
})
