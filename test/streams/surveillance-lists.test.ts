import { describe, expect, it } from 'vitest'
import { findHints } from '../../src/cli/hints.js'
import { arrayOf, type Collecting, collect, isinOf, withFile } from './support.js'
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
const tableOf = (rows: readonly (readonly unknown[])[]): object => ({ rows: rows.map(cellsOf) })
const setResponse = (answer: unknown): string =>
  `/*O_o*/\ngoogle.visualization.Query.setResponse(${JSON.stringify(answer)});`
const sheetOf = (...rows: readonly (readonly unknown[])[]): string => setResponse({ table: tableOf(rows) })

const HEADER = ['No', 'Symbol', 'Name', 'ISIN', 'Stage']
const sheet = sheetOf(HEADER, [1, 'ALPHA', 'Alpha Ltd', isinOf(1), 'LTASM - I (13)'])
const RECORD = { Symbol: 'ALPHA', Name: 'Alpha Ltd', ISIN: isinOf(1), Stage: 'LTASM - I (13)' }

const lists = (answers: Readonly<Record<string, unknown>>, more: Partial<Collecting> = {}) =>
  collect({ stream: 'surveillance-lists', answer: byPath(answers), settings: { retries: 0 }, ...more })

const webRows = (stage: string) =>
  ['A', 'B', 'C', 'D'].map((sym, place) => ({
    sym,
    DispSym: `${sym} Ltd`,
    isin: isinOf(place),
    [stage]: `GSM ${place}`,
  }))
