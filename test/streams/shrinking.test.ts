import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { type Collecting, collect } from './support.js'

const numbered = <T>(count: number, make: (place: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, place) => make(place))
const table = (header: string, count: number, row: (place: number) => string): string =>
  [header, ...numbered(count, row), ''].join('\n')
const dataOf = (count: number, make: (place: number) => object) => ({ data: numbered(count, make) })

const EQUITY_LIST =
  'SYMBOL,NAME OF COMPANY,SERIES,DATE OF LISTING,PAID UP VALUE,MARKET LOT,ISIN NUMBER,FACE VALUE'
const DIVIDEND = { ActType: 'DIVIDEND', ExDate: '2025-05-05', RecDate: '2025-05-05', Note: '2' }

/** The answer for a list with the given number of records. */
const lists: Readonly<
  Record<string, { readonly file: string; readonly answer: (count: number) => unknown }>
> = {
  'complete-price-bands': {
    file: 'complete_price_bands.json',
    answer: (count) => table('Symbol,Series,Security Name,Band', count, (place) => `S${place},EQ,S,10`),
  },
  'listing-dates': {
    file: 'nse_equity_list.csv',
    answer: (count) =>
      table(EQUITY_LIST, count - 1, (place) => `S${place},S,EQ,06-OCT-2008,10,1,INE${place},10`),
  },
  'all-indices': {
    file: 'all_indices_list.json',
    answer: (count) =>
      dataOf(count, (Sid) => ({
        Sym: `I${Sid}`,
        DispSym: `I${Sid}`,
        Sid,
        Exch: 'IDX',
        Seg: 'I',
        Inst: 'IDX',
      })),
  },
  'corporate-actions': {
    file: 'history_corporate_actions.json',
    answer: (count) =>
      dataOf(count, (place) => ({ Sym: `S${place}`, DispSym: `S${place}`, CorpAct: [DIVIDEND] })),
  },
}

/** Those that live by the day. */
const daily: typeof lists = {
  'incremental-price-bands': {
    file: 'incremental_price_bands.json',
    answer: (count) => table('Symbol,From,To', count, (place) => `S${place},5,10`),
  },
  'circuit-stocks': {
    file: 'upper_circuit_stocks.json',
    answer: (count) => dataOf(count, (place) => ({ Sym: `S${place}` })),
  },
}

const listOf = (stream: string, answer: unknown, files: MemoryFiles, more: Partial<Collecting> = {}) =>
  collect({ stream, answer: () => answer, files, ...more })

describe.each(Object.entries(lists))('%s', (stream, { file, answer }) => {
  it('keeps its file if the answer has less than 70 % of the stored records, unless that is accepted', async () => {
    const files: MemoryFiles = new Map()
    await listOf(stream, answer(100), files)
    const before = files.get(file)
    expect(before).toBeDefined()

    const shrunk = await listOf(stream, answer(69), files)
    expect(shrunk.script).toMatchObject({ outcome: 'failed', items: { error: 1 } })
    expect(shrunk.script.problems[0]?.reason).toMatch(/^shrink: 69 records, the stored file has 100/)
    expect(shrunk.report.outcome).toBe('partial')
    expect(files.get(file)).toBe(before)

    const accepted = await listOf(stream, answer(69), files, { accept: ['shrink'] })
    expect(accepted.report.outcome).toBe('complete')
    expect(accepted.script.problems[0]).toEqual({ reason: expect.stringMatching(/69 records.*100/) })
    expect(files.get(file)).not.toEqual(before)

    expect((await listOf(stream, answer(49), files)).report.outcome).toBe('complete')
  })
})

describe.each(Object.entries(daily))('%s', (stream, { file, answer }) => {
  it('may shrink by any amount', async () => {
    const files: MemoryFiles = new Map()
    await listOf(stream, answer(100), files)
    expect((await listOf(stream, answer(1), files)).report.outcome).toBe('complete')
    expect(files.get(file)?.text.split('\n')).toHaveLength(4)
  })
})
