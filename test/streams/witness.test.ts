import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { planRun } from '../../src/engine/plan.js'
import { formatListDay } from '../../src/market/list-sources.js'
import { Settings } from '../../src/model/settings.js'
import { addDays, toInstant } from '../../src/model/trading-day.js'
import { streams } from '../../streams/registry.js'
import { type Answer, collect, jsonOf, stockNamed } from './support.js'

const [BEFORE, TODAY] = ['2026-02-11', '2026-02-12'] as const
const HEADER =
  'SYMBOL, SERIES, DATE1, PREV_CLOSE, OPEN_PRICE, HIGH_PRICE, LOW_PRICE, LAST_PRICE, CLOSE_PRICE, AVG_PRICE, TTL_TRD_QNTY, TURNOVER_LACS, NO_OF_TRADES, DELIV_QTY, DELIV_PER'

interface Trade {
  readonly symbol: string
  readonly series?: string
  readonly close?: number
  readonly last?: number
  readonly delivered?: string
}

const fileOf = (day: string, trades: readonly Trade[], lineEnd = '\n'): string =>
  [
    HEADER,
    ...trades.map(
      ({ symbol, series = 'EQ', close = 100, last = close, delivered = ' 500, 50.00' }) =>
        `${symbol}, ${series}, ${formatListDay(day)}, ${close}, ${close}, ${close}, ${close}, ${last}, ${close}, ${close}, 1000, 1.00, 9,${delivered}`,
    ),
    '',
  ].join(lineEnd)

const daily = (
  files: Readonly<Record<string, string>>,
  stored: MemoryFiles = new Map(),
  accept: readonly 'shrink'[] = [],
) =>
  collect({
    stream: 'exchange-daily',
    files: stored,
    accept,
    answer: ({ path }) => files[/_(\d{8})\.csv$/.exec(path)?.[1] ?? ''] ?? 404,
  })
const pathOf = (day: string): string => `exchange_daily/${day}.json`

it('is planned only if the setting or the selection names it', () => {
  const plan = (settings: object, selection = {}) =>
    planRun(streams, Settings.parse(settings), selection).map(({ stream }) => stream.name)
  const besides = (wanted?: string) =>
    streams.filter(({ name, optional }) => !optional || name === wanted).map(({ name }) => name)
  expect(plan({})).toEqual(besides())
  expect(plan({ with: ['exchange-daily'] })).toEqual(besides('exchange-daily'))
  expect(plan({}, { only: ['index-members'] })).toEqual(besides('index-members'))
  expect(() => plan({ with: ['exchange-dayly'] })).toThrow(
    'unknown stream: "exchange-dayly" (did you mean exchange-daily?)',
  )
})

describe('the file of the exchange', () => {
  it('is stored with trimmed names and cells, a dash as null, and rows of every series', async () => {
    const trades = [
      { symbol: 'ALPHA' },
      { symbol: 'BETA', series: 'BE', delivered: ' -, -' },
      { symbol: '999GS2030', series: 'GS' },
    ]
    const { text, script } = await daily({ '12022026': fileOf(TODAY, trades, '\r\n') })
    const rows = jsonOf(text(pathOf(TODAY)) ?? '') as readonly Record<string, unknown>[]
    expect(
      rows.map(({ SYMBOL, SERIES, DELIV_QTY, DELIV_PER }) => [SYMBOL, SERIES, DELIV_QTY, DELIV_PER]),
    ).toEqual([
      ['ALPHA', 'EQ', '500', '50.00'],
      ['BETA', 'BE', null, null],
      ['999GS2030', 'GS', '500', '50.00'],
    ])
    expect(Object.keys(rows[0] ?? {})).toEqual(HEADER.split(', '))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1, empty: 30 }, files: 1 })
  })

  it('is not stored under a holiday that is answered with the file of the day before', async () => {
    const { text, files, script } = await daily({
      '11022026': fileOf(BEFORE, [{ symbol: 'ALPHA' }]),
      '12022026': fileOf(BEFORE, [{ symbol: 'ALPHA' }]),
    })
    expect(text(pathOf(BEFORE))).toContain('ALPHA')
    expect([...files.keys()].filter((file) => file.startsWith('exchange_daily/'))).toEqual([pathOf(BEFORE)])
    expect(script).toMatchObject({ outcome: 'success', problems: [] })
  })

  it('is requested once more while it is the newest that is stored', async () => {
    const early = { '11022026': fileOf(BEFORE, [{ symbol: 'ALPHA', delivered: ' -, -' }]) }
    const whole = {
      '11022026': fileOf(BEFORE, [{ symbol: 'ALPHA' }]),
      '12022026': fileOf(TODAY, [{ symbol: 'ALPHA' }]),
    }
    const first = await daily(early)
    expect(first.requests).toHaveLength(31)
    const second = await daily(whole, first.files)
    expect(second.requests).toHaveLength(31)
    expect(second.text(pathOf(BEFORE))).toContain('"DELIV_QTY":"500"')
    const third = await daily({}, second.files)
    expect(third.requests.filter(({ path }) => path.includes('_11022026'))).toEqual([])
    expect(third.requests).toHaveLength(30)
    expect(third.text(pathOf(TODAY))).toBe(second.text(pathOf(TODAY)))
    expect(third.report.newest).toMatchObject({ 'exchange-daily': TODAY })
  })

  it.each([
    {
      what: 'refused if it is short beside the newest other day',
      rows: 6,
      accept: [],
      outcome: 'partial',
      stored: false,
    },
    {
      what: 'stored if it is short and that is accepted',
      rows: 6,
      accept: ['shrink'] as const,
      outcome: 'success',
      stored: true,
    },
    {
      what: 'stored with 70 % of the rows of the newest other day',
      rows: 7,
      accept: [],
      outcome: 'success',
      stored: true,
    },
  ])('is $what', async ({ rows, accept, outcome, stored }) => {
    const trades = Array.from({ length: 10 }, (_, place) => ({ symbol: `S${place}` }))
    const { files } = await daily({ '11022026': fileOf(BEFORE, trades) })
    const served = { '11022026': fileOf(BEFORE, trades), '12022026': fileOf(TODAY, trades.slice(0, rows)) }
    const { script, text } = await daily(served, files, accept)
    expect([script.outcome, text(pathOf(TODAY)) !== undefined]).toEqual([outcome, stored])
    expect(script.problems.map(({ code }) => code)).toEqual(
      outcome === 'partial' ? ['shrink'] : accept.map(() => undefined),
    )
  })

  it('fails alone if the archive has none', async () => {
    const { script, files } = await daily({})
    expect(script).toMatchObject({ outcome: 'failed', code: 'all-empty' })
    expect([...files.keys()].filter((file) => file.startsWith('exchange_daily/'))).toEqual([])
  })
})