const webRecords = ['A', 'B', 'C', 'D'].map((sym, place) => ({
  Symbol: sym,
  Name: `${sym} Ltd`,
  ISIN: isinOf(place),
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
      [1, 'SHORT', 'Short Ltd', isinOf(2)],
      [2, '', 'Empty Ltd', isinOf(3), 'GSM'],
      [3, null, 'Null Ltd', isinOf(4), 'GSM'],
      [4, 'ALPHA', 'Alpha Ltd', isinOf(1), 'LTASM - I (13)', 'a sixth cell'],
      [],
      [5, 'BETA', null, isinOf(5), null],
    )
    const noCells = rows.replace('"rows":[', '"rows":[{"c":null},{},')
    const { text } = await lists({ [ASM]: noCells, [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(
      arrayOf(RECORD, { Symbol: 'BETA', Name: '', ISIN: isinOf(5), Stage: '' }),
    )
  })

  it('reads a symbol that the spreadsheet holds as a number', async () => {
    const { text } = await lists({ [ASM]: sheetOf([1, 3_600, 'x', isinOf(1), 'GSM']), [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(
      arrayOf({ Symbol: '3600', Name: 'x', ISIN: isinOf(1), Stage: 'GSM' }),
    )
  })

  it('says how many rows are no stock', async () => {
    const rows = sheetOf(HEADER, [1, 'ALPHA', 'Alpha Ltd', isinOf(1), 'LTASM - I (13)'], [2, null, 'Null'])
    const { script } = await lists({ [ASM]: rows, [GSM]: sheet })
    expect(script.problems).toEqual([
      { reason: 'asm: skipped 1 row of the spreadsheet without a symbol or five cells' },
    ])
  })

  const labelled = (labels: readonly string[], ...rows: readonly (readonly unknown[])[]): string =>
    setResponse({ status: 'ok', table: { cols: labels.map((label) => ({ label })), ...tableOf(rows) } })

  it.each([
    { what: 'the first row', labels: ['1', 'BETA', 'Beta Name Co', isinOf(5), 'IBC - Receipt & GSM 0 (62)'] },
    {
      what: 'a header and the first row',
      labels: [
        'No 1',
        'Symbol BETA',
        'Name Beta Name Co',
        `ISIN ${isinOf(5)}`,
        'Stage IBC - Receipt & GSM 0 (62)',
      ],
    },
    {
      what: 'a header and several rows',
      labels: [
        'No',
        'Symbol BETA GAMMA',
        'Company Name Beta Name Co LIMITED Gamma Ltd.',
        `ISIN ${isinOf(5)} ${isinOf(6)}`,
        'Stage IBC - Receipt & GSM 0 (62) GSM - I (1)',
      ],
    },
  ])('puts back $what that the service took for a header', async ({ what, labels }) => {
    const answer = labelled(labels, [1, 'ALPHA', 'Alpha Ltd', isinOf(1), 'LTASM - I (13)'])
    const { text, script } = await lists({ [ASM]: answer, [GSM]: sheet })
    const stage = 'IBC - Receipt & GSM 0 (62)'
    const lifted = what.includes('several')
      ? [
          { Symbol: 'BETA', Name: 'Beta Name Co LIMITED', ISIN: isinOf(5), Stage: stage },
          { Symbol: 'GAMMA', Name: 'Gamma Ltd.', ISIN: isinOf(6), Stage: 'GSM - I (1)' },
        ]
      : [{ Symbol: 'BETA', Name: 'Beta Name Co', ISIN: isinOf(5), Stage: stage }]
    expect(text('nse_asm_list.json')).toBe(arrayOf(...lifted, RECORD))
    expect(script.problems).toEqual([])
  })

  it('takes labels that are only the names of columns for no row', async () => {
    const answer = labelled(HEADER, [1, 'ALPHA', 'Alpha Ltd', isinOf(1), 'LTASM - I (13)'])
    const { text } = await lists({ [ASM]: answer, [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe(arrayOf(RECORD))
  })

  const stocks: readonly (readonly unknown[])[] = Array.from({ length: 20 }, (_, place) => [
    place,
    `S${place}`,
    `S${place} Ltd`,
    isinOf(place),
    'GSM',
  ])
  const inserted = (at: number, value: unknown): string =>
    sheetOf(...stocks.map((cells) => cells.toSpliced(at, 0, value)))
  it.each([
    { what: 'a date before the symbol', answer: inserted(1, 'Date(2026,1,12)'), why: 'is a date' },
    { what: 'a text before the symbol', answer: inserted(1, 'NSE'), why: 'the ISIN of NSE is "S0 Ltd"' },
    { what: 'a number before the ISIN', answer: inserted(3, 12), why: 'the ISIN of S0 is "12"' },
    {
      what: 'an empty column before the ISIN',
      answer: inserted(3, null),
      why: 'no record has a value in ISIN',
    },
    { what: 'a remark before the stage', answer: inserted(4, 'x'), why: 'the stage of S0 is "x"' },
    {
      what: 'an empty column before the stage',
      answer: inserted(4, null),
      why: 'no record has a value in Stage',
    },
  ])('stores no list with $what', async ({ answer, why }) => {
    const files = () => withFile('nse_asm_list.json', arrayOf(RECORD))
    const web = { [BUILD_PAGE]: buildPage, [dataPath('nse-asm-list')]: dataFile(webRows('asmStage')) }
    const good = await lists({ [ASM]: answer, [GSM]: sheet, ...web }, { files: files() })
    expect(good.text('nse_asm_list.json')).toBe(arrayOf(...webRecords))
    expect(good.script.problems).toEqual([{ reason: expect.stringContaining(why) }])
    const lost = await lists({ [ASM]: answer, [GSM]: sheet }, { files: files(), accept: ['shrink'] })
    expect(lost.text('nse_asm_list.json')).toBe(arrayOf(RECORD))
    expect(lost.script.error).toContain(why)
  })

  it('leaves out a single record that is none, and says so', async () => {
    const rows = [...stocks, [20, 'ODD', 'Odd Ltd', 'INE000000019', 'GSM']]
    const { text, script } = await lists({ [ASM]: sheetOf(...rows), [GSM]: sheet })
    expect(JSON.parse(text('nse_asm_list.json') ?? '')).toHaveLength(20)
    expect(script.problems).toEqual([
      {
        reason:
          'asm: left out 1 of 21 records with wrong columns, such as: the ISIN of ODD is "INE000000019"',
      },
    ])
  })

  it.each([
    {
      failure: { reason: 'access_denied', message: 'ACCESS_DENIED', detailed_message: 'Sign in' },
      text: 'access_denied, ACCESS_DENIED, Sign in',
    },
    { failure: { reason: 'timeout', message: 'Time out' }, text: 'timeout, Time out' },
  ])('tells a failure of the spreadsheet ($text) from a change of its answers', async ({ failure, text }) => {
    const failed = setResponse({ version: '0.6', status: 'error', errors: [failure] })
    const { report, script } = await lists({ [ASM]: failed, [GSM]: failed })
    expect(report.drift ?? []).toEqual([])
    expect(script.error).toContain(`the provider reports a failure: ${text}`)
  })

  it('refuses rows of which the service has left out others, with an empty folder, too', async () => {
    const cut = setResponse({
      status: 'warning',
      warnings: [{ reason: 'data_truncated', message: 'Retrieved data was truncated' }],
      table: tableOf(stocks),
    })
    const { text, script } = await lists({ [ASM]: cut, [GSM]: sheet })
    expect(text('nse_asm_list.json')).toBe('[]\n')
    expect(script.error).toContain('the service has left out rows (data_truncated)')
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

  const buildOf = (script: string) => `<html><script>${script}</script></html>`
  const flight = (text: string) => buildOf(`self.__next_f.push([1,${JSON.stringify(text)}])`)
  it.each([
    { page: buildOf('{"buildId":"1.4.0+2026-02-12T18:30"}'), path: '1.4.0+2026-02-12T18:30' },
    { page: buildOf('{"buildId":"R\\u0026D@a,b;c=$1"}'), path: 'R&D@a,b;c=$1' },
    { page: buildOf('{"buildId":"a b?c#"}'), path: 'a%20b%3Fc%23' },
    { page: flight('0:["$","L1",null,{"buildId":"of-14"}]'), path: 'of-14' },
    { page: `${flight('1:"x"')}${flight('0:{"P":null,"b":"of-16"}')}`, path: 'of-16' },
  ])('asks for the data of build $path as the site answers it', async ({ page, path }) => {
    const { text } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: page,
      [`/web/_next/data/${path}/nse-gsm-list.json`]: dataFile(webRows('gsmStage')),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
  })

  it('asks with the locale of the site where there is no file without it', async () => {
    const { text, requests } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildOf('{"buildId":"b","locale":"en","defaultLocale":"en"}'),
      '/web/_next/data/b/nse-gsm-list.json': 404,
      '/web/_next/data/b/en/nse-gsm-list.json': dataFile(webRows('gsmStage')),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
    expect(pathsOf(requests)).toHaveLength(5)
  })

  it('reads a page that was answered in place of its data', async () => {
    const { text } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: webPage(webRows('gsmStage')),
    })
    expect(text('nse_gsm_list.json')).toBe(arrayOf(...webRecords))
  })

  it.each([
    { what: 'in the props of an element', list: (rows: readonly object[]) => rows, more: '' },
    {
      what: 'with rows in chunks of their own, texts between them, and one row that stands elsewhere',
      list: () => ['$1a', '$1b', '$9:props:first', '$1d'],
      more: (rows: readonly object[]) =>
        `${rows.map((row, place) => `1${'abcd'[place]}:${JSON.stringify(row)}\n`).join('')}9:["$","p",null,{"first":"$1c"}]\n8:T14,é\n1a:{"sym":"no"}\n\n7:"$7"\n6:I[1,["$2"],"x"]\n`,
    },
  ])('reads a page of the app router, its list $what', async ({ list, more }) => {
    const rows = webRows('gsmStage').map((row, place) => ({
      ...row,
      DispSym: place === 1 ? '$$B "q" </script> Ltd' : row.DispSym,
      pe: '$undefined',
    }))
    const text = `${typeof more === 'string' ? more : more(rows)}5:["$","div",null,{"children":["$","$L7",null,{"data":{"list":${JSON.stringify(list(rows))}}}]}]\n`
    const half = text.length / 2
    const page = `${flight(text.slice(0, half))}${flight(text.slice(half)).replaceAll('</script> L', '\\u003c/script> L')}`
    const collected = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: 404,
      [pagePath('nse-gsm-list')]: page,
    })
    expect(collected.text('nse_gsm_list.json')).toBe(
      arrayOf(
        ...webRecords.map((record, place) =>
          place === 1 ? { ...record, Name: '$B "q" </script> Ltd' } : record,
        ),
      ),
    )
  })

  const fallback =
    '<script id="__NEXT_DATA__">{"props":{"pageProps":{}},"isFallback":true,"buildId":"build-1"}</script>'
  it.each([
    { data: 404, page: 503, why: '/_next/data/build-1/{key}.json: the provider answered 404' },
    { data: { pageProps: { __N_REDIRECT: '/new/' } }, page: 503, why: 'the page has moved to /new/' },
    { data: 404, page: fallback, why: 'the page is a fallback that the site has not filled' },
    {
      data: 404,
      page: flight('0:{}'),
      why: 'the page is of the app router, and its data has no list of stocks',
    },
  ])('says why the web site has no list: $why', async ({ data, page, why }) => {
    const { script } = await lists({
      [ASM]: sheet,
      [BUILD_PAGE]: buildPage,
      [dataPath('nse-gsm-list')]: data,
      [pagePath('nse-gsm-list')]: page,
    })
    expect(script.error).toContain(why)
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
      Array.from({ length: count }, (_, place) => [place, `S${place}`, 'S', isinOf(place), 'LTASM'])
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
