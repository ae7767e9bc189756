import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { toInstant } from '../../src/model/trading-day.js'
import { ALPHA, BETA, type Collecting, collect, EVENING, withFile } from './support.js'

const FILE = 'ohlcv_data/ALPHA.csv'
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'

const midnight = (day: string): number => toInstant(day) / 1_000
const TUE = midnight('2026-02-10')
const WED = midnight('2026-02-11')
const THU = midnight('2026-02-12')
const FRI = midnight('2026-02-13')

const rowOf = (time: number, close = 10.5): string => `${time},10,11.25,9.5,${close},1000\n`
const fileOf = (...rows: readonly string[]): string => HEADER + rows.join('')

/** An answer with a candle at each time, all of which close at `close`. */
const columns = (times: readonly number[], close = 10.5) => ({
  success: true,
  data: {
    Time: times,
    o: times.map(() => 10),
    h: times.map(() => 11.25),
    l: times.map(() => 9.5),
    c: times.map(() => close),
    v: times.map(() => 1_000),
  },
})

/** Answers with the requested ones of all candles. */
const since =
  ({ data }: { readonly data: Readonly<Record<string, readonly number[]>> }): Collecting['answer'] =>
  ({ body }) => {
    const from = (data.Time ?? []).findIndex((time) => time >= (body as { START: number }).START)
    return {
      data: Object.fromEntries(
        Object.entries(data).map(([name, column]) => [name, from < 0 ? [] : column.slice(from)]),
      ),
    }
  }

const candles = (answer: unknown, more: Partial<Collecting> = {}) =>
  collect({ stream: 'all-ohlcv', answer: () => answer, master: [ALPHA], ...more })

const rangeOf = (body: unknown): unknown => {
  const { START, END } = body as { START: number; END: number }
  return { START, END }
}

