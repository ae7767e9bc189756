import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { isTurn } from '../../src/market/calendar.js'
import { addDays, type Day, toInstant } from '../../src/model/trading-day.js'
import { type Collecting, collect, type SentRequest, stockNamed } from './support.js'

const ALL = 215_634_600
const isWeekend = (day: Day): boolean => [0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay())
const FIRST = '2026-01-01'
/** The sessions after the first run. */
const sessions = Array.from({ length: 28 }, (_, place) => addDays('2026-02-12', place + 1)).filter(
  (day) => !isWeekend(day),
)

/** A day, and the close of a stock. Moves by up to 3 % a day, as no other stock does. */
type Closes = ReadonlyMap<Day, number>
const closesOf = (sid: number, from: Day = FIRST): Closes => {
  let [seed, close] = [sid * 7_919, 100 + (sid % 100)]
  const all = new Map<Day, number>()
  for (let day = FIRST; day <= '2026-03-12'; day = addDays(day, 1)) {
    if (isWeekend(day)) continue
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    close = Math.round(close * (1 + (((seed >>> 12) % 60) - 30) / 1_000) * 100) / 100
    if (day >= from) all.set(day, close)
  }
  return all
}
const changed = (closes: Closes, change: (close: number, day: Day) => number): Closes =>
  new Map([...closes].map(([day, close]) => [day, change(close, day)]))
const halvedUntil = (end: Day) => (closes: Closes) =>
  changed(closes, (close, day) => (day <= end ? Math.round(close * 50) / 100 : close))

const inOneCandle = (closes: Closes) =>
  changed(closes, (close, day) => (day === '2026-01-14' ? close + 3 : close))

/** What the provider has of a stock. */
type History = (sid: number) => Closes

const answerOf =
  (history: History): Collecting['answer'] =>
  ({ path, body }: SentRequest) => {
    if (!path.startsWith('/ticks')) return { data: [] }
    const { SEC_ID, START, END } = body as {
      readonly SEC_ID: string
      readonly START: number
      readonly END: number
    }
    const candles = [...history(Number(SEC_ID))].map(
      ([day, close]) => [toInstant(day) / 1_000, close] as const,
    )
    const served = candles.filter(([time]) => time >= START && time <= END)
    const [Time, c] = [served.map(([time]) => time), served.map(([, close]) => close)]
    return { data: { Time, o: c, h: c, l: c, c, v: c.map(() => 1_000) } }
  }

const masterOf = (count: number) =>
  Array.from({ length: count }, (_, place) => stockNamed(`S${place}`, place))

const evening = (day: Day): number => toInstant(day, '20:00')
const fileOf = (symbol: string): string => `ohlcv_data/${symbol}.csv`
const run = async (
  day: Day,
  files: MemoryFiles,
  count: number,
  history: History,
  more: Partial<Collecting> = {},
) => {
  const options = { stream: 'all-ohlcv', master: masterOf(count), files, asOf: evening(day), ...more }
  const { script, requests } = await collect({ ...options, answer: answerOf(history) })
  const sent = requests
    .filter(({ path }) => path.startsWith('/ticks'))
    .map(({ body }) => body as { SYM: string; START: number })
  return { script, sent, whole: sent.filter(({ START }) => START === ALL).map(({ SYM }) => SYM) }
}

/** The files of a first run. */
const firstRun = async (count: number, history: History = closesOf): Promise<MemoryFiles> => {
  const files: MemoryFiles = new Map()
  await run('2026-02-12', files, count, history)
  return files
}
const linesIn = (files: MemoryFiles, symbol: string): string => files.get(fileOf(symbol))?.text ?? ''

describe('daily runs over unchanged histories', () => {
  it('send one request per stock, and compare each history once in 20 sessions', async () => {
    const files = await firstRun(12)
    const compared: string[] = []
    for (const day of sessions) {
      const before = new Map([...files].map(([file, { text }]) => [file, text]))
      const { script, sent, whole } = await run(day, files, 12, closesOf)
      expect(sent).toHaveLength(12)
      expect(script).toMatchObject({ items: { success: 12 }, problems: [] })
      expect(script).not.toHaveProperty('rewritten')
      for (const symbol of whole)
        expect(linesIn(files, symbol).startsWith(before.get(fileOf(symbol)) ?? '?')).toBe(true)
      compared.push(...whole)
    }
    expect(sessions).toHaveLength(20)
    expect(compared.sort()).toEqual(
      masterOf(12)
        .map(({ Sym }) => Sym)
        .sort(),
    )
  })
})

