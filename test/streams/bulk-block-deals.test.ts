import { describe, expect, it } from 'vitest'
import { arrayOf, type Collecting, collect, type SentRequest, withFile } from './support.js'

const FILE = 'bulk_block_deals.json'
const RANGES = [
  ['03-02-2026', '12-02-2026'],
  ['24-01-2026', '02-02-2026'],
  ['14-01-2026', '23-01-2026'],
] as const

interface Page {
  readonly startdate: string
  readonly enddate: string
  readonly pageno: number
}

const pageOf = ({ body }: SentRequest): Page => (body as { readonly data: Page }).data
const chunkOf = (request: SentRequest): number =>
  RANGES.findIndex(([start]) => start === pageOf(request).startdate)

/** A deal in one of the chunks. */
const deal = (day: string, qty = 1, more: object = {}) => ({
  date: `${day} 00:00:00`,
  exch: 'NSE',
  sym: 'ALPHA',
  cname: 'FUND 1',
  bs: 'B',
  qty,
  avgprice: 10.5,
  deal: 'BULK',
  ...more,
})

const deals = (answer: (chunk: number, page: number) => unknown, more: Partial<Collecting> = {}) =>
  collect({
    stream: 'bulk-block-deals',
    answer: (request) => answer(chunkOf(request), pageOf(request).pageno),
    ...more,
  })

/**
 * A provider with the given number of deals in the newest chunk, its page size and the count that it reports.
 */
const having = (count: number, { size = 50, total = count as number | null, day = '2026-02-12' } = {}) => {
  const all = Array.from({ length: count }, (_, place) => deal(day, place + 1))
  return (chunk: number, page: number): object =>
    chunk === 0
      ? { data: all.slice((page - 1) * size, page * size), ...(total === null ? {} : { totalcount: total }) }
      : { data: [], totalcount: 0 }
}

/** The requested pages: those of the newest chunk, and one for each of the other, empty chunks. */
const newestPages = (count: number): readonly string[] => [
  ...Array.from({ length: count }, (_, page) => `0/${page + 1}`),
  '1/1',
  '2/1',
]

const countIn = (text: string | undefined): number => (JSON.parse(text ?? '[]') as readonly unknown[]).length

const pagesOf = (requests: readonly SentRequest[]): readonly string[] =>
  requests.map((one) => `${chunkOf(one)}/${pageOf(one).pageno}`)

