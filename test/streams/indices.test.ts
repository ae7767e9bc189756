import { describe, expect, it } from 'vitest'
import { arrayOf, type Collecting, collect, type SentRequest } from './support.js'

const LIST = 'all_indices_list.json'
const FOLDER = 'ohlcv_data/indices/'
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'

const indexOf = (Sym: string | null, Sid: number | null, more: object = {}) => ({
  DispSym: Sym,
  Sym,
  Sid,
  Exch: 'IDX',
  Seg: 'I',
  Inst: 'IDX',
  ...more,
})

const sidOf = ({ body }: SentRequest): number => Number((body as { readonly SEC_ID: string }).SEC_ID)

/** Candles whose prices all are the index's Sid. */
const candleOf = (request: SentRequest): object => {
  const column = [sidOf(request)]
  return { data: { Time: [1_770_834_600], o: column, h: column, l: column, c: column, v: [0] } }
}
const fileOf = (sid: number): string => `${HEADER}1770834600,${sid},${sid},${sid},${sid},0\n`

const indices = (rows: unknown, more: Partial<Collecting> = {}) =>
  collect({
    stream: 'indices-ohlcv',
    answer: (request) => (request.path === '/ticks/getDataH' ? candleOf(request) : rows),
    ...more,
  })

const filesOf = async (...rows: readonly object[]): Promise<Readonly<Record<string, string>>> => {
  const { files } = await indices({ data: rows })
  return Object.fromEntries(
    [...files]
      .filter(([file]) => file.startsWith(FOLDER))
      .map(([file, { text }]) => [file.slice(FOLDER.length), text]),
  )
}

describe('all-indices', () => {
  it('sends the observed request, and writes the rows as answered', async () => {
    const rows = [indexOf('NIFTY', 13, { Ltp: null, PPerchange: -0.5 }), indexOf('SENSEX', 51)]
    const { text, requests, script } = await collect({
      stream: 'all-indices',
      answer: () => ({ data: rows }),
    })
    expect(text(LIST)).toBe(arrayOf(...rows))
    expect(requests).toMatchObject([{ path: '/analytics/customscan/fetchdt' }])
    expect(requests[0]?.body).toEqual({
      data: {
        sort: 'Sym',
        sorder: 'asc',
        count: 500,
        fields: [
          'Sym',
          'DispSym',
          'Sid',
          'Exch',
          'Seg',
          'Inst',
          'Open',
          'High',
          'Low',
          'Ltp',
          'Pchange',
          'PPerchange',
          'Volume',
        ],
        params: [
          { field: 'Inst', op: '', val: 'IDX' },
          { field: 'Exch', op: '', val: 'IDX' },
        ],
        pgno: 1,
      },
    })
    expect(script).toMatchObject({ outcome: 'success', files: 1 })
  })

  it('names the indices that are no longer listed', async () => {
    const rows = Array.from({ length: 8 }, (_, place) => indexOf(`I${place}`, place + 1))
    const { files } = await indices({ data: rows })
    const { script } = await collect({
      stream: 'all-indices',
      answer: () => ({ data: rows.slice(0, 6) }),
      files,
    })
    expect(script.problems).toEqual([
      { reason: 'no longer listed: I6 (7), I7 (8); their candle files stay as they are' },
    ])
  })

  it('keeps its file if the list has fewer indices than its total, unless that is accepted', async () => {
    const rows = [indexOf('NIFTY', 13), indexOf('SENSEX', 51)]
    const listOf = (data: readonly object[], more: Partial<Collecting> = {}) =>
      collect({ stream: 'all-indices', answer: () => ({ data, tot_rec: 2 }), ...more })
    const { files } = await listOf(rows)
    const { script, report } = await listOf(rows.slice(1), { files, accept: ['shrink'] })
    expect(script).toMatchObject({
      outcome: 'failed',
      problems: [{ code: 'count', reason: expect.stringContaining('1 row but reports a total') }],
    })
    expect(report.outcome).toBe('partial')
    expect(files.get(LIST)?.text).toBe(arrayOf(...rows))
    expect((await listOf(rows.slice(1), { files, accept: ['shrink', 'count'] })).text(LIST)).toBe(
      arrayOf(...rows.slice(1)),
    )
  })
})

