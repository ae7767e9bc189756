import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { addDays, toInstant } from '../../src/model/trading-day.js'
import { type Collecting, collect, type SentRequest, stockNamed, withFile } from './support.js'

const STOCKS = 30
const TODAY = '2026-02-12'
const YESTERDAY = toInstant('2026-02-11', '20:00')
const master = Array.from({ length: STOCKS }, (_, place) => stockNamed(`S${place}`, place))
const days = Array.from({ length: 60 }, (_, back) => addDays(TODAY, back - 59))

type Columns = Readonly<Record<'Time' | 'o' | 'h' | 'l' | 'c' | 'v', readonly number[]>>

/** Candles of a stock, which move by up to 4 % a day as those of no other do. */
const candlesOf = (sid: number): Columns => {
  let [seed, price] = [sid * 7_919, 100 + (sid % 100)]
  const c = days.map(() => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    price *= 1 + (((seed >>> 12) % 80) - 40) / 1_000
    return Math.round(price * 100) / 100
  })
  const o = c.map((close, place) => c[place - 1] ?? close)
  const [h, l] = [Math.max, Math.min].map((most) => c.map((close, place) => most(close, o[place] as number)))
  return {
    Time: days.map((day) => toInstant(day) / 1_000),
    o,
    h: h as number[],
    l: l as number[],
    c,
    v: c.map(() => 1_000),
  }
}

type Wrong = (columns: Columns, sid: number) => Columns

const times =
  (factor: number): Wrong =>
  ({ Time, v, ...prices }) => {
    const [o, h, l, c] = [prices.o, prices.h, prices.l, prices.c].map((all) =>
      all.map((price) => Math.round(price * factor * 100) / 100),
    )
    return { Time, v, o, h, l, c } as Columns
  }

/** Changes the newest candle. */
const newest =
  (change: (candle: Record<'o' | 'h' | 'l' | 'c' | 'v', number>) => object): Wrong =>
  ({ Time, ...columns }) => {
    const [last, names] = [Time.length - 1, ['o', 'h', 'l', 'c', 'v'] as const]
    const candle = Object.fromEntries(names.map((name) => [name, columns[name][last]])) as Record<
      'o' | 'h' | 'l' | 'c' | 'v',
      number
    >
    const changed: Partial<Record<string, number>> = { ...candle, ...change(candle) }
    return {
      Time,
      ...Object.fromEntries(names.map((name) => [name, columns[name].with(last, changed[name] as number)])),
    } as Columns
  }

/** Changes the last candle of the first day, which the second one must repeat. */
const join =
  (change: (candle: Record<'o' | 'h' | 'l' | 'c', number>) => object): Wrong =>
  ({ Time, ...columns }) => {
    const [place, names] = [Time.length - 2, ['o', 'h', 'l', 'c'] as const]
    const candle = Object.fromEntries(names.map((name) => [name, columns[name][place]])) as Record<
      'o' | 'h' | 'l' | 'c',
      number
    >
    const changed: Partial<Record<string, number>> = { ...candle, ...change(candle) }
    return {
      Time,
      v: columns.v,
      ...Object.fromEntries(names.map((name) => [name, columns[name].with(place, changed[name] as number)])),
    } as Columns
  }

const since =
  (back: number, wrong: Wrong): Wrong =>
  (columns, sid) => {
    const changed = wrong(columns, sid)
    const from = columns.Time.length - back
    return Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [
        name,
        [...column.slice(0, from), ...changed[name as keyof Columns].slice(from)],
      ]),
    ) as unknown as Columns
  }

const shifted: Wrong = (_, sid) => candlesOf(sid === 1_000 + STOCKS - 1 ? 1_000 : sid + 1)