describe('bulk-block-deals', () => {
  it('requests the last 30 days in three chunks of ten, 50 deals per page', async () => {
    const { requests } = await deals(() => ({ data: [], totalcount: 0 }))
    expect(requests.map(({ path, body }) => ({ path, body }))).toEqual(
      RANGES.map(([startdate, enddate]) => ({
        path: '/static/staticscanx/deal',
        body: { data: { startdate, enddate, defaultpage: 'N', pageno: 1, pagecount: 50 } },
      })),
    )
  })

  it.each([
    { at: '2026-03-01T00:00:00+05:30', end: '01-03-2026', start: '20-02-2026' },
    { at: '2026-02-28T23:59:59+05:30', end: '28-02-2026', start: '19-02-2026' },
    { at: '2026-01-05T18:30:00Z', end: '06-01-2026', start: '28-12-2025' },
  ])('counts days in India: at $at the first chunk is $start to $end', async ({ at, start, end }) => {
    const { requests } = await deals(() => ({ data: [], totalcount: 0 }), { asOf: Date.parse(at) })
    expect(requests[0]?.body).toMatchObject({ data: { startdate: start, enddate: end } })
  })

  it.each([
    { total: 0, pages: 1 },
    { total: 1, pages: 1 },
    { total: 49, pages: 1 },
    { total: 51, pages: 2 },
    { total: 100, pages: 2 },
    { total: 101, pages: 3 },
    { total: 150, pages: 3 },
  ])(
    'requests $pages pages of a chunk of $total deals in sequence, and no more',
    async ({ total, pages }) => {
      const { requests, text, report } = await deals(having(total))
      expect(pagesOf(requests)).toEqual(newestPages(pages))
      expect(countIn(text(FILE))).toBe(total)
      expect(report.outcome).toBe('complete')
    },
  )

  it('uses the count of page 1, whatever later pages report', async () => {
    const answer = having(120)
    const { requests } = await deals((chunk, page) => ({
      ...answer(chunk, page),
      ...(page > 1 ? { totalcount: 9_999 } : {}),
    }))
    expect(pagesOf(requests)).toEqual(newestPages(3))
  })

  it.each([
    { what: 'the count is gone', count: 163, given: { total: null }, pages: 4 },
    { what: 'the count is gone, and the last page is full', count: 150, given: { total: null }, pages: 4 },
    { what: 'the count is 0', count: 163, given: { total: 0 }, pages: 4 },
    { what: 'the count is that of a page', count: 163, given: { total: 50 }, pages: 4 },
    { what: 'the count is that of a page, and there is one page', count: 50, given: { total: 50 }, pages: 2 },
    { what: 'the count is too low', count: 163, given: { total: 99 }, pages: 4 },
    { what: 'pages hold 25', count: 163, given: { size: 25 }, pages: 7 },
    { what: 'pages hold 25, and the count is gone', count: 163, given: { size: 25, total: null }, pages: 7 },
  ])('reads all deals if $what', async ({ count, given, pages }) => {
    const { requests, text, report } = await deals(having(count, given))
    expect(countIn(text(FILE))).toBe(count)
    expect(pagesOf(requests)).toEqual(newestPages(pages))
    expect(report.outcome).toBe('complete')
  })

  it.each([
    { what: 'further pages are empty', further: [], says: /count: 50 of 163 rows \(page 2 is empty\)/ },
    {
      what: 'the first page comes again and again',
      further: undefined,
      says: /count: 50 of 163 rows \(page 2 repeats earlier ones\)/,
    },
  ])('keeps the stored deals of days with fewer deals than promised: $what', async ({ further, says }) => {
    const first = (having(50)(0, 1) as { readonly data: readonly object[] }).data
    const answer = (chunk: number, page: number) => ({
      data: chunk > 0 ? [] : page === 1 ? first : (further ?? first),
      totalcount: chunk > 0 ? 0 : 163,
    })
    const stored = await deals(having(163))
    const { script, text, report } = await deals(answer, { files: stored.files })
    expect(countIn(text(FILE))).toBe(163)
    expect(script).toMatchObject({
      degraded: 1,
      problems: [{ item: 'all', reason: expect.stringMatching(says) }],
    })
    expect(report.outcome).toBe('partial')

    const accepted = await deals(answer, { files: stored.files, accept: ['count', 'shrink'] })
    expect(countIn(accepted.text(FILE))).toBe(50)
    expect(accepted.report.outcome).toBe('complete')
    expect(accepted.script.problems.map(({ reason }) => reason).join()).toMatch(
      /accepted although deals are missing: 03-02-2026 to 12-02-2026: 50 of/,
    )
  })

  it('stops at the page limit if pages never end', async () => {
    const { requests, script } = await deals((chunk, page) => ({
      data: chunk === 0 ? [deal('2026-02-12', page)] : [],
    }))
    expect(pagesOf(requests)).toEqual(newestPages(200))
    expect(script.problems[0]?.reason).toContain('count: more rows follow after 200 pages')
  })

  it('does not follow an impossible count page by page', async () => {
    const { requests, script, text } = await deals((chunk) => ({
      data: [deal('2026-02-12', chunk)],
      totalcount: chunk === 0 ? 1e9 : 1,
    }))
    expect(pagesOf(requests)).toEqual(['0/1', '1/1', '2/1'])
    expect(script.degraded).toBe(1)
    expect(JSON.parse(text(FILE) ?? '')).toHaveLength(3)
  })

  it('reads a count that comes as text', async () => {
    const answer = having(51)
    const { requests } = await deals((chunk, page) => ({
      ...answer(chunk, page),
      totalcount: chunk === 0 ? '51' : '0',
    }))
    expect(pagesOf(requests)).toEqual(newestPages(2))
  })

  it('writes rows unchanged, newest first, in the order answered within a date', async () => {
    const [a, b, c, d] = [
      deal('2026-02-10', 1),
      deal('2026-02-12', 2),
      deal('2026-02-12', 1),
      deal('2026-01-20', 1, { remarks: null }),
    ]
    const { text, script } = await deals((chunk) => ({
      data: [[a, b, c], null, [d]][chunk],
      totalcount: [3, 0, 1][chunk],
    }))
    expect(text(FILE)).toBe(arrayOf(b, c, a, d))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1 }, files: 1 })
  })

  it('stores only the first of several deals with the same six fields', async () => {
    const one = deal('2026-02-12', 500)
    const numbered = Array.from({ length: 49 }, (_, place) => deal('2026-02-12', place))
    const { text } = await deals((chunk, page) =>
      chunk === 0
        ? { data: page === 1 ? [one, ...numbered] : [{ ...one, deal: 'BLOCK' }], totalcount: 51 }
        : { data: [{ ...one, exch: 'BSE' }], totalcount: 1 },
    )
    expect(text(FILE)).toBe(arrayOf(one, ...numbered))
  })

  it.each(['sym', 'date', 'qty', 'avgprice', 'bs', 'cname'])(
    'keeps both of two deals that differ in %s',
    async (field) => {
      const one = deal('2026-02-12', 5)
      const other = {
        ...one,
        [field]:
          field === 'date' ? '2026-02-11 00:00:00' : field === 'qty' || field === 'avgprice' ? 7 : 'other',
      }
      const { text } = await deals((chunk) => ({ data: chunk === 0 ? [one, other] : [], totalcount: 2 }))
      expect(text(FILE)).toBe(arrayOf(one, other))
    },
  )

  it('does not take fields that only look alike when joined for the same deal', async () => {
    const [one, other] = [
      deal('2026-02-12', 1, { bs: 'B', cname: '_B' }),
      deal('2026-02-12', 1, { bs: 'B_', cname: 'B' }),
    ]
    const { text } = await deals((chunk) => ({ data: chunk === 0 ? [one, other] : [], totalcount: 2 }))
    expect(text(FILE)).toBe(arrayOf(one, other))
  })

  it.each([
    ['writes an empty list', undefined, '[]\n'],
    ['leaves the earlier file alone', arrayOf(deal('2026-02-01')), arrayOf(deal('2026-02-01'))],
    ['leaves even a damaged earlier file alone', '[{"date":', '[{"date":'],
  ])('%s when there were no deals at all', async (_, earlier, left) => {
    const files = earlier === undefined ? new Map() : withFile(FILE, earlier)
    const { text, script, report } = await deals(() => ({ data: [], totalcount: 0 }), { files })
    expect(text(FILE)).toBe(left)
    expect(script).toMatchObject({ outcome: 'success', items: { empty: 1 } })
    expect(report.outcome).toBe('complete')
  })

  const stored = [
    deal('2026-02-12', 9),
    deal('2026-02-02', 9),
    deal('2026-01-24', 9),
    deal('2026-01-23', 9),
    deal('2025-12-01', 9),
  ]
  const [newest, oldest] = [deal('2026-02-11', 1), deal('2026-01-15', 1)]
  it.each([
    {
      what: 'keeps the stored deals of ten days of which none were answered',
      middle: { data: [], totalcount: 0 },
    },
    { what: 'keeps the stored deals of a failed chunk, and none of the others', middle: 404 },
  ])('$what', async ({ middle }) => {
    const answer = (chunk: number) =>
      chunk === 1 ? middle : { data: chunk === 0 ? [newest] : [oldest], totalcount: 1 }
    const { text, report } = await deals(answer, { files: withFile(FILE, arrayOf(...stored)) })
    expect(text(FILE)).toBe(arrayOf(newest, stored[1], stored[2], oldest))
    expect(report.outcome).toBe(middle === 404 ? 'partial' : 'complete')
  })

  it.each([{ failing: 1 }, { failing: 2 }])(
    'ends a chunk at its failing page $failing, and goes on with the next',
    async ({ failing }) => {
      const data = { 0: [deal('2026-02-12')], 1: [deal('2026-01-30')], 2: [deal('2026-01-20')] }
      const { text, requests, script, report } = await deals((chunk, page) =>
        chunk === 1 && page === failing
          ? 404
          : { data: page === 1 ? data[chunk as 0] : [], totalcount: chunk === 1 ? 101 : 1 },
      )
      expect(pagesOf(requests)).toEqual([
        '0/1',
        ...Array.from({ length: failing }, (_, page) => `1/${page + 1}`),
        '2/1',
      ])
      expect(text(FILE)).toBe(
        arrayOf(deal('2026-02-12'), ...(failing === 2 ? [deal('2026-01-30')] : []), deal('2026-01-20')),
      )
      expect(script).toMatchObject({ items: { success: 1 }, degraded: 1 })
      expect(script.problems[0]?.reason).toMatch(/24-01-2026.*02-02-2026.*404/)
      expect(report.outcome).toBe('partial')
    },
  )

  it('fails when no chunk could be read, and leaves the earlier file alone', async () => {
    const { text, script, report } = await deals(() => 503, { files: withFile(FILE, 'the good one') })
    expect(script).toMatchObject({ outcome: 'failed', error: expect.stringContaining('503') })
    expect(report.outcome).toBe('partial')
    expect(text(FILE)).toBe('the good one')
  })

  it('survives a damaged stored file when a chunk fails', async () => {
    const { report, script } = await deals((chunk) => (chunk === 1 ? 404 : { data: [], totalcount: 0 }), {
      files: withFile(FILE, '[{"date":'),
    })
    expect(report.outcome).toBe('partial')
    expect(script.problems.length).toBeGreaterThan(0)
  })

  it('accepts answers without a count', async () => {
    const { requests, text, report } = await deals((chunk, page) => ({
      data: chunk === 0 && page === 1 ? [deal('2026-02-12')] : [],
    }))
    expect(pagesOf(requests)).toEqual(newestPages(2))
    expect(text(FILE)).toBe(arrayOf(deal('2026-02-12')))
    expect(report).toMatchObject({ outcome: 'partial', drift: [{ kind: 'gone', field: 'totalcount' }] })
  })

  describe('when fewer deals come than are stored', () => {
    /** So many deals of each of these days, as an earlier run stored them. */
    const storedOf = (count: number, ...days: readonly string[]) =>
      withFile(
        FILE,
        arrayOf(...days.flatMap((day) => Array.from({ length: count }, (_, place) => deal(day, place + 1)))),
      )

    it('keeps its file, unless that is accepted', async () => {
      const files = storedOf(10, '2026-02-11')
      const before = files.get(FILE)
      const { report, script } = await deals(having(6, { day: '2026-02-11' }), { files })
      expect(script).toMatchObject({
        outcome: 'failed',
        error: expect.stringMatching(/^shrink: 6 records, the stored file has 10/),
      })
      expect(report.outcome).toBe('partial')
      expect(files.get(FILE)).toBe(before)

      expect(
        (await deals(having(6, { day: '2026-02-11' }), { files, accept: ['shrink'] })).report.outcome,
      ).toBe('complete')
      expect(countIn(files.get(FILE)?.text)).toBe(6)
    })

    it('takes 70 % of them', async () => {
      const { report } = await deals(having(7, { day: '2026-02-11' }), { files: storedOf(10, '2026-02-11') })
      expect(report.outcome).toBe('complete')
    })

    it('counts no stored deals of days that have left the window', async () => {
      const files = storedOf(100, '2026-01-13', '2026-01-12')
      const { text, report } = await deals(having(1), { files })
      expect(report.outcome).toBe('complete')
      expect(countIn(text(FILE))).toBe(1)
    })

    it('counts no new deals of days that were not stored yet', async () => {
      const [old, now] = [
        deal('2026-02-10', 1),
        Array.from({ length: 40 }, (_, place) => deal('2026-02-12', place)),
      ]
      const answer = (chunk: number) => ({
        data: chunk === 0 ? [...now, old] : [],
        totalcount: chunk === 0 ? 41 : 0,
      })
      const { script } = await deals(answer, { files: storedOf(10, '2026-02-10') })
      expect(script.error).toMatch(/^shrink: 1 record, the stored file has 10/)
    })
  })
})
