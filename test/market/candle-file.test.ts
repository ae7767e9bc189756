import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  candleAt,
  createCsvCandles,
  findFileFault,
  formatCandleFile,
  readCandleFile,
} from '../../src/market/candle-file.js'
import { toStoredHistory } from '../../src/market/candle-rules.js'
import { CANDLE_COLUMNS } from '../../src/model/candle.js'

const HEADER = `${CANDLE_COLUMNS.join(',')}\n`

const toCandles = (rows: readonly string[]): readonly (readonly number[])[] =>
  rows.map((row) => row.split(',').map(Number))
const isCell = (cell: string): boolean =>
  /^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(cell) && Number.isFinite(Number(cell))
const isRow = (line: string): boolean => {
  const [time = '', ...cells] = line.split(',')
  return (
    /^[1-9]\d{0,9}$/.test(time) && Number(time) <= 4_102_444_800 && cells.length === 5 && cells.every(isCell)
  )
}

/** The last two candles of a file, and why none can be appended. */
interface Check {
  readonly last: readonly (readonly number[])[]
  readonly fault?: string
  readonly isTruncated: boolean
}

const check = (text: string): Check => {
  const file = readCandleFile(Buffer.from(text))
  const fault = findFileFault(file)
  if (fault !== undefined) return { last: [], fault, isTruncated: false }
  const { candles } = file
  const last = [candleAt(candles, candles.length - 2), candleAt(candles, candles.length - 1)].filter(
    (one) => one !== undefined,
  )
  return { last, isTruncated: file.isTruncated || file.badLine !== undefined }
}

/** The same line by line and slowly. */
const slowly = (text: string): Check => {
  const faulty = (fault: string): Check => ({ last: [], fault, isTruncated: false })
  const [header, ...lines] = text.split('\n')
  if (header !== HEADER.trim() || lines.length === 0) return faulty('unexpected header')
  const end = lines.pop() ?? ''
  const bad = lines.findIndex((line) => !isRow(line))
  const rows = bad < 0 ? lines : lines.slice(0, bad)
  for (const [place, row] of rows.entries()) {
    const [before, time] = [rows[place - 1] ?? '0', row].map((line) => Number(line.split(',')[0])) as [
      number,
      number,
    ]
    if (time === before) return faulty('duplicate timestamp')
    if (time < before) return faulty('timestamps not in order')
  }
  if (bad >= 0 && (bad < lines.length - 1 || end !== '')) return faulty('malformed line')
  return { last: toCandles(rows.slice(-2)), isTruncated: bad >= 0 || end !== '' }
}

const number = fc.oneof(fc.nat(200), fc.double({ noNaN: true, noDefaultInfinity: true }))
const candle = fc
  .tuple(fc.integer({ min: 1, max: 4_102_444_800 }), number, number, number, number, number)
  .map((cells) => cells.join(','))
const ordered = fc
  .uniqueArray(candle, { selector: (row) => row.split(',')[0] })
  .map((rows) => rows.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)))
const bit = fc.constantFrom('\n', ',', '\0', '1', '-', '.', 'e', '\r', ' ', '\ufeff', 'x', '1,2,3,4,5,6\n')

/** A good file with a few places overwritten, filled or taken away. */
const spoilt = fc
  .tuple(ordered, fc.array(fc.tuple(fc.nat(1_000), bit, fc.nat(3)), { maxLength: 4 }))
  .map(([rows, changes]) =>
    changes.reduce(
      (text, [share, bit, gone]) => {
        const at = HEADER.length + Math.floor((share / 1_000) * (text.length - HEADER.length))
        return text.slice(0, at) + bit + text.slice(at + gone)
      },
      `${HEADER}${rows.map((row) => `${row}\n`).join('')}`,
    ),
  )

const doubled = ordered.map((rows) => HEADER + rows.flatMap((row) => [`${row}\n`, `${row}\n`]).join(''))

describe('the check of a stored candle file', () => {
  it('accepts every number that a run can write', () => {
    const property = fc.property(ordered, (rows) => {
      expect(check(HEADER + rows.map((row) => `${row}\n`).join(''))).toEqual({
        last: toCandles(rows.slice(-2)),
        isTruncated: false,
      })
    })
    fc.assert(property, { numRuns: 300 })
  })

  it('rejects a timestamp after the year 2100', () => {
    expect(check(`${HEADER}4102444801,1,1,1,1,1\n4102444802,1,1,1,1,1\n`)).toMatchObject({
      last: [],
      fault: 'malformed line',
    })
  })

  it('finds the same fault as a slow reference check in a damaged file', () => {
    const seen = new Set<string>()
    const property = fc.property(
      fc.oneof(
        spoilt,
        doubled,
        fc.string().map((text) => HEADER + text),
        fc.string(),
      ),
      (text) => {
        const found = check(text)
        seen.add(found.fault ?? `torn: ${found.isTruncated}`)
        expect(found).toEqual(slowly(text))
      },
    )
    fc.assert(property, { numRuns: 5_000, seed: 20_260_211 })
    expect(seen.size).toBe(6)
  })

  it('detects a truncation at any byte', () => {
    const rows = Array.from({ length: 5 }, (_, place) => `${place + 1},1.5,2,0.5,1e-7,100`)
    const text = `${HEADER}${rows.join('\n')}\n`
    for (let length = 0; length <= text.length; length += 1)
      expect(check(text.slice(0, length))).toEqual(slowly(text.slice(0, length)))
  })

  it.each([
    '1770834600000,1,1,1,1,1',
    '0,1,1,1,1,1',
    '-5,1,1,1,1,1',
    '1.5,1,1,1,1,1',
    '1,1,1,1,1',
    '1,1,1,1,1,1,1',
    '1,1,1,NaN,1,1',
    '1,1,1,,1,1',
    '1,1,1, 1,1,1',
  ])('takes %j for no row', (row) => {
    expect(check(`${HEADER}${row}\n9,1,1,1,1,1\n10,1,1,1,1,1\n`).fault).toBe('malformed line')
  })
})

describe('the days in a candle file', () => {
  it('are counted once each, whatever is between them', () => {
    const [one, two, three] = [1, 2, 3].map((day) => day * 86_400) as [number, number, number]
    const text = `Date;Open\r\n${three},1,1,1,1,1\r\n\0\n${one},1,1,1,1,1\n${three},2,2,2,2.5,2\n1770834600000,1,1,1,1,1\n4,1,1\n${two},1,1,1,1,1\n9,1,1,1,1`
    const closes = new Map([
      [1, 1],
      [2, 1],
      [3, 2.5],
    ])
    const historyOf = (text: string) => toStoredHistory(readCandleFile(Buffer.from(text)).candles)
    expect(historyOf(text)).toMatchObject({ count: 3, newest: three, closes })
    expect(historyOf('')).toEqual({ count: 0, newest: 0, closes: new Map(), recent: new Map() })
  })
})

it('writes numbers as JavaScript prints them, in an array or as CSV', () => {
  const edges = [0, 1e21, 1e-7, 0.1 + 0.2, 5e-324] as const
  const text = `${HEADER}1,${edges.join(',')}\n`
  const join = (chunks: readonly (string | Uint8Array)[]): string =>
    Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).toString()
  expect(join(formatCandleFile([[1, ...edges]]))).toBe(text)
  expect(join(formatCandleFile(createCsvCandles(Buffer.from(text.slice(HEADER.length)), 1)))).toBe(text)
})