const answerCandles =
  (wrong: Wrong = (columns) => columns, only?: (sid: number) => boolean): Collecting['answer'] =>
  ({ path, body }: SentRequest) => {
    if (!path.startsWith('/ticks')) return { data: [] }
    const { SEC_ID, START, END } = body as {
      readonly SEC_ID: string
      readonly START: number
      readonly END: number
    }
    const sid = Number(SEC_ID)
    const right = candlesOf(sid)
    const until = right.Time.filter((time) => time <= END).length
    const columns = Object.fromEntries(
      Object.entries(right).map(([name, column]) => [name, column.slice(0, until)]),
    ) as unknown as Columns
    const all = until === days.length && (only?.(sid) ?? true) ? wrong(columns, sid) : columns
    const from = all.Time.findIndex((time) => time >= START)
    return {
      data: Object.fromEntries(
        Object.entries(all).map(([name, column]) => [name, from < 0 ? [] : column.slice(from, until)]),
      ),
    }
  }

const run = (answer: Collecting['answer'], files: MemoryFiles, more: Partial<Collecting> = {}) =>
  collect({ stream: 'all-ohlcv', master, answer, files, ...more })

/** The files of a first daily run. */
const firstRun = async (): Promise<MemoryFiles> => {
  const files: MemoryFiles = new Map()
  await run(answerCandles(), files, { asOf: YESTERDAY })
  return files
}

const candlesIn = (files: MemoryFiles) =>
  Object.fromEntries(
    [...files].filter(([file]) => file.startsWith('ohlcv_data/')).map(([file, { text }]) => [file, text]),
  )

/** A second daily run with wrong answers, and the number of failures by code. */
const secondRun = async (answer: Collecting['answer'], more: Partial<Collecting> = {}) => {
  const files = await firstRun()
  const before = candlesIn(files)
  const { script, report } = await run(answer, files, more)
  const codes = [...new Set(script.problems.flatMap(({ code }) => code ?? []))]
  return { before, after: candlesIn(files), script, report, codes, files }
}

describe('a second daily run with right answers', () => {
  it('adds a candle to each file, with one request per stock', async () => {
    const { before, after, script, report } = await secondRun(answerCandles())
    expect(report.outcome).toBe('complete')
    expect(script).toMatchObject({ requests: STOCKS, items: { success: STOCKS }, problems: [] })
    for (const [file, text] of Object.entries(before)) expect(after[file]?.startsWith(text)).toBe(true)
  })
})

describe('a second daily run whose answers are all wrong', () => {
  const cases: readonly { readonly what: string; readonly wrong: Wrong; readonly code: string }[] = [
    { what: 'all prices times 100', wrong: times(100), code: 'rescale' },
    { what: 'all prices times 10', wrong: times(10), code: 'rescale' },
    { what: 'all prices halved', wrong: times(0.5), code: 'rescale' },
    { what: 'all prices divided by 100', wrong: times(0.01), code: 'rescale' },
    { what: 'identifiers shifted by one row', wrong: shifted, code: 'identity' },
    {
      what: 'the newest candle times 100',
      wrong: newest(({ o, h, l, c }) => ({ o: o * 100, h: h * 100, l: l * 100, c: c * 100 })),
      code: 'prices',
    },
    { what: 'the newest close times 100', wrong: newest(({ c }) => ({ c: c * 100 })), code: 'prices' },
    {
      what: 'the newest prices all zero, with a volume',
      wrong: newest(() => ({ o: 0, h: 0, l: 0, c: 0 })),
      code: 'prices',
    },
    {
      what: 'the newest candle negative',
      wrong: newest(({ o, h, l, c }) => ({ o: -o, h: -l, l: -h, c: -c })),
      code: 'prices',
    },
    {
      what: 'the newest high below its low',
      wrong: newest(({ h, l }) => ({ h: l - 0.05, l: h + 0.05 })),
      code: 'prices',
    },
    { what: 'a stored candle whose high is 1', wrong: join(() => ({ h: 1 })), code: 'prices' },
    {
      what: 'a stored candle times 1.2',
      wrong: join(({ o, h, l, c }) => ({ o: o * 1.2, h: h * 1.2, l: l * 1.2, c: c * 1.2 })),
      code: 'rescale',
    },
    { what: 'prices times 1.2 since some day', wrong: since(20, times(1.2)), code: 'rescale' },
    { what: 'the newest candle times 3', wrong: since(1, times(3)), code: 'prices' },
    { what: 'the newest candle halved', wrong: since(1, times(0.5)), code: 'prices' },
    { what: 'the newest volume negative', wrong: newest(({ v }) => ({ v: -v })), code: 'prices' },
  ]

  it.each(cases)('leaves every file unchanged, and reports why: $what', async ({ wrong, code }) => {
    const { before, after, script, report, codes, files } = await secondRun(answerCandles(wrong))
    expect(after).toEqual(before)
    expect(codes).toEqual([code])
    expect(script.items).toMatchObject({ error: STOCKS, success: 0 })
    expect(script).not.toHaveProperty('rewritten')
    expect(report.outcome).toBe('partial')
    // Once the answers are right again, the files are those of two runs with right answers.
    await run(answerCandles(), files)
    expect(candlesIn(files)).toEqual((await secondRun(answerCandles())).after)
  })

  it.each(cases)('stores them if the run accepts it: $what', async ({ wrong, code }) => {
    const { before, after, report } = await secondRun(answerCandles(wrong), { accept: [code as 'prices'] })
    expect(report.outcome).toBe('complete')
    for (const [file, text] of Object.entries(before)) expect(after[file]).not.toBe(text)
  })
})

