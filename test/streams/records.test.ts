import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import {
  ALPHA,
  type Answer,
  arrayOf,
  BETA,
  type Collecting,
  collect,
  type SentRequest,
  stockNamed,
} from './support.js'

const GAMMA = stockNamed('GAMMA', 3)
const ALL = [ALPHA, BETA, GAMMA]

const isAbout = ({ body }: SentRequest, { Isin }: typeof ALPHA): boolean =>
  JSON.stringify(body).includes(Isin)
const headOf = ({ Sym, Isin }: typeof ALPHA) => ({ Symbol: Sym, ISIN: Isin })

const kinds = [
  { stream: 'fundamental-data', file: 'fundamental_data.json', path: '/fundamental/scanx/fundamental' },
  {
    stream: 'new-announcements',
    file: 'all_company_announcements.json',
    path: '/static/staticscanx/announcements',
  },
  {
    stream: 'advanced-indicators',
    file: 'advanced_indicator_data.json',
    path: '/static/staticscanx/indicator',
  },
] as const

describe.each(kinds)('$stream', ({ stream, file, path }) => {
  /** Each stock has one record, which contains its symbol. */
  const records = (more: Partial<Collecting> = {}, value = 'new') => {
    const answer: Answer = (request) => ({
      data: ALL.filter((one) => isAbout(request, one)).map(({ Sym }) => ({ about: Sym, value })),
    })
    return collect({ stream, answer, master: ALL, ...more })
  }
  const recordOf = (one: typeof ALPHA, value = 'new') => ({ ...headOf(one), about: one.Sym, value })

  it('writes the records of all stocks in the master list’s order', async () => {
    const { text, script, requests } = await records({ master: [GAMMA, ALPHA, BETA] })
    expect(text(file)).toBe(arrayOf(recordOf(GAMMA), recordOf(ALPHA), recordOf(BETA)))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 3 }, files: 1 })
    expect(requests.map((one) => one.path)).toEqual([path, path, path])
  })

  it('starts a record with Symbol and ISIN, then has the answered one unchanged and in its key order', async () => {
    const answered =
      '{"zeta":[1,{"b":null,"a":"x"}],"__proto__":{"isAdmin":true},"alpha":"1|2|3","constructor":7,"Net_Profit":1.5,"isin":"INE000000001"}'
    const { text } = await collect({ stream, answer: () => `{"data":[${answered}]}`, master: [ALPHA] })
    expect(text(file)).toBe(`[\n{"Symbol":"ALPHA","ISIN":"${ALPHA.Isin}",${answered.slice(1)}\n]\n`)
  })

  it('uses the symbol of the requested stock if the answered record has another one', async () => {
    const { text } = await collect({
      stream,
      answer: () => ({ data: [{ a: 1, Symbol: 'OTHER', ISIN: ALPHA.Isin }] }),
      master: [ALPHA],
    })
    expect(JSON.parse(text(file) ?? '')).toEqual([{ Symbol: 'ALPHA', ISIN: ALPHA.Isin, a: 1 }])
  })

  it.each(['isin', 'Isin', 'ISIN'])(
    'fails a stock whose answer names another one in %s, after a retry',
    async (field) => {
      const row = { events: 'a', date: '2026-02-12' }
      const stranger = { data: [row, { ...row, [field]: 'INE999999999' }] }
      const { text, script } = await records({
        answer: (request) => (isAbout(request, BETA) ? stranger : { data: [row] }),
      })
      expect(text(file)).toBe(arrayOf({ ...headOf(ALPHA), ...row }, { ...headOf(GAMMA), ...row }))
      expect(script).toMatchObject({ items: { success: 2, error: 1 }, retries: 2 })
      expect(script.problems).toEqual([
        expect.objectContaining({
          item: 'BETA',
          reason: expect.stringMatching(/^POST \S+ \S+: other-stock: .*INE999999999/),
        }),
      ])
    },
  )

  it.each([{ data: [] }, { data: null }])(
    'counts a stock whose answer is %j as empty, and writes no record of it',
    async (nothing) => {
      const { text, script, report } = await records({
        answer: (request) => (isAbout(request, BETA) ? nothing : { data: [{ a: 1 }] }),
      })
      expect(text(file)).toBe(arrayOf({ ...headOf(ALPHA), a: 1 }, { ...headOf(GAMMA), a: 1 }))
      expect(script.items).toMatchObject({ success: 2, empty: 1 })
      expect(report.outcome).toBe('complete')
    },
  )

  it.each([
    {},
    { status: 'error', message: 'Invalid token' },
    { success: false, data: [] },
    { status: 'failed', data: null },
    { status: 500, data: [] },
    { success: 'false', data: [] },
    { error: 'boom', data: [] },
    { errors: [{ code: 7 }], data: [] },
    { code: 503, data: [] },
  ])('treats %j as a failure, not as a stock without records, and keeps the stored ones', async (failure) => {
    const files: MemoryFiles = new Map()
    await records({ answer: () => ({ data: [{ a: 1 }] }), files })
    const { text, script, report } = await records({
      answer: (request) => (isAbout(request, BETA) ? failure : { data: [{ a: 2 }] }),
      files,
    })
    expect(text(file)).toBe(
      arrayOf({ ...headOf(ALPHA), a: 2 }, { ...headOf(BETA), a: 1 }, { ...headOf(GAMMA), a: 2 }),
    )
    expect(script.items).toMatchObject({ success: 2, error: 1 })
    expect(report.outcome).toBe('partial')
  })

  it('keeps the records of other stocks when only some symbols are requested', async () => {
    const files: MemoryFiles = new Map()
    await records({ files }, 'old')
    const { text, report, requests, script } = await records({ files, symbols: ['beta'] })
    expect(text(file)).toBe(arrayOf(recordOf(ALPHA, 'old'), recordOf(BETA), recordOf(GAMMA, 'old')))
    expect(report.stocks).toBe(1)
    expect(script.items).toMatchObject({ success: 1 })
    expect(requests).toHaveLength(1)
  })

  it('keeps the stored records of a stock that is lost, and of one that has none any more only fundamentals', async () => {
    const files: MemoryFiles = new Map()
    await records({ files }, 'old')
    const { text, script, report } = await records({
      files,
      answer: (request) => (isAbout(request, ALPHA) ? 503 : { data: [] }),
    })
    const kept = stream === 'fundamental-data' ? [ALPHA, BETA, GAMMA] : [ALPHA]
    expect(text(file)).toBe(arrayOf(...kept.map((stock) => recordOf(stock, 'old'))))
    expect(script.items).toMatchObject({ http_503: 1, empty: 2 })
    expect(report.outcome).toBe('partial')
  })

  it('keeps apart two stocks that have one ISIN', async () => {
    const twin = { ...BETA, Isin: ALPHA.Isin, Sid: 7 }
    const files: MemoryFiles = new Map()
    await collect({ stream, answer: () => ({ data: [{ a: 1 }] }), master: [ALPHA, twin], files })
    const { text } = await collect({
      stream,
      answer: () => ({ data: [{ a: 2 }] }),
      master: [ALPHA, twin],
      files,
      symbols: ['ALPHA'],
    })
    expect(JSON.parse(text(file) ?? '')).toEqual([
      { ...headOf(ALPHA), a: 2 },
      { ...headOf(twin), a: 1 },
    ])
  })
})

