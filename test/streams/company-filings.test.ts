import { describe, expect, it } from 'vitest'
import { ALPHA, BETA, type Collecting, collect, type SentRequest, withFile } from './support.js'

const FILE = 'company_filings/ALPHA_filings.json'
const LEGACY = '/static/staticscanx/company_filings'
const LODR = '/static/staticscanx/lodr'

type Rows = readonly object[] | null

/** A provider with ALPHA's filings on both paths; the other stocks have none. */
const filings =
  (legacy: Rows | number, lodr: Rows | number) =>
  ({ path, body }: SentRequest): unknown => {
    if (!JSON.stringify(body).includes(ALPHA.Isin)) return { data: [] }
    const rows = path === LEGACY ? legacy : lodr
    return typeof rows === 'number' ? rows : { data: rows }
  }

const collected = (legacy: Rows | number, lodr: Rows | number, more: Partial<Collecting> = {}) =>
  collect({ stream: 'company-filings', answer: filings(legacy, lodr), master: [ALPHA], ...more })

const written = async (legacy: Rows, lodr: Rows): Promise<unknown> =>
  JSON.parse((await collected(legacy, lodr)).text(FILE) ?? 'null').data

describe('company-filings', () => {
  it('requests page 1 of 100 filings of each stock from both paths', async () => {
    const { requests } = await collected([], [], { master: [ALPHA, BETA] })
    const body = ({ Isin }: typeof ALPHA) => ({ data: { isin: Isin, pg_no: 1, count: 100 } })
    expect(requests.map(({ path, body }) => ({ path, body }))).toEqual([
      { path: LEGACY, body: body(ALPHA) },
      { path: LODR, body: body(ALPHA) },
      { path: LEGACY, body: body(BETA) },
      { path: LODR, body: body(BETA) },
    ])
  })

  it('writes one document with code 0 and the rows unchanged', async () => {
    const row = {
      zeta: null,
      news_id: 'a',
      news_date: '2026-02-11 19:28:12',
      caption: ' Results ',
      extra: { deep: [1, '2'] },
      alpha: 0.5,
    }
    const { text, script } = await collected([], [row])
    expect(text(FILE)).toBe(`{"code":0,"data":[${JSON.stringify(row)}]}\n`)
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1 }, files: 1, degraded: 0 })
  })

  it('treats a 200 with a failure status as an outage, not as a stock without filings', async () => {
    const failure = { code: 500, message: 'try later' }
    const { script, report } = await collect({
      stream: 'company-filings',
      answer: () => failure,
      master: [ALPHA],
    })
    expect(script).toMatchObject({ outcome: 'failed', items: { empty: 0, error: 1 }, degraded: 0 })
    expect(report.outcome).toBe('partial')
  })

  it('combines the legacy path before the other, so that on the same date its filings come first', async () => {
    const row = (news_id: string) => ({ news_id, news_date: '2026-02-11' })
    expect(await written([row('c'), row('a')], [row('b'), row('d')])).toEqual([
      row('c'),
      row('a'),
      row('b'),
      row('d'),
    ])
  })

  it('keeps the first of two filings with one news_id', async () => {
    const first = { news_id: 'a', news_date: '2026-02-11', caption: 'first' }
    expect(await written([first], [{ ...first, caption: 'second' }])).toEqual([first])
  })

  it('keeps filings with different news_id even if all else is the same', async () => {
    const rows = [{ news_id: 'a', news_date: '2026-02-11', caption: 'same' }]
    expect(await written(rows, [{ ...rows[0], news_id: 'b' }])).toHaveLength(2)
  })

  it('compares date and caption if there is no news_id', async () => {
    const first = { news_date: '2026-02-11', caption: 'Results', descriptor: 'one' }
    const second = { news_date: '2026-02-11', caption: 'Results', descriptor: 'two' }
    expect(await written([first], [second])).toEqual([first])
    expect(await written([first], [{ ...second, news_date: '2026-02-10' }])).toHaveLength(2)
    expect(await written([first], [{ ...second, caption: 'Meeting' }])).toHaveLength(2)
  })

  it('does not match a filing with news_id to one without', async () => {
    const row = { news_date: '2026-02-11', caption: 'Results' }
    expect(await written([row], [{ ...row, news_id: 'a' }])).toHaveLength(2)
  })

  it('compares the descriptor if there is no caption, else Unknown', async () => {
    const date = { news_date: '2026-02-11' }
    expect(
      await written([{ ...date, descriptor: 'Results' }], [{ ...date, caption: 'Results' }]),
    ).toHaveLength(1)
    expect(await written([{ ...date, x: 1 }], [{ ...date, caption: 'Unknown' }])).toEqual([{ ...date, x: 1 }])
    expect(await written([{ ...date, x: 1 }], [{ ...date, descriptor: 'Other' }])).toHaveLength(2)
    expect(
      await written(
        [{ ...date, caption: null, descriptor: 'Results' }],
        [{ ...date, descriptor: 'Results' }],
      ),
    ).toHaveLength(1)
  })

  it.each([
    { kept: undefined, later: 'https://x/2.pdf', wins: 'later' },
    { kept: '', later: 'https://x/2.pdf', wins: 'later' },
    { kept: null, later: 'https://x/2.pdf', wins: 'later' },
    { kept: 'https://x/1.pdf', later: 'https://x/2.pdf', wins: 'kept' },
    { kept: 'https://x/1.pdf', later: undefined, wins: 'kept' },
    { kept: undefined, later: undefined, wins: 'kept' },
    { kept: '', later: '', wins: 'kept' },
  ])(
    'keeps the $wins filing when the kept link is $kept and the later one $later',
    async ({ kept, later, wins }) => {
      const row = (which: string, file_url: unknown) => ({
        news_id: 'a',
        news_date: '2026-02-11',
        which,
        ...(file_url === undefined ? {} : { file_url }),
      })
      expect(await written([row('kept', kept)], [row('later', later)])).toEqual([
        row(wins, wins === 'kept' ? kept : later),
      ])
    },
  )

  it('never replaces a filing that has a link, however many follow', async () => {
    const row = (which: number, file_url: string) => ({
      news_id: 'a',
      news_date: '2026-02-11',
      which,
      file_url,
    })
    expect(await written([row(1, ''), row(2, 'https://x/2')], [row(3, 'https://x/3'), row(4, '')])).toEqual([
      row(2, 'https://x/2'),
    ])
  })

  it('sorts by date, newest first; a missing date counts as 1900-01-01', async () => {
    const row = (news_id: string, news_date?: string | null) => ({
      news_id,
      ...(news_date === undefined ? {} : { news_date }),
    })
    const rows = [
      row('none'),
      row('old', '1899-12-31'),
      row('new', '2026-02-11 09:00:00'),
      row('null', null),
      row('newer', '2026-02-11 10:00:00'),
      row('1901', '1901-01-01'),
    ]
    expect(await written(rows, null)).toEqual(
      ['newer', 'new', '1901', 'none', 'null', 'old'].map((id) => rows.find(({ news_id }) => news_id === id)),
    )
  })

  it('reads a null or missing list as an empty one', async () => {
    const row = { news_id: 'a', news_date: '2026-02-11' }
    expect(await written(null, [row])).toEqual([row])
    const { script, text } = await collect({
      stream: 'company-filings',
      answer: () => ({ code: 0 }),
      master: [ALPHA],
    })
    expect(script).toMatchObject({ outcome: 'success', items: { empty: 1, success: 0 }, degraded: 0 })
    expect(text(FILE)).toBeUndefined()
  })

  it('writes no file for a stock without filings and counts it as empty', async () => {
    const { script, report, text } = await collected([{ news_id: 'a', news_date: '2026-02-11' }], [], {
      master: [ALPHA, BETA],
    })
    expect(script.items).toMatchObject({ success: 1, empty: 1 })
    expect(report.outcome).toBe('complete')
    expect(text('company_filings/BETA_filings.json')).toBeUndefined()
  })

  it('neither requests nor changes a stored file if FORCE_UPDATE is false', async () => {
    const more = {
      files: withFile(FILE, 'old'),
      settings: { options: { 'company-filings': { forceUpdate: false } } },
      master: [ALPHA, BETA],
    }
    const { text, requests, script, report } = await collected([{ news_id: 'a' }], [], more)
    expect(text(FILE)).toBe('old')
    expect(script.items).toMatchObject({ skipped: 1, empty: 1, success: 0 })
    expect(report.outcome).toBe('complete')
    expect(new Set(requests.map(({ body }) => JSON.stringify(body)))).toEqual(
      new Set([`{"data":{"isin":"${BETA.Isin}","pg_no":1,"count":100}}`]),
    )
  })

  it.each([
    { status: 503, attempts: 6 },
    { status: 404, attempts: 1 },
    { status: 429, attempts: 18 },
  ])(
    'uses the other path when one answers $status, and reports the stock as degraded',
    async ({ status, attempts }) => {
      const row = { news_id: 'a', news_date: '2026-02-11' }
      const { script, report, text, requests } = await collected(status, [row])
      expect(text(FILE)).toBe(`{"code":0,"data":[${JSON.stringify(row)}]}\n`)
      expect(script).toMatchObject({ outcome: 'partial', items: { success: 1 }, degraded: 1 })
      const code = status === 429 ? 'rate_limit' : `http_${status}`
      expect(script.problems[0]).toEqual({
        item: 'ALPHA',
        status: 'success',
        code,
        reason: expect.stringMatching(`company_filings.*${status}`),
      })
      expect(report.outcome).toBe('partial')
      expect(requests.filter(({ path }) => path === LEGACY)).toHaveLength(attempts)
    },
  )

  it('does not report an outage as a stock without filings', async () => {
    const { script, report, text } = await collected(500, 502, { files: withFile(FILE, 'old') })
    expect(script).toMatchObject({ outcome: 'failed', items: { empty: 0, error: 1 }, degraded: 0 })
    expect(script.problems[0]).toMatchObject({ item: 'ALPHA', status: 'error', code: expect.any(String) })
    expect(script.problems[0]?.reason).toMatch(/company_filings: .*50[02].*lodr: .*50[02]/)
    expect(report.outcome).toBe('partial')
    expect(text(FILE)).toBe('old')
  })

  it('keeps the stored filings that a failing path may have given, by the same rules', async () => {
    const row = (news_id: string, news_date: string, file_url = '') => ({ news_id, news_date, file_url })
    const stored = [row('a', '2026-02-12'), row('b', '2026-02-10', 'https://x/b'), row('c', '2026-02-09')]
    const fresh = [row('b', '2026-02-10'), row('d', '2026-02-11')]
    const files = withFile(FILE, JSON.stringify({ code: 0, data: stored }))
    const { text, script } = await collected(503, fresh, { files })
    expect(JSON.parse(text(FILE) ?? '')).toEqual({
      code: 0,
      data: [stored[0], fresh[1], stored[1], stored[2]],
    })
    expect(script).toMatchObject({ items: { success: 1 }, degraded: 1 })
  })

  it('drops stored filings that neither path has any more', async () => {
    const files = withFile(FILE, '{"code":0,"data":[{"news_id":"gone","news_date":"2026-02-12"}]}')
    const { text } = await collected([{ news_id: 'a', news_date: '2026-02-11' }], [], { files })
    expect(text(FILE)).toBe('{"code":0,"data":[{"news_id":"a","news_date":"2026-02-11"}]}\n')
  })

  it('loses no other stock to a damaged file of one', async () => {
    const answer: Collecting['answer'] = ({ path }) =>
      path === LEGACY ? 503 : { data: [{ news_id: 'a', news_date: '2026-02-11' }] }
    const { script, report, text } = await collect({
      stream: 'company-filings',
      answer,
      files: withFile(FILE, '{"code":0,"da'),
    })
    expect(text(FILE)).toBe('{"code":0,"da')
    expect(script.items).toMatchObject({ error: 1, success: 1 })
    expect(report.outcome).toBe('partial')
    expect(text('company_filings/BETA_filings.json')).toBeDefined()
  })
})