describe('a history that the provider rewrote behind the newest stored candle', () => {
  const cases: readonly {
    readonly what: string
    readonly rewrite: (closes: Closes) => Closes
    readonly reason: RegExp
  }[] = [
    {
      what: 'by a factor',
      rewrite: halvedUntil('2026-02-10'),
      reason: /^history fetched again: 29 of \d+ earlier candles differ, from 2026-01-01 on/,
    },
    {
      what: 'in one candle',
      rewrite: inOneCandle,
      reason: /^history fetched again: 1 of \d+ earlier candles differ, from 2026-01-14 on/,
    },
  ]
  it.each(cases)('is found within 20 sessions and replaced: $what', async ({ rewrite, reason }) => {
    const files = await firstRun(12)
    const history: History = (sid) => (sid === 1_007 ? rewrite(closesOf(sid)) : closesOf(sid))
    const found: unknown[] = []
    for (const day of sessions) {
      const { script, sent } = await run(day, files, 12, history)
      expect(sent).toHaveLength(12)
      expect(script).toMatchObject({ outcome: 'success', items: { success: 12 } })
      found.push(...(script.rewritten ?? []))
    }
    expect(found).toEqual([{ item: 'S7', reason: expect.stringMatching(reason) }])
    const other: MemoryFiles = new Map()
    await run(sessions.at(-1) as Day, other, 12, history)
    expect(linesIn(files, 'S7')).toBe(linesIn(other, 'S7'))
  })

  it('is also replaced if the provider has candles that are not stored, but not if it lacks stored ones', async () => {
    const half: History = (sid) => closesOf(sid, '2026-01-19')
    for (const [stored, now, rewritten] of [
      [half, closesOf, true] as const,
      [closesOf, half, false] as const,
    ]) {
      const files = await firstRun(1, stored)
      const [, first] = linesIn(files, 'S0').split('\n')
      for (const day of sessions) await run(day, files, 1, now)
      expect(linesIn(files, 'S0').split('\n')[1] === first).toBe(!rewritten)
      expect(linesIn(files, 'S0').trim().split('\n')).toHaveLength(1 + closesOf(1_000).size)
    }
  })
})

describe('many histories that changed at once', () => {
  it.each([
    { what: 'all old candles', rewrite: halvedUntil('2026-02-10') },
    { what: 'one old candle each', rewrite: inOneCandle },
  ])(
    'are refused, so that an error of the provider in $what replaces no good history, unless that is accepted',
    async ({ rewrite }) => {
      const [count, day] = [120, sessions[0] as Day]
      const files = await firstRun(count)
      const before = new Map([...files].map(([file, { text }]) => [file, text]))
      const wrong: History = (sid) => rewrite(closesOf(sid))
      const { script, whole } = await run(day, files, count, wrong)
      expect(whole.length).toBeGreaterThan(5)
      expect(script.items).toMatchObject({ error: whole.length, success: count - whole.length })
      expect([...new Set(script.problems.map(({ code }) => code))]).toEqual(['rescale'])
      for (const symbol of whole) expect(linesIn(files, symbol)).toBe(before.get(fileOf(symbol)))

      const accepted = await run(day, files, count, wrong, { accept: ['rescale'] })
      expect(accepted.whole).toEqual(whole)
      expect(accepted.script.rewritten).toHaveLength(whole.length)
    },
  )
})

describe('the turn of a series', () => {
  const names = Array.from({ length: 2_775 }, (_, place) => fileOf(`STOCK${place}`))
  const due = (newest: Day, today: Day): readonly string[] =>
    names.filter((name) => isTurn(name, newest, today))

  it('comes for about a twentieth of them on each weekday, and for none on a weekend or twice on one day', () => {
    for (const day of sessions) {
      const share = due(addDays(day, new Date(day).getUTCDay() === 1 ? -3 : -1), day).length
      expect(share).toBeGreaterThan(100)
      expect(share).toBeLessThan(180)
    }
    expect(due('2026-02-13', '2026-02-15')).toEqual([])
    expect(due('2026-02-13', '2026-02-13')).toEqual([])
  })

  it('comes once in 20 sessions also with a run a week, and for a quarter of them after a long pause', () => {
    const fridays = ['2026-02-06', '2026-02-13', '2026-02-20', '2026-02-27', '2026-03-06'] as const
    const weekly = fridays.slice(1).flatMap((today, place) => due(fridays[place] as Day, today))
    expect([...weekly].sort()).toEqual([...names].sort())
    expect(due('2025-01-01', '2026-02-13')).toEqual(due('2026-02-06', '2026-02-13'))
  })

  it('is made up for after a day without a new candle', () => {
    expect(due('2026-02-10', '2026-02-12')).toEqual(
      expect.arrayContaining([...due('2026-02-10', '2026-02-11'), ...due('2026-02-11', '2026-02-12')]),
    )
  })
})