describe('fundamental-data', () => {
  it('reads a bare object as an array of one', async () => {
    const { text } = await collect({
      stream: 'fundamental-data',
      answer: () => ({ status: 'success', data: { isin: ALPHA.Isin, CV: { PE: '1' } } }),
      master: [ALPHA],
    })
    expect(text('fundamental_data.json')).toBe(
      arrayOf({ ...headOf(ALPHA), isin: ALPHA.Isin, CV: { PE: '1' } }),
    )
  })

  it('requests by ISIN, without the usual headers', async () => {
    const { requests } = await collect({
      stream: 'fundamental-data',
      answer: () => ({ data: [] }),
      master: [ALPHA],
    })
    expect(requests[0]).toMatchObject({ body: { data: { isin: ALPHA.Isin } } })
    expect(Object.keys(requests[0]?.headers ?? {}).sort()).toEqual(['accept-encoding', 'content-type'])
  })
})

describe('advanced-indicators', () => {
  it('requests by the Sid of the stock, without nesting', async () => {
    const { requests } = await collect({
      stream: 'advanced-indicators',
      answer: () => ({ data: [] }),
      master: [ALPHA],
    })
    expect(requests[0]?.body).toEqual({
      exchange: 'NSE',
      segment: 'E',
      security_id: '1001',
      isin: ALPHA.Isin,
      symbol: 'ALPHA',
      minute: 'D',
    })
  })

  it.each(['advanced-indicators', 'all-ohlcv'])(
    'does not request %s for a stock without a Sid, and reports it',
    async (stream) => {
      const { requests, script } = await collect({
        stream,
        answer: () => ({ data: [] }),
        master: [{ ...ALPHA, Sid: null }, BETA],
      })
      expect(requests).toHaveLength(1)
      expect(script.items).toMatchObject({ error: 1, empty: 1 })
      expect(script.problems).toMatchObject([{ item: 'ALPHA', reason: expect.stringContaining('Sid') }])
    },
  )
})

