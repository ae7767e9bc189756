import { describe, expect, it } from 'vitest'
import { findHints } from '../../src/cli/hints.js'
import { arrayOf, type Collecting, collect, withFile } from './support.js'
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

const ASM = '/sheet/spreadsheets/d/SHEET/gviz/tq?tqx=out:json&gid=11'
const GSM = '/sheet/spreadsheets/d/SHEET/gviz/tq?tqx=out:json&gid=22'

const cellsOf = (values: readonly unknown[]): object => ({
  c: values.map((v) => (v === null ? null : { v })),
})
const sheetOf = (...rows: readonly (readonly unknown[])[]): string =>
  `/*O_o*/\ngoogle.visualization.Query.setResponse(${JSON.stringify({ table: { rows: rows.map(cellsOf) } })});`

const HEADER = ['No', 'Symbol', 'Name', 'ISIN', 'Stage']
const sheet = sheetOf(HEADER, [1, 'ALPHA', 'Alpha Ltd', 'INE000000001', 'LTASM - I (13)'])
const RECORD = { Symbol: 'ALPHA', Name: 'Alpha Ltd', ISIN: 'INE000000001', Stage: 'LTASM - I (13)' }

const lists = (answers: Readonly<Record<string, unknown>>, more: Partial<Collecting> = {}) =>
  collect({ stream: 'surveillance-lists', answer: byPath(answers), settings: { retries: 0 }, ...more })

const webRows = (stage: string) =>
  ['A', 'B', 'C', 'D'].map((sym, place) => ({
    sym,
    DispSym: `${sym} Ltd`,
    isin: `INE00000000${place}`,
    [stage]: `GSM ${place}`,
  }))
const webRecords = ['A', 'B', 'C', 'D'].map((sym, place) => ({
  Symbol: sym,
  Name: `${sym} Ltd`,
  ISIN: `INE00000000${place}`,
  Stage: `GSM ${place}`,
}))