describe('all-ohlcv', () => {
  it('requests the full history on the first run, as in the interface document', async () => {
    const { requests } = await candles(columns([THU]))
    const body = {
      EXCH: 'NSE',
      SYM: 'ALPHA',
      SEG: 'E',
      INST: 'EQUITY',
      SEC_ID: '1001',
      EXPCODE: 0,
      INTERVAL: 'D',
      START: 215634600,
      END: EVENING / 1_000,
    }
    expect(requests.map(({ path, body }) => ({ path, body }))).toEqual([{ path: '/ticks/getDataH', body }])
  })

  it('writes a row for each candle under the document’s header', async () => {
    const { text, script } = await candles(columns([TUE, WED]))
    expect(text(FILE)).toBe(fileOf(rowOf(TUE), rowOf(WED)))
    expect(script).toMatchObject({ outcome: 'success', items: { success: 1 }, files: 1 })
  })

  it('sorts candles that come in another order, and writes each day once', async () => {
    const answer = columns([WED, TUE, WED])
    expect((await candles(answer)).text(FILE)).toBe(fileOf(rowOf(TUE), rowOf(WED)))
  })

  it('later requests only the candles from the last stored one on, and appends the new ones', async () => {
    const files = withFile(FILE, fileOf(rowOf(TUE), rowOf(WED)))
    const { text, requests, script } = await candles(columns([WED, THU]), { files })
    expect(requests.map(({ body }) => rangeOf(body))).toEqual([{ START: WED, END: EVENING / 1_000 }])
    expect(text(FILE)).toBe(fileOf(rowOf(TUE), rowOf(WED), rowOf(THU)))
    expect(script).not.toHaveProperty('rewritten')
  })

  it('sends no request and counts the stock as skipped if nothing is missing', async () => {
    const files: MemoryFiles = new Map()
    await candles(columns([WED, THU]), { files })
    const { text, requests, script, report } = await candles(503, {
      files,
      asOf: toInstant('2026-02-12', '23:59'),
    })
    expect(requests).toEqual([])
    expect(script).toMatchObject({ outcome: 'success', items: { skipped: 1 }, requests: 0 })
    expect(report.outcome).toBe('complete')
    expect(text(FILE)).toBe(fileOf(rowOf(WED), rowOf(THU)))
  })

  it.each([
    { fetched: '12:00', start: WED },
    { fetched: '15:29', start: WED },
    { fetched: '15:30', start: THU },
    { fetched: '20:00', start: THU },
  ])(
    'requests candles from $start on if the candle of today was stored at $fetched',
    async ({ fetched, start }) => {
      const files: MemoryFiles = new Map()
      await candles(columns([WED, THU], 9.75), { files, asOf: toInstant('2026-02-12', fetched) })
      const isPartial = start === WED
      const { c, ...others } = columns([WED, THU, FRI]).data
      const has = { ...others, c: [9.75, isPartial ? 10.25 : 9.75, 10.25] }
      const { text, requests } = await candles(undefined, {
        answer: since({ data: has }),
        files,
        asOf: toInstant('2026-02-13', '20:00'),
      })
      expect(requests.map(({ body }) => rangeOf(body))).toEqual([
        { START: start, END: toInstant('2026-02-13', '20:00') / 1_000 },
      ])
      expect(text(FILE)).toBe(
        fileOf(rowOf(WED, 9.75), rowOf(THU, isPartial ? 10.25 : 9.75), rowOf(FRI, 10.25)),
      )
    },
  )

  it('requests an unfinished day again on the same day, and replaces it', async () => {
    const files: MemoryFiles = new Map()
    await candles(columns([WED, THU], 9.75), { files, asOf: toInstant('2026-02-12', '12:00') })
    const { c, ...others } = columns([WED, THU]).data
    const { text } = await candles({ data: { ...others, c: [9.75, 10.25] } }, { files })
    expect(text(FILE)).toBe(fileOf(rowOf(WED, 9.75), rowOf(THU, 10.25)))
  })

  it.each([
    { what: 'empty columns', answer: columns([]) },
    { what: 'an empty object for data', answer: { success: true, data: {} } },
    { what: 'null data', answer: { success: true, data: null } },
    { what: 'no data', answer: { success: true } },
  ])(
    'counts a stock whose answer has $what as empty, keeps its file, and reports the missing join',
    async ({ answer }) => {
      const stored = fileOf(rowOf(TUE))
      const { text, script, report } = await candles(answer, { files: withFile(FILE, stored) })
      expect(script).toMatchObject({ items: { empty: 1 }, degraded: 1 })
      expect(script.problems[0]?.reason).toMatch(
        /^the answer has neither the stored candle of \d{4}-\d{2}-\d{2}/,
      )
      expect(report.outcome).toBe('partial')
      expect(text(FILE)).toBe(stored)
      const first = await candles(answer)
      expect(first.script).toMatchObject({ outcome: 'success', items: { empty: 1 }, degraded: 0 })
      expect(first.text(FILE)).toBeUndefined()
    },
  )

  it.each(['Time', 'o', 'h', 'l', 'c', 'v'])(
    'ends a stock as an error when the column %s is longer than the others or missing',
    async (column) => {
      const { data } = columns([TUE, WED])
      for (const wrong of [[1, 2, 3], [1], [], undefined]) {
        const { text, script, report } = await candles(
          { data: { ...data, [column]: wrong } },
          { files: withFile(FILE, fileOf(rowOf(TUE))) },
        )
        expect(script.items).toMatchObject({ error: 1 })
        expect(script.problems).toMatchObject([
          { item: 'ALPHA', status: 'error', reason: expect.stringContaining('column') },
        ])
        expect(report.outcome).toBe('partial')
        expect(text(FILE)).toBe(fileOf(rowOf(TUE)))
      }
    },
  )

  it('ends a stock as an error when a timestamp is no whole number', async () => {
    const { script, text } = await candles(columns([TUE, WED + 0.5]))
    expect(script.items).toMatchObject({ error: 1 })
    expect(text(FILE)).toBeUndefined()
  })

  it('stores no candle whose timestamp is in milliseconds', async () => {
    const answer = columns([TUE, WED, THU].map((time) => time * 1_000))
    const { text, script } = await candles(answer, { files: withFile(FILE, fileOf(rowOf(TUE))) })
    expect(script.items).toMatchObject({ error: 1 })
    expect(script.error).toContain('not in seconds')
    expect(text(FILE)).toBe(fileOf(rowOf(TUE)))
    expect((await candles(answer)).text(FILE)).toBeUndefined()
  })

  it('never replaces stored candles by an answer that begins before the requested range', async () => {
    const { c, ...others } = columns([TUE, WED, THU]).data
    const { text } = await candles(
      { data: { ...others, c: [9.75, 10.5, 10.25] } },
      { files: withFile(FILE, fileOf(rowOf(TUE), rowOf(WED))) },
    )
    expect(text(FILE)).toBe(fileOf(rowOf(TUE), rowOf(WED), rowOf(THU, 10.25)))
  })

  it('sends no request when the stored candles reach beyond the given now', async () => {
    const { requests, script } = await candles(columns([TUE]), {
      files: withFile(FILE, fileOf(rowOf(THU)), EVENING),
      asOf: toInstant('2026-02-11', '12:00'),
    })
    expect(requests).toEqual([])
    expect(script.items).toMatchObject({ skipped: 1 })
  })

  it('requests each stock by its own Sid', async () => {
    const { requests } = await candles(columns([THU]), { master: [ALPHA, BETA] })
    expect(requests.map(({ body }) => body)).toMatchObject([
      { SYM: 'ALPHA', SEC_ID: '1001' },
      { SYM: 'BETA', SEC_ID: '1002' },
    ])
  })
})