describe('a second daily run with some wrong answers', () => {
  it('refuses only answers of other stocks', async () => {
    const { before, after, script, codes } = await secondRun(answerCandles(shifted, (sid) => sid < 1_020))
    expect([codes, script.items]).toMatchObject([['identity'], { error: 20, success: 10 }])
    for (const { Sym, Sid } of master)
      expect(after[`ohlcv_data/${Sym}.csv`] === before[`ohlcv_data/${Sym}.csv`]).toBe(Sid < 1_020)
  })

  it('replaces the history of single stocks that were divided, though no action is known', async () => {
    const { script, report } = await secondRun(
      answerCandles(times(0.5), (sid) => [1_003, 1_017].includes(sid)),
    )
    expect(report.outcome).toBe('complete')
    expect(script.rewritten?.map(({ item }) => item).sort()).toEqual(['S17', 'S3'])
  })

  it('accepts the halved candle of a single stock as a move of the market', async () => {
    const { report } = await secondRun(answerCandles(since(1, times(0.5)), (sid) => sid === 1_003))
    expect(report.outcome).toBe('complete')
  })

  it('refuses higher prices of single stocks without a corporate action', async () => {
    const { codes, script } = await secondRun(answerCandles(times(10), (sid) => sid < 1_003))
    expect([codes, script.items]).toMatchObject([['rescale'], { error: 3, success: STOCKS - 3 }])
  })

  it('refuses a single stock whose prices have an impossible factor', async () => {
    const { script, codes } = await secondRun(answerCandles(times(100), (sid) => sid === 1_003))
    expect([codes, script.items]).toMatchObject([['rescale'], { error: 1, success: STOCKS - 1 }])
  })

  it.each([
    { factor: 0.5, code: undefined },
    { factor: 0.001, code: 'rescale' },
  ])('judges the history of a stock with a known split by its factor: $factor', async ({ factor, code }) => {
    const files = await firstRun()
    const split = [{ Sym: 'S3', CorpAct: [{ ActType: 'SPLIT', ExDate: TODAY, RecDate: TODAY, Note: '1:2' }] }]
    files.set('history_corporate_actions.json', { text: JSON.stringify(split), asOf: 0 })
    const { script } = await run(
      answerCandles(times(factor), (sid) => sid === 1_003),
      files,
    )
    expect(script.problems.map((problem) => problem.code)).toEqual(code === undefined ? [] : [code])
  })

  it('replaces histories whose last stored close alone was corrected, however many they are', async () => {
    const corrected: Wrong = ({ c, h, ...others }) => ({
      ...others,
      h: h.map((high) => high + 1),
      c: c.with(-2, (c.at(-2) as number) + 0.5),
    })
    const { script, report } = await secondRun(answerCandles(corrected))
    expect(script).toMatchObject({ items: { success: STOCKS } })
    expect(script.rewritten).toHaveLength(STOCKS)
    expect(report.outcome).toBe('complete')
  })

  it('also checks the newest candles of a full history: new ones, and changed stored ones', async () => {
    const zero = newest(() => ({ o: 0, h: 0, l: 0, c: 0 }))
    const halfThenZero: Wrong = (columns, sid) => zero(times(0.5)(columns, sid), sid)
    const lastTwo: Wrong = (columns) => {
      const wrong = times(100)(columns, 0)
      return Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [
          name,
          [...column.slice(0, -2), ...wrong[name as keyof Columns].slice(-2)],
        ]),
      ) as unknown as Columns
    }
    for (const wrong of [halfThenZero, lastTwo]) {
      const { before, after, codes, script } = await secondRun(answerCandles(wrong, (sid) => sid === 1_003))
      expect([codes, script.items]).toMatchObject([['prices'], { error: 1, success: STOCKS - 1 }])
      expect(after['ohlcv_data/S3.csv']).toBe(before['ohlcv_data/S3.csv'])
    }
  })

  it('accepts a multiple that a known split explains, and no other', async () => {
    const runAgain = async (wrong: Wrong) => {
      const files = await firstRun()
      const splits = JSON.stringify(
        master.map(({ Sym }) => ({ Sym, CorpAct: [{ ActType: 'SPLIT', ExDate: TODAY }] })),
      )
      for (const [file, stored] of withFile('history_corporate_actions.json', splits)) files.set(file, stored)
      return (await run(answerCandles(wrong), files)).script.items
    }
    expect(await runAgain(times(0.1))).toMatchObject({ success: STOCKS, error: 0 })
    expect(await runAgain(times(10))).toMatchObject({ success: 0, error: STOCKS })
  })

  it('accepts a large move that a corporate action explains', async () => {
    const tenth = newest(({ o, h, l, c }) => ({ o: o / 10, h: h / 10, l: l / 10, c: c / 10 }))
    const demerger = [{ Sym: 'S3', CorpAct: [{ ActType: 'DEMERGER', ExDate: TODAY }] }]
    const runAgain = async (actions: readonly unknown[]) => {
      const files = await firstRun()
      for (const [file, stored] of withFile('history_corporate_actions.json', JSON.stringify(actions)))
        files.set(file, stored)
      return (
        await run(
          answerCandles(tenth, (sid) => sid === 1_003),
          files,
        )
      ).script.items
    }
    expect(await runAgain(demerger)).toMatchObject({ success: STOCKS, error: 0 })
    expect(await runAgain([])).toMatchObject({ success: STOCKS - 1, error: 1 })
  })
})