describe('surveillance-lists', () => {
  it('reads both lists from their tabs of the spreadsheet, without another request', async () => {
    const { text, requests, script, report } = await lists({ [ASM]: sheet, [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(arrayOf(RECORD))
    expect(text('nse_gsm_list.json')).toBe(arrayOf(RECORD))
    expect(pathsOf(requests)).toEqual([ASM, GSM])
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2 }, files: 2 })
    expect(report.outcome).toBe('complete')
  })

  it('skips the header, rows of fewer than five cells and rows without a symbol', async () => {
    const rows = sheetOf(
      HEADER,
      [1, 'SHORT', 'Short Ltd', 'INE000000002'],
      [2, '', 'Empty Ltd', 'INE000000003', 'GSM'],
      [3, null, 'Null Ltd', 'INE000000004', 'GSM'],
      [4, 'ALPHA', 'Alpha Ltd', 'INE000000001', 'LTASM - I (13)', 'a sixth cell'],
      [],
      [5, 'BETA', null, 'INE000000005', null],
    )
    const noCells = rows.replace('"rows":[', '"rows":[{"c":null},{},')
    const { text } = await lists({ [ASM]: noCells, [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(
      arrayOf(RECORD, { Symbol: 'BETA', Name: '', ISIN: 'INE000000005', Stage: '' }),
    )
  })

  it('reads a symbol that the spreadsheet holds as a number', async () => {
    const { text } = await lists({ [ASM]: sheetOf([1, 3_600, 'x', 'INE000000001', 'GSM']), [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(
      arrayOf({ Symbol: '3600', Name: 'x', ISIN: 'INE000000001', Stage: 'GSM' }),
    )
  })

  it.each([
    { what: 'is out', answer: 503 },
    { what: 'answers 404', answer: 404 },
    { what: 'holds only the header', answer: sheetOf(HEADER) },
    { what: 'has an error for a table', answer: 'setResponse({"status":"error","errors":[]});' },
    { what: 'answers a page', answer: '<html>sign in</html>' },
    { what: 'is cut', answer: sheet.slice(0, 60) },
  ])('falls back to the data of the web site when the spreadsheet $what', async ({ answer }) => {
    const { text, requests, script, report } = await lists({
      [ASM]: answer,
      [GSM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-asm-list')]: dataFile(webRows('asmStage')),
    })
    expect(text('nse_asm_list.json')).toBe(arrayOf(...webRecords))
    expect(text('nse_gsm_list.json')).toBe(arrayOf(RECORD))
    expect(pathsOf(requests).filter((path) => path.startsWith('/web'))).toEqual([
      BUILD_PAGE,
      dataPath('nse-asm-list'),
    ])
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2, error: 0 }, degraded: 0 })
    expect(script.problems).toEqual([{ reason: expect.stringMatching(/asm.*spreadsheet/) }])
    expect(report.outcome).toBe('complete')
  })

  it.each(['asmStage', 'gsmStage', 'Stage'])('reads the stage of a web row from %s', async (stage) => {
    const { text } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: dataFile(webRows(stage)),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
  })

  it('reads the other spelling of a web row’s keys', async () => {
    const rows = webRecords.map((record) => ({
      Sym: record.Symbol,
      Name: record.Name,
      Isin: record.ISIN,
      Stage: record.Stage,
    }))
    const { text } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: dataFile(rows),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
  })

  it.each([
    { what: 'has no list of more than 3', answer: dataFile(webRows('Stage').slice(0, 3)) },
    { what: 'has a list without symbols', answer: dataFile([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }]) },
    { what: 'is out', answer: 500 },
    { what: 'is of another build', answer: 404 },
    { what: 'has no pageProps', answer: { notFound: true } },
  ])('falls back to the web page when the data $what', async ({ answer }) => {
    const { text, requests } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: answer,
      [pagePath('nse-gsm-list')]: webPage(webRows('gsmStage')),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
    expect(pathsOf(requests).at(-1)).toBe(pagePath('nse-gsm-list'))
  })

  it('falls back to the web page when the build id is unreadable, and reads it once for both lists', async () => {
    const { text, requests } = await lists({
      [BUILD_PAGE]: '<html>no build here</html>',
      [pagePath('nse-asm-list')]: webPage(webRows('asmStage')),
      [pagePath('nse-gsm-list')]: webPage(webRows('gsmStage')),
    })
    expect(text('nse_asm_list.json')).toBe(arrayOf(...webRecords))
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
    expect(pathsOf(requests).filter((path) => path === BUILD_PAGE)).toHaveLength(1)
  })

  it('reads the build id once for all streams of a run', async () => {
    const { requests } = await lists(
      { [BUILD_PAGE]: buildPage },
      { only: ['surveillance-lists', 'circuit-stocks'] },
    )
    expect(pathsOf(requests).filter((path) => path === BUILD_PAGE)).toHaveLength(1)
    expect(pathsOf(requests).filter((path) => path.includes('/_next/data/')).length).toBeGreaterThan(1)
  })

  it('fails with the three reasons when no tier answers, and leaves an empty list where there was none', async () => {
    const { text, script, report } = await lists({
      [ASM]: 500,
      [BUILD_PAGE]: 502,
      [pagePath('nse-asm-list')]: 504,
      [GSM]: sheet,
    })
    expect(script).toMatchObject({ outcome: 'failed', items: { success: 1, error: 1 } })
    expect(script.error).toMatch(/500.*502.*(504|host-down)/)
    expect(script.problems).toContainEqual({
      item: 'asm',
      status: 'error',
      code: 'no-answer',
      reason: expect.stringMatching(/500.*502.*(504|host-down)/),
    })
    expect(report.outcome).toBe('partial')
    expect(text('nse_asm_list.json')).toBe('[]\n')
    expect(text('nse_gsm_list.json')).toBe(arrayOf(RECORD))
  })

  describe('with a list that lost more than 30 % of the stored one', () => {
    const numbered = (count: number) =>
      Array.from({ length: count }, (_, place) => [place, `S${place}`, 'S', `INE${place}`, 'LTASM'])
    const rowsOnWeb = (count: number) =>
      numbered(count).map(([, sym, DispSym, isin, asmStage]) => ({ sym, DispSym, isin, asmStage }))
    const recordsOf = (count: number) =>
      rowsOnWeb(count).map((row) => ({
        Symbol: row.sym,
        Name: row.DispSym,
        ISIN: row.isin,
        Stage: row.asmStage,
      }))
    const storedList = (count: number) => withFile('nse_asm_list.json', arrayOf(...recordsOf(count)))
    const cut = { [ASM]: sheetOf(...numbered(1)), [GSM]: sheet }
    const SHRUNK = 'spreadsheet: shrink: 1 record, the stored file has 90'

    it('asks the next source first, and stores its list', async () => {
      const web = { [BUILD_PAGE]: buildPage, [dataPath('nse-asm-list')]: dataFile(rowsOnWeb(88)) }
      for (const accept of [[], ['shrink']] as const) {
        const { text, script, report } = await lists({ ...cut, ...web }, { files: storedList(90), accept })
        expect(text('nse_asm_list.json')).toBe(arrayOf(...recordsOf(88)))
        expect(script.problems).toEqual([{ reason: `asm: a source failed: ${SHRUNK}` }])
        expect(report.outcome).toBe('complete')
      }
    })

    it.each([
      { what: 'no source answers', web: {}, others: /web page:/ },
      {
        what: 'each has a short one',
        web: { [pagePath('nse-asm-list')]: webPage(rowsOnWeb(4)) },
        others: /web page: shrink: 4 records/,
      },
    ])('keeps the stored file if $what, unless that is accepted', async ({ what, web, others }) => {
      const { text, script, report, files } = await lists({ ...cut, ...web }, { files: storedList(90) })
      expect(text('nse_asm_list.json')).toBe(arrayOf(...recordsOf(90)))
      expect(script).toMatchObject({ outcome: 'failed', code: 'shrink', items: { success: 1, error: 1 } })
      expect(script.problems).toContainEqual({
        item: 'asm',
        status: 'error',
        code: 'shrink',
        reason: expect.stringMatching(SHRUNK),
      })
      expect(script.error).toMatch(others)
      // Each reason once, and how to accept the list.
      expect(JSON.stringify(script.problems).match(/the stored file has 90/g)).toHaveLength(
        what.startsWith('each') ? 2 : 1,
      )
      expect(findHints(report)).toContainEqual(expect.stringContaining('store them with --accept shrink'))
      expect(report.outcome).toBe('partial')

      const accepted = await lists({ ...cut, ...web }, { files, accept: ['shrink'] })
      expect(accepted.report.outcome).toBe('complete')
      expect(accepted.text('nse_asm_list.json')).toBe(arrayOf(...recordsOf(1)))
      expect(accepted.script.problems).toContainEqual({
        reason: 'accepted although shrunk: 1 record, the stored file has 90',
      })
    })

    it.each([
      [90, 63, 1],
      [90, 62, 0],
    ])('means less than 70 %% of them: of %i stocks, %i are left', async (before, now, stores) => {
      const { script } = await lists(
        { [ASM]: sheetOf(...numbered(now)), [GSM]: sheet },
        { files: storedList(before) },
      )
      expect(script.items).toMatchObject({ success: 1 + stores })
    })
  })

  it('names files and web keys by the exchange in lower case', async () => {
    const { files, requests } = await lists({ [GSM]: sheet }, { settings: { exchange: 'BSE', retries: 0 } })
    expect([...files.keys()]).toEqual(expect.arrayContaining(['bse_asm_list.json', 'bse_gsm_list.json']))
    expect(pathsOf(requests)).toContain(pagePath('bse-asm-list'))
  })
})