describe('new-announcements', () => {
  it('writes the newest first; on one date the master list’s order counts, then the order answered', async () => {
    const row = (events: string, date?: string) => ({
      events,
      ...(date === undefined ? {} : { date }),
      type: 'x',
    })
    const ofAlpha = [
      row('a1', '2026-02-10 10:00:00'),
      row('a2', '2026-02-12 09:00:00'),
      row('a3', '2026-02-10 10:00:00'),
      row('a4'),
    ]
    const ofBeta = [row('b1', '2026-02-10 10:00:00'), row('b2', '2026-02-12 09:00:01')]
    const answer: Answer = (request) => ({ data: isAbout(request, ALPHA) ? ofAlpha : ofBeta })
    const { text } = await collect({ stream: 'new-announcements', answer })
    const events: unknown[] = JSON.parse(text('all_company_announcements.json') ?? '').map(
      ({ events }: { events: string }) => events,
    )
    expect(events).toEqual(['b2', 'a2', 'a1', 'a3', 'b1', 'a4'])
  })

  it('replaces the earlier ones of a stock, however many: an answer goes back a few days only', async () => {
    const files: MemoryFiles = new Map()
    const days = ['2026-02-11', '2026-02-10', '2026-02-09', '2026-02-08']
    const of =
      (...dates: readonly string[]): Answer =>
      () => ({ data: dates.map((date) => ({ date, events: date })) })
    await collect({ stream: 'new-announcements', answer: of(...days), files })
    const { text, script } = await collect({
      stream: 'new-announcements',
      answer: of('2026-02-12'),
      files,
      fresh: true,
    })
    expect(script).toMatchObject({ outcome: 'success', problems: [] })
    expect(JSON.parse(text('all_company_announcements.json') ?? '')).toMatchObject([
      { Symbol: 'ALPHA', date: '2026-02-12' },
      { Symbol: 'BETA', date: '2026-02-12' },
    ])
  })

  it('sorts retained records among the new ones', async () => {
    const files: MemoryFiles = new Map()
    const on =
      (date: string): Answer =>
      () => ({ data: [{ date }] })
    await collect({ stream: 'new-announcements', answer: on('2026-02-11'), files })
    const { text } = await collect({
      stream: 'new-announcements',
      answer: on('2026-02-10'),
      files,
      symbols: ['ALPHA'],
    })
    expect(text('all_company_announcements.json')).toBe(
      arrayOf({ ...headOf(BETA), date: '2026-02-11' }, { ...headOf(ALPHA), date: '2026-02-10' }),
    )
  })
})
