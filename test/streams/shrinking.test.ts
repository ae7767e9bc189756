import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { ALPHA, type Collecting, collect, stockNamed } from './support.js'

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

describe('the records of one stock', () => {
  const filing = (place: number) => ({
    news_id: `id${place}`,
    news_date: `2025-${String(1 + (place % 12)).padStart(2, '0')}-${String(10 + (place % 17))} 10:00:00`,
    caption: `C${place}`,
  })
  const item = (place: number) => ({
    publish_date: 1_770_000_000_000 + place * 60_000,
    category: 'stocks',
    news_object: { title: `T${place}`, text: '', overall_sentiment: 'neutral' },
  })
  const filings = (rows: readonly object[], files: MemoryFiles, more: Partial<Collecting> = {}) =>
    collect({
      stream: 'company-filings',
      master: [ALPHA],
      answer: ({ path }) => ({ data: path.endsWith('lodr') ? rows.slice(0, 99) : rows.slice(99) }),
      files,
      ...more,
    })
  const news = (rows: readonly object[], files: MemoryFiles, more: Partial<Collecting> = {}) =>
    collect({
      stream: 'market-news',
      master: [ALPHA],
      answer: () => ({ data: { latest_news: rows } }),
      files,
      ...more,
    })
  const listOfFile = (files: MemoryFiles, file: string, list: string): readonly Record<string, unknown>[] =>
    JSON.parse(files.get(file)?.text ?? '{}')[list]
  const FILINGS = ['company_filings/ALPHA_filings.json', 'data'] as const
  const NEWS = ['market_news/ALPHA_news.json', 'News'] as const

  it('are merged by key with an answer of less than 70 % of the filings, and that is reported', async () => {
    const files: MemoryFiles = new Map()
    await filings(numbered(162, filing), files)
    const before = files.get(FILINGS[0])?.text
    const { script, report } = await filings([filing(7)], files)
    expect(files.get(FILINGS[0])?.text).toBe(before)
    expect(script.rewritten).toEqual([
      { item: 'ALPHA', reason: 'merged with the stored records, which are more (1 instead of 162)' },
    ])
    expect(report.outcome).toBe('complete')

    // New ones are added, and a newer link is taken.
    await filings(
      [
        { ...filing(7), file_url: 'https://x/7' },
        { ...filing(500), news_date: '2026-02-12' },
      ],
      files,
    )
    const merged = listOfFile(files, ...FILINGS)
    expect(merged).toHaveLength(163)
    expect(merged[0]).toMatchObject({ news_id: 'id500' })
    expect(merged.find(({ news_id }) => news_id === 'id7')).toMatchObject({ file_url: 'https://x/7' })
  })

  it('are replaced by an answer of 70 % of them, and by any if that is accepted', async () => {
    const files: MemoryFiles = new Map()
    await filings(numbered(150, filing), files)
    await filings(numbered(105, filing), files)
    expect(listOfFile(files, ...FILINGS)).toHaveLength(105)
    const { script } = await filings([filing(1)], files, { accept: ['shrink'] })
    expect(listOfFile(files, ...FILINGS)).toHaveLength(1)
    expect(script.rewritten?.[0]?.reason).toBe('accepted although much shorter (1 instead of 105)')
  })

  it('need not be in an answer that is full of newer filings', async () => {
    const files: MemoryFiles = new Map()
    const on = (day: string) => (_: unknown, place: number) => ({
      ...filing(place),
      news_id: `${day}${place}`,
      news_date: day,
    })
    const answer =
      (rows: readonly object[]): Collecting['answer'] =>
      ({ path }) => ({ data: path.endsWith('lodr') ? rows : [] })
    await filings([], files, { answer: answer(Array.from({ length: 90 }, on('2025-01-01'))) })
    await filings([], files, { answer: answer(Array.from({ length: 100 }, on('2026-01-01'))) })
    expect(listOfFile(files, ...FILINGS)).toHaveLength(100)
    // As many as stored, but 100 of one path again: the stored ones of the same days must be there.
    const { script } = await filings([], files, {
      answer: answer(Array.from({ length: 60 }, on('2026-01-02'))),
    })
    expect(script.rewritten).toHaveLength(1)
    expect(listOfFile(files, ...FILINGS)).toHaveLength(160)
  })

  it('are news that are merged up to the limit, the newest first', async () => {
    const files: MemoryFiles = new Map()
    await news(numbered(48, item), files)
    const { script } = await news([item(100), item(99), item(47)], files)
    const merged = listOfFile(files, ...NEWS)
    expect(merged.map(({ Title }) => Title).slice(0, 4)).toEqual(['T100', 'T99', 'T47', 'T46'])
    expect(merged).toHaveLength(50)
    expect(script.rewritten).toHaveLength(1)
  })

  it('are news that a full window of newer ones replaces', async () => {
    const files: MemoryFiles = new Map()
    await news(numbered(50, item), files)
    const { script } = await news(
      numbered(50, (place) => item(1_000 + place)),
      files,
    )
    expect(script.rewritten).toBeUndefined()
    expect(listOfFile(files, ...NEWS)).toHaveLength(50)
    // A lower limit is full, too.
    await news(
      numbered(50, (place) => item(1_000 + place)),
      files,
      { settings: { options: { 'market-news': { newsLimit: 10 } } } },
    )
    expect(listOfFile(files, ...NEWS)).toHaveLength(10)
  })

  it('replace a damaged file, and that is reported', async () => {
    const files: MemoryFiles = new Map([[FILINGS[0], { text: '{"code":0,"da', asOf: 0 }]])
    const { script } = await filings([filing(1)], files)
    expect(listOfFile(files, ...FILINGS)).toHaveLength(1)
    expect(script.problems[0]?.reason).toMatch(/ALPHA_filings.json is damaged/)
  })

  it('make the stream partial if many stocks have much less than is stored', async () => {
    const master = numbered(20, (place) => stockNamed(`S${place}`, place))
    const files: MemoryFiles = new Map()
    const answer =
      (count: number): Collecting['answer'] =>
      ({ path }) => ({
        data: path.endsWith('lodr') ? numbered(count, filing) : null,
      })
    await filings([], files, { master, answer: answer(10) })
    const { script, report } = await filings([], files, { master, answer: answer(1) })
    expect(report.outcome).toBe('partial')
    expect(script.problems[0]).toEqual({
      code: 'shrink',
      reason: 'shrink: 20 of 20 items with a file answered nothing or much less: their records stay',
    })
    expect(listOfFile(files, 'company_filings/S7_filings.json', 'data')).toHaveLength(10)
  })

  it('are fundamentals that stay if the answer has none, and that is reported', async () => {
    const files: MemoryFiles = new Map()
    const fundamentals = (data: readonly object[], more: Partial<Collecting> = {}) =>
      collect({ stream: 'fundamental-data', master: [ALPHA], answer: () => ({ data }), files, ...more })
    await fundamentals([{ isin: ALPHA.Isin, CV: { PE: '20' } }])
    const before = files.get('fundamental_data.json')?.text
    const { script, report } = await fundamentals([])
    expect(files.get('fundamental_data.json')?.text).toBe(before)
    expect(script.problems).toEqual([
      { reason: '1 of 1 stock with earlier records have none now; their earlier records stay: ALPHA' },
    ])
    expect(report.outcome).toBe('complete')
    await fundamentals([], { accept: ['shrink'] })
    expect(files.get('fundamental_data.json')?.text).toBe('[]\n')
  })
})