const STOCKS = Array.from({ length: 30 }, (_, place) => stockNamed(`S${place}`, place))
const DAYS = Array.from({ length: 40 }, (_, back) => addDays(TODAY, back - 39))

/** Each stock moves by another few percent a day. */
const closeOf = (sid: number, day: string): number => {
  const place = DAYS.indexOf(day)
  return Math.round(100 * (100 + sid - 1_000) * (1 + 0.03 * Math.sin((place + 1) * (sid % 97)))) / 100
}

interface Evening {
  readonly day: string
  /** The newest day of the candles. */
  readonly until?: string
  /** Changes a close of the candles. */
  readonly change?: (close: number, sid: number, day: string) => number
  readonly hasFile?: boolean
}

const answerOf =
  ({ day, until = day, change = (close) => close, hasFile = true }: Evening): Answer =>
  ({ path, body }) => {
    if (path.includes('sec_bhavdata'))
      return hasFile && path.includes(day.split('-').reverse().join(''))
        ? fileOf(
            day,
            STOCKS.map(({ Sym, Sid }) => ({ symbol: Sym, close: closeOf(Sid, day) })),
          )
        : 404
    if (!path.endsWith('getDataH')) return { data: [] }
    const { SEC_ID, START, END } = body as Record<string, string>
    const own = DAYS.filter(
      (one) =>
        one <= until && toInstant(one) / 1_000 >= Number(START) && toInstant(one) / 1_000 <= Number(END),
    )
    const c = own.map((one) => change(closeOf(Number(SEC_ID), one), Number(SEC_ID), one))
    return {
      success: true,
      data: { Time: own.map((one) => toInstant(one) / 1_000), o: c, h: c, l: c, c, v: c.map(() => 1_000) },
    }
  }

const runEvening = (evening: Evening, files: MemoryFiles, settings: object = {}) =>
  collect({
    stream: 'all-ohlcv',
    only: ['all-ohlcv', 'exchange-daily'],
    files,
    asOf: toInstant(evening.day, '20:00'),
    master: STOCKS,
    answer: answerOf(evening),
    settings: { with: ['exchange-daily'], ...settings },
  })

/** The candles of the evening before, and the next one. */
const twoEvenings = async (evening: Omit<Evening, 'day'>, settings: object = {}) => {
  const files: MemoryFiles = new Map()
  await runEvening({ day: BEFORE }, files, settings)
  const before = new Map(
    [...files].flatMap(([file, { text }]) => (file.startsWith('ohlcv') ? [[file, text] as const] : [])),
  )
  const ran = await runEvening({ ...evening, day: TODAY }, files, settings)
  return { ...ran, changed: [...before].filter(([file, text]) => files.get(file)?.text !== text).length }
}

const yesterdays: Evening['change'] = (close, sid, day) => (day === TODAY ? closeOf(sid, BEFORE) : close)

