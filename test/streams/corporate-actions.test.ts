import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { arrayOf, type Collecting, collect, type SentRequest, withFile } from './support.js'

const UPCOMING = 'upcoming_corporate_actions.json'
const HISTORY = 'history_corporate_actions.json'

const isUpcoming = ({ body }: SentRequest): boolean => JSON.stringify(body).includes('"GT"')

const actions = (upcoming: unknown, history: unknown, more: Partial<Collecting> = {}) =>
  collect({
    stream: 'corporate-actions',
    answer: (request) => (isUpcoming(request) ? upcoming : history),
    ...more,
  })

const rowOn = (...days: readonly (string | null)[]) => ({
  Sym: 'ALPHA',
  DispSym: 'Alpha Ltd',
  CorpAct: days.map((day) => ({ ActType: 'DIVIDEND', ExDate: day, RecDate: day, Note: '2.5' })),
})

const isKept = async (mode: 'upcoming' | 'history', row: object, asOf?: number): Promise<boolean> => {
  const { text } = await actions({ data: [row] }, { data: [row] }, asOf === undefined ? {} : { asOf })
  return text(mode === 'upcoming' ? UPCOMING : HISTORY) === arrayOf(row)
}

describe('corporate-actions', () => {
  it('sends one request per mode, which overlap at today in India: neither operator includes its day', async () => {
    const { requests } = await actions({ data: [] }, { data: [] }, { asOf: toInstant('2026-02-12', '00:30') })
    const body = (op: string, val: string) => ({
      data: {
        type: 'full',
        whichpage: 'corporate_action',
        filters: [{ field: 'CorpAct.ActDate', op, val }],
        count: 5000,
        page: 1,
      },
    })
    expect(requests.map(({ path }) => path)).toEqual([
      '/analytics/customscan/fetchdt',
      '/analytics/customscan/fetchdt',
    ])
    expect(requests.map((one) => one.body)).toEqual([body('GT', '2026-02-11'), body('LT', '2026-02-13')])
  })

  it('writes each mode’s rows unchanged, in the order answered', async () => {
    const [one, other, past] = [
      rowOn('2026-03-01'),
      { ...rowOn('2026-02-20'), extra: null },
      rowOn('2025-01-01'),
    ]
    const { text, script } = await actions({ data: [one, other] }, { data: [past] })
    expect(text(UPCOMING)).toBe(arrayOf(one, other))
    expect(text(HISTORY)).toBe(arrayOf(past))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 2 }, files: 2 })
  })

  it('warns about as many stocks as one request returns at most', async () => {
    const rows = (count: number) => ({
      data: Array.from({ length: count }, (_, place) => ({ ...rowOn('2026-03-01'), Sym: `S${place}` })),
    })
    const { script, report } = await actions(rows(5_000), rows(4_999))
    expect(script.problems).toEqual([
      { reason: 'upcoming: the list has 5,000 rows, the maximum of one request; more may exist' },
    ])
    expect(report.outcome).toBe('complete')
  })

  it.each([
    { mode: 'upcoming', day: '2026-02-12', kept: true },
    { mode: 'upcoming', day: '2026-04-12', kept: true },
    { mode: 'upcoming', day: '2026-04-13', kept: false },
    { mode: 'upcoming', day: '2026-02-11', kept: false },
    { mode: 'history', day: '2026-02-11', kept: true },
    { mode: 'history', day: '2024-02-12', kept: true },
    { mode: 'history', day: '2024-02-11', kept: false },
    { mode: 'history', day: '2026-02-12', kept: false },
    { mode: 'history', day: '2026-02-13', kept: false },
  ] as const)('has a row of $day among $mode actions: $kept', async ({ mode, day, kept }) => {
    expect(await isKept(mode, rowOn(day))).toBe(kept)
  })

  it('has each action of the overlap in one list: those of today are upcoming', async () => {
    const all = rowOn('2026-02-10', '2026-02-11', '2026-02-12', '2026-02-13')
    const { text } = await actions({ data: [all] }, { data: [all] })
    expect(text(UPCOMING)).toBe(arrayOf(rowOn('2026-02-10', '2026-02-12', '2026-02-13')))
    expect(text(HISTORY)).toBe(arrayOf(rowOn('2026-02-10', '2026-02-11', '2026-02-13')))
  })

  it.each([
    ['2026-02-11', '2026-02-12', 'history'],
    ['2026-02-12', '2026-02-11', 'upcoming'],
    ['2026-02-13', '2026-02-11', 'upcoming'],
    ['2026-02-11', '2026-02-13', 'history'],
    ['2026-02-12', '2026-02-12', 'upcoming'],
  ])('has an action with the dates %s and %s in one list: %s', async (ActDate, ExDate, list) => {
    const row = {
      Sym: 'ALPHA',
      CorpAct: [{ ActType: 'DIVIDEND', ActDate, ExDate, RecDate: ExDate, Note: '1' }],
    }
    // As the provider answers: by its date of the action.
    const { text } = await actions(
      { data: ActDate > '2026-02-11' ? [row] : [] },
      { data: ActDate < '2026-02-13' ? [row] : [] },
    )
    expect([UPCOMING, HISTORY].filter((file) => text(file) === arrayOf(row))).toEqual([
      list === 'upcoming' ? UPCOMING : HISTORY,
    ])
  })

  it('counts the actions of an unknown type', async () => {
    const CorpAct = ['SCRIP RECOMMENDED', 'DIVIDEND', 'AGM', 'INTEREST', 'BONUS NCRPS', 'EGM'].map(
      (ActType) => ({
        ActType,
        ExDate: '2026-03-01',
        RecDate: null,
        Note: '1',
      }),
    )
    const { script } = await actions({ data: [{ Sym: 'ALPHA', DispSym: 'A', CorpAct }] }, { data: [] })
    expect(script.problems).toEqual([
      {
        reason:
          'upcoming: the type of 1 of 6 actions is unknown, such as "ALPHA SCRIP RECOMMENDED 1"; prices and returns leave them out',
      },
    ])
  })

  it('counts the actions whose terms cannot be read', async () => {
    const act = (ActType: string, Note: string | null) => ({
      ActType,
      ExDate: '2026-03-01',
      RecDate: null,
      Note,
    })
    const dividends = ['2.5', 'Rs 2.50 Per Share', 'soon'].map((note) => act('DIVIDEND', note))
    const CorpAct = [...dividends, act('SPLIT', null), act('DEMERGER', 'NA'), act('AGM', 'NA')]
    const { script, report } = await actions(
      { data: [{ Sym: 'ALPHA', DispSym: 'A', CorpAct }] },
      { data: [] },
    )
    expect(script.problems).toEqual([
      {
        reason:
          'upcoming: the terms of 1 of 3 dividend actions cannot be read, such as "ALPHA DIVIDEND soon"; they are NULL in the tables',
      },
      {
        reason:
          'upcoming: the terms of 1 of 1 split action cannot be read, such as "ALPHA SPLIT "; they are NULL in the tables',
      },
    ])
    expect(report.outcome).toBe('complete')
  })

  it('ends the two-month window at the last day of a shorter month', async () => {
    const asOf = toInstant('2025-12-31', '12:00')
    expect(await isKept('upcoming', rowOn('2026-02-28'), asOf)).toBe(true)
    expect(await isKept('upcoming', rowOn('2026-03-01'), asOf)).toBe(false)
  })

  it('keeps a row if any of its actions, and any of their dates, lies in the window', async () => {
    expect(await isKept('upcoming', rowOn('2020-01-01', '2026-03-01'))).toBe(true)
    expect(await isKept('upcoming', { CorpAct: [{ ExDate: '2020-01-01', RecDate: '2026-03-01' }] })).toBe(
      true,
    )
    expect(await isKept('upcoming', { CorpAct: [{ ExDate: '2026-03-01 00:00:00', RecDate: null }] })).toBe(
      true,
    )
    expect(await isKept('upcoming', { CorpAct: { ActDate: '2026-03-01' } })).toBe(true)
  })

  it.each([
    { what: 'no actions', row: { Sym: 'ALPHA' } },
    { what: 'null actions', row: { Sym: 'ALPHA', CorpAct: null } },
    { what: 'null dates', row: rowOn(null) },
    { what: 'dates of another form', row: rowOn('13 Feb 2020', 'soon') },
    { what: 'a day that does not exist', row: rowOn('2020-02-30') },
    { what: 'a mixture of no actions', row: { Sym: 'ALPHA', CorpAct: [null, 7, {}] } },
  ])('keeps a row with $what, since none of its dates can be read', async ({ row }) => {
    expect(await isKept('upcoming', row)).toBe(true)
    expect(await isKept('history', row)).toBe(true)
  })

  it('writes an empty list for null, nothing and rows that all lie elsewhere', async () => {
    const { text, script, report } = await actions({ data: null }, { data: [rowOn('2010-01-01')] })
    expect(text(UPCOMING)).toBe('[]\n')
    expect(text(HISTORY)).toBe('[]\n')
    expect(script.items).toMatchObject({ empty: 2 })
    expect(report.outcome).toBe('complete')
  })

  it('keeps the stored files when the answer is empty', async () => {
    const upcoming = await actions(
      { data: [] },
      { data: [rowOn('2025-03-01')] },
      { files: withFile(UPCOMING, 'old') },
    )
    expect(upcoming.text(UPCOMING)).toBe('old')
    expect(upcoming.report.outcome).toBe('complete')
    const earlier = arrayOf(rowOn('2025-04-01'))
    for (const accept of [[], ['shrink']] as const) {
      const history = await actions({ data: [] }, { data: [] }, { files: withFile(HISTORY, earlier), accept })
      expect(history.text(HISTORY)).toBe(earlier)
      expect(history.script.items).toMatchObject(accept.length > 0 ? { empty: 2 } : { empty: 1, error: 1 })
    }
  })

  it('fails with the mode that failed, and keeps its stored file', async () => {
    const { text, script, report } = await actions({ data: [rowOn('2026-03-01')] }, 500, {
      files: withFile(HISTORY, 'the good one'),
    })
    expect(script).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/history.*500/),
      items: { success: 1, http_500: 1 },
    })
    expect(report.outcome).toBe('partial')
    expect(text(HISTORY)).toBe('the good one')
    expect(text(UPCOMING)).toBe(arrayOf(rowOn('2026-03-01')))
  })
})