describe('candles that are late', () => {
  const untilYesterday: Wrong = (columns) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [name, column.slice(0, -1)]),
    ) as unknown as Columns
  const endOf = ({ report }: Awaited<ReturnType<typeof run>>) => [
    report.outcome,
    report.newest?.['all-ohlcv'],
    report.stale,
  ]

  it('are dated in the report, and say nothing alone: it may be a holiday', async () => {
    const files: MemoryFiles = new Map()
    expect(endOf(await run(answerCandles(untilYesterday), files))).toEqual([
      'complete',
      '2026-02-11',
      undefined,
    ])
    const second = await run(answerCandles(untilYesterday), files, { asOf: toInstant(TODAY, '22:00') })
    expect([second.script.items.skipped, ...endOf(second)]).toEqual([
      STOCKS,
      'complete',
      '2026-02-11',
      undefined,
    ])
    expect(endOf(await run(answerCandles(), files, { asOf: toInstant(TODAY, '23:00') }))).toEqual([
      'complete',
      TODAY,
      undefined,
    ])
  })

  it('date the market by half of its series', async () => {
    const endIf = async (isLate: (sid: number) => boolean) =>
      endOf(await run(answerCandles(untilYesterday, isLate), new Map()))[1]
    expect(await endIf((sid) => sid < 1_000 + STOCKS / 2)).toBe(TODAY)
    expect(await endIf((sid) => sid <= 1_000 + STOCKS / 2)).toBe('2026-02-11')
  })

  it('have no day where most of the stocks failed', async () => {
    const failed = await run(
      (request) => (/S[67]"/.test(JSON.stringify(request.body)) ? answerCandles()(request) : 404),
      new Map(),
    )
    expect(endOf(failed)).toEqual(['partial', undefined, undefined])
  })
})
