import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { addDays, toInstant } from '../../src/model/trading-day.js'
import { ALPHA, arrayOf, type Collecting, collect, EVENING, type SentRequest, withFile } from './support.js'

const FILE = 'ohlcv_data/ALPHA.csv'
const HISTORY = 'history_corporate_actions.json'
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const ALL = 215_634_600
const TODAY = '2026-02-12'

const midnight = (day: string): number => toInstant(day) / 1_000
const days = (count: number, last = TODAY): readonly string[] =>
  Array.from({ length: count }, (_, back) => addDays(last, back + 1 - count))
const textOf = (all: readonly string[], price: number): string =>
  HEADER + all.map((day) => `${midnight(day)},${price},${price},${price},${price},1000\n`).join('')

/** What a provider answers that has a candle of one price for each day. */
const candlesOf =
  (all: readonly string[], price: number) =>
  ({ body }: SentRequest): unknown => {
    const Time = all.map(midnight).filter((time) => time >= (body as { START: number }).START)
    const [o, v] = [Time.map(() => price), Time.map(() => 1_000)]
    return { data: { Time, o, h: o, l: o, c: o, v } }
  }

const split = (day: string, Sym = 'ALPHA') => ({
  Sym,
  DispSym: Sym,
  CorpAct: [{ ActType: 'SPLIT', ExDate: day, RecDate: day, Note: '1:2' }],
})

/** A run over ten stored days of 100 rupees; the provider has eleven. */
const joined = (price: number, actions: unknown, more: Partial<Collecting> = {}) => {
  const all = days(11)
  return collect({
    stream: 'all-ohlcv',
    only: ['all-ohlcv', 'corporate-actions'],
    master: [ALPHA],
    answer: (request) => (request.path.startsWith('/ticks') ? candlesOf(all, price)(request) : actions),
    files: withFile(FILE, textOf(all.slice(0, 10), 100)),
    ...more,
  })
}

const startsOf = (requests: readonly SentRequest[]): readonly unknown[] =>
  requests
    .filter(({ path }) => path.startsWith('/ticks'))
    .map(({ body }) => (body as { START: number }).START)

describe('candles after a corporate action', () => {
  const reason = `history fetched again: split on ${TODAY}`

  it('are fetched again completely if this run finds a split, and the report names the stock', async () => {
    const { text, requests, report, script } = await joined(50, {
      data: [split(TODAY), split(TODAY, 'BETA')],
    })
    expect(startsOf(requests)).toEqual([ALL])
    expect(text(FILE)).toBe(textOf(days(11), 50))
    expect(script).toMatchObject({ items: { success: 1 }, files: 1, rewritten: [{ item: 'ALPHA', reason }] })
    expect(report.outcome).toBe('complete')
  })

  it.each(['2026-02-10', '2026-02-13'])('are extended if the split is of another time: %s', async (day) => {
    const { text, requests, script } = await joined(100, { data: [split(day)] })
    expect(startsOf(requests)).toEqual([midnight('2026-02-11')])
    expect(text(FILE)).toBe(textOf(days(11), 100))
    expect(script).not.toHaveProperty('rewritten')
  })

  it('use the stored corporate actions if this run does not fetch them', async () => {
    const files = withFile(FILE, textOf(days(10, '2026-02-11'), 100)).set(HISTORY, {
      text: arrayOf(split('2026-02-11')),
    })
    const { requests, text } = await joined(50, undefined, { only: ['all-ohlcv'], files })
    expect(startsOf(requests)).toEqual([ALL])
    expect(text(FILE)).toBe(textOf(days(11), 50))
  })

  it('use the stored corporate actions if fetching them fails', async () => {
    const files = withFile(FILE, textOf(days(10, '2026-02-11'), 100)).set(HISTORY, {
      text: arrayOf(split('2026-02-11')),
    })
    const { requests, script, report } = await joined(50, 404, { files })
    expect(startsOf(requests)).toEqual([ALL])
    expect(script).toMatchObject({ outcome: 'success', rewritten: [{ item: 'ALPHA' }] })
    expect(report.scripts['corporate-actions']?.outcome).toBe('failed')
  })
})

describe('candles that disagree with the stored ones', () => {
  it('are fetched again completely in one step, without a known action', async () => {
    const { text, requests, script } = await joined(50, { data: [] })
    expect(startsOf(requests)).toEqual([midnight('2026-02-11'), midnight('2026-02-10'), ALL])
    expect(text(FILE)).toBe(textOf(days(11), 50))
    expect(script.rewritten).toEqual([
      {
        item: 'ALPHA',
        reason: 'history fetched again: the stored candle of 2026-02-11 differs (open 100, now 50)',
      },
    ])
  })

  it.each([
    { what: 'an outage', answer: 404, items: { http_404: 1 } },
    { what: 'an empty answer', answer: { data: [] }, items: { error: 1 } },
    { what: 'a few candles', answer: candlesOf(days(6), 50), items: { error: 1 } },
  ])('leave the stored ones unchanged on $what', async ({ answer, items }) => {
    const { text, script, report } = await joined(50, undefined, {
      only: ['all-ohlcv'],
      answer: (request) => {
        if ((request.body as { START: number }).START > ALL) return candlesOf(days(11), 50)(request)
        return typeof answer === 'function' ? answer(request) : answer
      },
    })
    expect(text(FILE)).toBe(textOf(days(10, '2026-02-11'), 100))
    expect(script.items).toMatchObject(items)
    expect(script).not.toHaveProperty('rewritten')
    expect(report.outcome).toBe('partial')
    if (items.error)
      expect(script.problems).toMatchObject([{ item: 'ALPHA', reason: expect.stringMatching(/^shrink: /) }])
  })
})

describe('sessions on a weekend', () => {
  it('are stored, and later candles follow them', async () => {
    const all = days(5, '2026-02-16')
    const files: MemoryFiles = new Map()
    for (const day of all) {
      await joined(100, undefined, {
        only: ['all-ohlcv'],
        files,
        asOf: toInstant(day, '20:00'),
        answer: candlesOf(
          all.filter((one) => one <= day),
          100,
        ),
      })
    }
    expect(all.map((day) => new Date(day).getUTCDay())).toEqual([4, 5, 6, 0, 1])
    expect(files.get(FILE)?.text).toBe(textOf(all, 100))
  })
})

describe('a stored file that nothing is wrong with', () => {
  it('is neither written nor counted as fetched if the answer only repeats its last candle', async () => {
    const files = withFile(FILE, textOf(days(11), 100), EVENING)
    const { script, requests } = await joined(100, undefined, {
      only: ['all-ohlcv'],
      files,
      asOf: toInstant('2026-02-14', '12:00'),
    })
    expect(startsOf(requests)).toEqual([midnight(TODAY)])
    expect(script).toMatchObject({ items: { skipped: 1 }, files: 0 })
    expect(files.get(FILE)).toEqual({ text: textOf(days(11), 100), asOf: EVENING })
  })
})