describe('indices-ohlcv', () => {
  it('requests the candles of each index by its own row', async () => {
    const { requests, script } = await indices({
      data: [indexOf('NIFTY 100', 13), indexOf('SENSEX', 51, { Exch: 'BSE', Seg: 'X', Inst: 'INDEX' })],
    })
    expect(requests.slice(1).map(({ body }) => body)).toMatchObject([
      {
        EXCH: 'IDX',
        SYM: 'NIFTY 100',
        SEG: 'I',
        INST: 'IDX',
        SEC_ID: '13',
        EXPCODE: 0,
        INTERVAL: 'D',
        START: 215634600,
      },
      { EXCH: 'BSE', SYM: 'SENSEX', SEG: 'X', INST: 'INDEX', SEC_ID: '51' },
    ])
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2 }, files: 2 })
  })

  it('requests the list of indices, and no stock, if run alone', async () => {
    const { requests, report } = await indices({ data: [indexOf('NIFTY', 13)] })
    expect(requests.map(({ path }) => path)).toEqual(['/analytics/customscan/fetchdt', '/ticks/getDataH'])
    expect(report.scripts['all-indices']?.outcome).toBe('success')
    expect(report.scripts['master-data']?.outcome).toBe('skipped')
  })

  it('uses the symbol as the file name if possible', async () => {
    const symbols = ['NIFTY 100', 'BSE CD', 'M&M', 'A.B-C_D', '20MICRONS']
    expect(Object.keys(await filesOf(...symbols.map((symbol, place) => indexOf(symbol, place + 1))))).toEqual(
      symbols.map((name) => `${name}.csv`),
    )
  })

  it.each([
    ['Nifty 50:50 (x)', 'Nifty 50_50 _x_.csv'],
    ['A/B', 'A_B.csv'],
    ['25%', '25_.csv'],
    ['Ä', '_.csv'],
  ])('replaces every other character of %j by _', async (symbol, file) => {
    expect(await filesOf(indexOf(symbol, 7))).toEqual({ [file]: fileOf(7) })
  })

  it.each([
    { what: 'share a symbol', symbols: ['CAPINS', 'CAPINS'] },
    { what: 'differ only by what is replaced', symbols: ['A/B', 'A:B'] },
    { what: 'differ only by case', symbols: ['Nifty', 'NIFTY'] },
    { what: 'would leave the folder', symbols: ['../x', '..', '.', '/etc/passwd'] },
    { what: 'are device names', symbols: ['CON', 'nul', 'COM1.x'] },
  ])('gives indices that $what files of their own, inside the folder', async ({ symbols }) => {
    const written = await filesOf(...symbols.map((symbol, place) => indexOf(symbol, place + 1)))
    expect(Object.values(written).sort()).toEqual(symbols.map((_, place) => fileOf(place + 1)))
    expect(new Set(Object.keys(written).map((name) => name.toLowerCase())).size).toBe(symbols.length)
    for (const name of Object.keys(written)) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9 &._~-]*\.csv$/)
  })

  it('counts an index that is listed twice, word for word, once', async () => {
    const { script, files } = await indices({
      data: [indexOf('NIFTY', 13), indexOf('NIFTY', 13), indexOf('SENSEX', 51)],
    })
    expect([...files.keys()].filter((file) => file.startsWith(FOLDER))).toHaveLength(2)
    expect(script.items).toMatchObject({ success: 2, skipped: 0 })
  })

  it('skips indices without a symbol or a Sid, with a warning', async () => {
    const { script, report, text } = await indices({
      data: [indexOf('NIFTY', 13), indexOf(null, 14), indexOf('SENSEX', null), indexOf('', 15)],
    })
    expect(script.items).toMatchObject({ success: 1 })
    expect(JSON.stringify(report.scripts['all-indices']?.problems)).toContain('3 indices')
    expect(report.outcome).toBe('complete')
    expect(JSON.parse(text(LIST) ?? '')).toHaveLength(4)
  })

  it.each([500, { data: [] }, { data: null }, '<html></html>'])(
    'fails with the reason when the list of indices is %j',
    async (list) => {
      const { script, report, requests } = await indices(list)
      expect(report.scripts['all-indices']).toMatchObject({ outcome: 'failed' })
      expect(script).toMatchObject({ outcome: 'failed', error: expect.stringContaining('all-indices') })
      expect(report.outcome).toBe('partial')
      expect(requests.every(({ path }) => path !== '/ticks/getDataH')).toBe(true)
    },
  )
})