describe('candles beside the file of the exchange', () => {
  it('are stored where both agree', async () => {
    const { script, changed, report } = await twoEvenings({})
    expect([script.outcome, changed, report.stale]).toEqual(['success', 30, undefined])
  })

  it('are refused on their evening if the provider repeats yesterday’s prices', async () => {
    const { script, changed, report } = await twoEvenings({ change: yesterdays })
    expect(script.outcome).not.toBe('success')
    expect(script.problems).toContainEqual(
      expect.objectContaining({
        code: 'witness',
        reason: expect.stringMatching(/many closes of 2026-02-12 differ from the exchange's file/),
      }),
    )
    // A few stocks that hardly moved fit both days.
    expect(changed).toBeLessThan(12)
    expect(report.outcome).toBe('partial')
  })

  it('are refused on the first evening if all prices are a tenth', async () => {
    const files: MemoryFiles = new Map()
    const { script } = await runEvening(
      { day: TODAY, change: (close) => Math.round(close * 10) / 100 },
      files,
    )
    expect(script).toMatchObject({ outcome: 'failed', code: 'witness' })
    expect([...files.keys()].filter((file) => file.startsWith('ohlcv'))).toEqual([])
  })

  it('are named as late on the first evening of a frozen provider', async () => {
    const { report, changed } = await twoEvenings({ until: BEFORE })
    expect(changed).toBe(0)
    expect(report.stale).toEqual([
      expect.objectContaining({
        stream: 'all-ohlcv',
        newest: BEFORE,
        expected: TODAY,
        shownBy: ['exchange daily'],
      }),
    ])
  })

  it.each<{ what: string; evening: Omit<Evening, 'day'>; settings?: object }>([
    {
      what: 'a single stock differs',
      evening: { change: (close, sid) => (sid === 1_005 ? close * 1.01 : close) },
    },
    { what: 'the file is late', evening: { change: yesterdays, hasFile: false } },
    { what: 'the stream is not switched on', evening: { change: yesterdays }, settings: { with: [] } },
    {
      what: 'they are those of another exchange',
      evening: { change: yesterdays },
      settings: { exchange: 'BSE' },
    },
  ])('are stored if $what', async ({ evening, settings }) => {
    const { script } = await twoEvenings(evening, settings)
    expect(script.problems.filter(({ code }) => code === 'witness')).toEqual([])
    expect(script.outcome).toBe('success')
  })
})

describe('the members of an index', () => {
  const list = (...symbols: readonly string[]): string =>
    `Company Name,Industry,Symbol,Series,ISIN Code\n${symbols.map((symbol) => `${symbol} Ltd.,Power,${symbol},EQ,INE000${symbol}01\n`).join('')}`
  const members = (files: MemoryFiles, day: string, ...symbols: readonly string[]) =>
    collect({
      stream: 'index-members',
      files,
      asOf: toInstant(day, '20:00'),
      answer: () => list(...symbols),
      accept: ['shrink'],
    })
  const spells = (text = '[]') =>
    (jsonOf(text) as readonly Record<string, string>[]).map(({ Index, Symbol: symbol, Since, Until }) => [
      Index,
      symbol,
      Since,
      Until,
    ])

  it('have the day on which they came and the day on which they were gone, also when they come back', async () => {
    const files: MemoryFiles = new Map()
    await members(files, '2026-02-10', 'A', 'B')
    await members(files, '2026-02-11', 'A', 'C')
    await members(files, '2026-02-11', 'A', 'C')
    const { text } = await members(files, '2026-02-12', 'A', 'B')
    expect(spells(text('index_members/nifty500.json'))).toEqual([
      ['NIFTY 500', 'A', '2026-02-10', null],
      ['NIFTY 500', 'B', '2026-02-12', null],
      ['NIFTY 500', 'C', '2026-02-11', '2026-02-12'],
      ['NIFTY 500', 'B', '2026-02-10', '2026-02-11'],
    ])
  })

  it('stay in it with another ISIN of the same issuer, if the symbol is the same', async () => {
    const files: MemoryFiles = new Map()
    await members(files, '2026-02-10', 'A', 'B')
    const { text } = await collect({
      stream: 'index-members',
      files,
      asOf: toInstant('2026-02-11', '20:00'),
      answer: () => list('A', 'B').replace('INE000A01', 'INE000A02'),
    })
    const file = text('index_members/nifty500.json') ?? ''
    expect(spells(file).map((spell) => spell.slice(1))).toEqual([
      ['A', '2026-02-10', null],
      ['B', '2026-02-10', null],
    ])
    expect(file).toContain('INE000A02')
  })

  it('stay as they are if a list has shrunk', async () => {
    const files: MemoryFiles = new Map()
    await members(files, '2026-02-10', 'A', 'B', 'C', 'D')
    const { script, text } = await collect({ stream: 'index-members', files, answer: () => list('A') })
    expect(script.outcome).toBe('failed')
    expect(spells(text('index_members/nifty50.json'))).toHaveLength(4)
  })
})
