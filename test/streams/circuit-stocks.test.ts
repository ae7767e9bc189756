import { describe, expect, it } from 'vitest'
import { type Answer, arrayOf, type Collecting, collect, type SentRequest, withFile } from './support.js'
import {
  BUILD_PAGE,
  buildPage,
  byPath,
  dataFile,
  dataPath,
  pagePath,
  pathsOf,
  webPage,
} from './web-support.js'

const UPPER = 'upper_circuit_stocks.json'
const LOWER = 'lower_circuit_stocks.json'
const SCAN = '/analytics/customscan/fetchdt'
const KEYS = { upper: 'stocks/market/shares-with-upper-circuit', lower: 'stocks/market/lower-circuit-stocks' }

const ROW = {
  Sym: 'ALPHA',
  DispSym: 'Alpha Ltd',
  Ltp: 10.5,
  PPerchange: 19.99,
  Mcap: 123.4,
  Volume: 5_000,
  High5yr: 50,
  High1Yr: 40,
  Low1Yr: 5,
  Pe: 12,
  Pb: 2,
  DivYeild: 0.5,
  Extra: 'left out',
}
const RECORD = {
  Symbol: 'ALPHA',
  Name: 'Alpha Ltd',
  LTP: 10.5,
  ChangePercent: 19.99,
  MarketCap: 123.4,
  Volume: 5_000,
  High5Yr: 50,
  High1Yr: 40,
  Low1Yr: 5,
  PE: 12,
  PB: 2,
  DivYield: 0.5,
}

/** Answers the scan of a side as given, and everything else by path. */
const circuits =
  (upper: unknown, lower: unknown, web: Readonly<Record<string, unknown>> = {}): Answer =>
  (request: SentRequest) => {
    if (request.path !== SCAN) return byPath(web)(request)
    return JSON.stringify(request.body).includes('UpperCircuitBreak') ? upper : lower
  }

const collected = (answer: Answer, more: Partial<Collecting> = {}) =>
  collect({ stream: 'circuit-stocks', answer, settings: { retries: 0 }, ...more })

describe('circuit-stocks', () => {
  it('does not compare the count of a scan, which may be that of the other side, and warns about a full page', async () => {
    const full = {
      data: Array.from({ length: 500 }, (_, place) => ({ ...ROW, Sym: `S${place}` })),
      tot_rec: 62,
    }
    const { script } = await collected(circuits(full, { data: [ROW], tot_rec: 62 }))
    expect(script.outcome).toBe('success')
    expect(script.problems).toEqual([
      { reason: 'upper: the list has 500 rows, the maximum of one request; more may exist' },
    ])
  })

  it('requests the scan of each side as in the interface document', async () => {
    const { requests } = await collected(circuits({ data: [ROW] }, { data: [ROW] }))
    const body = (field: string) => ({
      data: {
        sort: 'Mcap',
        sorder: 'desc',
        count: 500,
        fields: [
          'Sym',
          'DispSym',
          'Ltp',
          'PPerchange',
          'Mcap',
          'Volume',
          'High5yr',
          'Low1Yr',
          'High1Yr',
          'Pe',
          'Pb',
          'DivYeild',
        ],
        params: [
          { field, op: '', val: '1' },
          { field: 'OgInst', op: '', val: 'ES' },
          { field: 'Seg', op: '', val: 'E' },
        ],
        pgno: 1,
      },
    })
    expect(requests.map(({ path }) => path)).toEqual([SCAN, SCAN])
    expect(requests.map((one) => one.body)).toEqual([
      body('LiveData.UpperCircuitBreak'),
      body('LiveData.LowerCircuitBreak'),
    ])
  })

  it('maps a row to the twelve fields of the document, in its order', async () => {
    const { text, script } = await collected(circuits({ data: [ROW] }, { data: [{ ...ROW, Sym: 'BETA' }] }))
    expect(text(UPPER)).toBe(arrayOf(RECORD))
    expect(text(LOWER)).toBe(arrayOf({ ...RECORD, Symbol: 'BETA' }))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2 }, files: 2 })
  })

  it('keeps a stock whose figures are null or missing', async () => {
    const { text } = await collected(
      circuits({ data: [{ Sym: 'ALPHA', DispSym: 'Alpha Ltd', Pe: null }] }, { data: [] }),
    )
    expect(JSON.parse(text(UPPER) ?? '')).toMatchObject([
      { Symbol: 'ALPHA', Name: 'Alpha Ltd', LTP: null, PE: null },
    ])
  })

  it('accepts an empty list of the scan: no stock is at its limit', async () => {
    const { text, requests, script, report } = await collected(circuits({ data: [] }, { data: [] }), {
      files: withFile(UPPER, 'yesterday’s'),
    })
    expect(text(UPPER)).toBe('[]\n')
    expect(text(LOWER)).toBe('[]\n')
    expect(pathsOf(requests)).toEqual([SCAN, SCAN])
    expect(script).toMatchObject({ outcome: 'success', items: { empty: 2 } })
    expect(report.outcome).toBe('complete')
  })

  it.each([
    { what: 'is out', scan: 503 },
    { what: 'is refused', scan: 400 },
    { what: 'has null for a list', scan: { data: null } },
    { what: 'has no list', scan: { code: 0 } },
    { what: 'is a page', scan: '<html></html>' },
  ])('falls back to the data of the web site when the scan $what', async ({ scan }) => {
    const rows = ['A', 'B', 'C', 'D'].map((Sym) => ({ ...ROW, Sym }))
    const web = {
      [BUILD_PAGE]: buildPage,
      [dataPath(KEYS.upper)]: dataFile(rows),
      [dataPath(KEYS.lower)]: dataFile(rows),
    }
    const { text, requests, script } = await collected(circuits(scan, scan, web))
    const records = ['A', 'B', 'C', 'D'].map((sym) => ({ ...RECORD, Symbol: sym }))
    expect(text(UPPER)).toBe(arrayOf(...records))
    expect(text(LOWER)).toBe(arrayOf(...records))
    expect(pathsOf(requests).filter((path) => path === BUILD_PAGE)).toHaveLength(1)
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2, error: 0 }, degraded: 0 })
    expect(script.problems).toEqual(
      ['upper', 'lower'].map((side) => ({ reason: expect.stringMatching(`${side}.*scan`) })),
    )
  })

  it('falls back to the web page when the data fails too, and reads its other spelling of names', async () => {
    const rows = ['A', 'B', 'C', 'D'].map((sym) => ({ sym, Name: `${sym} Ltd`, Ltp: 1 }))
    const { text, requests } = await collected(
      circuits(503, { data: [] }, { [BUILD_PAGE]: buildPage, [pagePath(KEYS.upper)]: webPage(rows) }),
    )
    expect(JSON.parse(text(UPPER) ?? '')).toMatchObject(
      rows.map(({ sym, Name }) => ({ Symbol: sym, Name, LTP: 1 })),
    )
    expect(pathsOf(requests)).toEqual(
      expect.arrayContaining([BUILD_PAGE, dataPath(KEYS.upper), pagePath(KEYS.upper)]),
    )
  })

  it('fails with the three reasons when no tier answers; the other side is written all the same', async () => {
    const { text, script, report } = await collected(
      circuits(500, { data: [ROW] }, { [BUILD_PAGE]: 502, [pagePath(KEYS.upper)]: 504 }),
    )
    expect(script).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/500.*502.*(504|host-down)/),
      items: { success: 1, error: 1 },
    })
    expect(report.outcome).toBe('partial')
    expect(text(UPPER)).toBe('[]\n')
    expect(text(LOWER)).toBe(arrayOf(RECORD))
  })
})
