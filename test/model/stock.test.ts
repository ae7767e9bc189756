import { describe, expect, it } from 'vitest'
import { createResult, isAnswered, isLost, skippedResult } from '../../src/model/outcome.js'
import { isRow, readText } from '../../src/model/row.js'
import { toStockItems, toStockRecord, toStocks } from '../../src/model/stock.js'

const row = { Sym: 'ALPHA', Isin: 'INE000000001', DispSym: 'Alpha', Sid: 22, FnoFlag: 1 }
const stock = { Symbol: 'ALPHA', ISIN: 'INE000000001', Name: 'Alpha', Sid: '22', FnoFlag: 1 }

describe('the stocks of the master list', () => {
  it('have exactly five fields, in their order', () => {
    expect(JSON.stringify(toStocks([{ Extra: 1, ...row, Mcap: 2 }]))).toBe(JSON.stringify([stock]))
  })

  it.each([
    { what: 'a number', Sid: 22, expected: '22' },
    { what: 'text', Sid: '022', expected: '022' },
    { what: 'a long number', Sid: 1_000_000_000_000, expected: '1000000000000' },
    { what: 'null', Sid: null, expected: '' },
  ])('have a Sid that is text where $what was answered', ({ Sid, expected }) => {
    expect(toStocks([{ ...row, Sid }])).toMatchObject([{ Sid: expected }])
  })

  it.each([undefined, null, 0])('have no derivatives where the flag is %j', (FnoFlag) => {
    expect(toStocks([{ ...row, FnoFlag }])).toMatchObject([{ FnoFlag: 0 }])
  })

  it('keep the order answered', () => {
    const rows = ['C', 'A', 'B'].map((Sym) => ({ ...row, Sym }))
    expect(toStocks(rows).map((one) => one.Symbol)).toEqual(['C', 'A', 'B'])
  })

  it.each([
    { Sym: undefined },
    { Sym: '' },
    { Sym: ' ' },
    { Sym: null },
    { Sym: {} },
    { Isin: undefined },
    { Isin: '' },
    { Isin: null },
  ])('do not hold a row with %j', (wrong) => expect(toStocks([{ ...row, ...wrong }])).toEqual([]))

  it('skip duplicate rows, but not rows that share only a symbol or an ISIN', () => {
    expect(toStocks([row, row])).toHaveLength(1)
    expect(toStocks([row, { ...row, Isin: 'INE000000002' }, { ...row, Sym: 'BETA' }])).toHaveLength(3)
  })

  it('become items with their ranks and file names', () => {
    const items = toStockItems(toStocks([row, { ...row, Sym: '../x', Isin: 'INE000000002' }]))
    expect(items.map(({ key, rank, fileName }) => ({ key, rank, fileName }))).toEqual([
      { key: 'ALPHA', rank: 0, fileName: 'ALPHA' },
      { key: '../x', rank: 1, fileName: expect.stringMatching(/^[^./]+~INE000000002$/) },
    ])
  })
})

describe('a record of a stock', () => {
  it('starts with symbol and ISIN, then has the answered fields', () => {
    expect(JSON.stringify(toStockRecord(stock, { z: 1, a: null, Extra: { y: [] } }))).toBe(
      '{"Symbol":"ALPHA","ISIN":"INE000000001","z":1,"a":null,"Extra":{"y":[]}}',
    )
  })

  it('does not change the answered record', () => {
    const record = Object.freeze({ z: 1 })
    expect(toStockRecord(stock, record)).not.toBe(record)
    expect(record).toEqual({ z: 1 })
  })
})

describe('a field as text', () => {
  it.each([
    ['a', 'a'],
    [' a ', 'a'],
    [7, '7'],
    [0, '0'],
    [null, ''],
    [undefined, ''],
    [true, ''],
    [{}, ''],
  ])('of %j is %j', (value, text) => expect(readText(value)).toBe(text))
})

describe('a record', () => {
  it.each([null, undefined, 1, 'a', []])('is not %j', (value) => expect(isRow(value)).toBe(false))
  it('is an object', () => expect(isRow({})).toBe(true))
})

describe('the result of an item', () => {
  it('is success with rows, empty without rows, and may state what is missing', () => {
    expect(createResult([1])).toEqual({ status: 'success', rows: [1] })
    expect(createResult([])).toEqual({ status: 'empty', rows: [] })
    expect(createResult([], 'a path failed')).toEqual({
      status: 'empty',
      rows: [],
      degraded: 'a path failed',
    })
    expect(skippedResult).toEqual({ status: 'skipped', rows: [] })
  })

  it.each([
    { status: 'success', answered: true, lost: false },
    { status: 'empty', answered: true, lost: false },
    { status: 'skipped', answered: false, lost: false },
    { status: 'rate_limit', answered: false, lost: true },
    { status: 'http_404', answered: false, lost: true },
    { status: 'error', answered: false, lost: true },
  ] as const)('as $status is answered: $answered, lost: $lost', ({ status, answered, lost }) => {
    expect(isAnswered({ status })).toBe(answered)
    expect(isLost({ status })).toBe(lost)
  })
})
