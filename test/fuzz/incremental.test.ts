import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { addDays, type Day, toDay, toInstant } from '../../src/model/trading-day.js'
import { ALPHA, collect, type SentRequest } from '../streams/support.js'

const FILE = 'ohlcv_data/ALPHA.csv'
const FIRST_DAY = '2026-01-01'

/** What a day ends with, in paise and shares, and by how much its volume is revised the next morning. */
interface Session {
  readonly day: Day
  readonly close: number
  readonly swing: number
  readonly volume: number
  readonly revision: number
}

interface Split {
  readonly on: Day
  readonly factor: number
}

interface History {
  readonly sessions: readonly Session[]
  readonly splits: readonly Split[]
}

/**
 * The candle of a session as a provider answers it at an instant: adjusted for every split since, and under
 * way until 15:30.
 */
const candleAt = (
  { day, close, swing, volume, revision }: Session,
  splits: readonly Split[],
  now: number,
): readonly number[] => {
  const factor = splits
    .filter(({ on }) => day < on && now >= toInstant(on, '09:00'))
    .reduce((all, one) => all * one.factor, 1)
  const share = now < toInstant(day, '15:30') ? 0.4 : 1
  const shares = now >= toInstant(addDays(day, 1), '09:00') ? volume + revision : volume
  const prices = [close - swing, close + swing, close - 2 * swing, close - swing + 1.5 * swing * share]
  return [
    toInstant(day) / 1_000,
    ...prices.map((paise) => Math.round(paise / factor) / 100),
    Math.floor(shares * share) * factor,
  ]
}

const COLUMNS = ['Time', 'o', 'h', 'l', 'c', 'v'] as const

const candles = ({ sessions, splits }: History, now: number, { body }: SentRequest): unknown => {
  const { START, END } = body as { readonly START: number; readonly END: number }
  const rows = sessions
    .filter(
      ({ day }) =>
        toInstant(day) / 1_000 >= START && toInstant(day) / 1_000 <= END && now >= toInstant(day, '09:15'),
    )
    .map((session) => candleAt(session, splits, now))
  return {
    success: true,
    data: Object.fromEntries(COLUMNS.map((name, place) => [name, rows.map((row) => row[place])])),
  }
}

const actions = ({ splits }: History, now: number, { body }: SentRequest): unknown => {
  const isPast = JSON.stringify(body).includes('"LT"')
  const rows = splits.filter(({ on }) => on < toDay(now) === isPast)
  return { data: rows.map(({ on }) => ({ Sym: 'ALPHA', CorpAct: [{ ActType: 'SPLIT', ExDate: on }] })) }
}

/** What happens to the file before a run, by `at` in [0, 1). */
type Damage = (text: string, at: number) => string

const lineEnd = (text: string, at: number): number => text.indexOf('\n', Math.floor(at * (text.length - 1)))
const rowsOf = (text: string): readonly string[] => text.split('\n').slice(1, -1)
const under = (text: string, rows: readonly string[]): string =>
  [text.split('\n', 1)[0], ...rows, ''].join('\n')

const damages: Readonly<Record<string, Damage>> = {
  none: (text) => text,
  torn: (text, at) => text.slice(0, Math.floor(at * text.length)),
  tornAtTheEnd: (text, at) => text.slice(0, text.length - Math.ceil(at * 20)),
  shortLastLine: (text, at) => `${text.slice(0, text.lastIndexOf(',') - Math.floor(at * 20))}\n`,
  joinedLines: (text, at) => text.slice(0, lineEnd(text, at)) + text.slice(lineEnd(text, at) + 1),
  reversed: (text) => under(text, rowsOf(text).toReversed()),
  doubled: (text, at) =>
    under(text, [...rowsOf(text), rowsOf(text)[Math.floor(at * rowsOf(text).length)] ?? '']),
  zeros: (text, at) =>
    text.slice(0, Math.floor(at * text.length)) + '\0'.repeat(text.length - Math.floor(at * text.length)),
  lineEnds: (text) => text.replaceAll('\n', '\r\n'),
  mark: (text) => `\ufeff${text}`,
  headless: (text) => text.slice(text.indexOf('\n') + 1),
}

interface RunCase {
  /** Days since the run before. */
  readonly after: number
  readonly time: string
  /** Whether each answer is lost; later ones arrive. */
  readonly losses: readonly boolean[]
  readonly hasActions: boolean
  readonly damage: keyof typeof damages
  readonly at: number
}

const session = fc.record({
  isOpen: fc.boolean(),
  // No move from one close to the next is one that only an error makes.
  close: fc.integer({ min: 20_000, max: 60_000 }),
  swing: fc.integer({ min: 4, max: 400 }).map((swing) => swing * 2),
  volume: fc.integer({ min: 0, max: 1_000_000 }),
  revision: fc.oneof(fc.constant(0), fc.nat(500)),
})
const DAYS = 40
const history: fc.Arbitrary<History> = fc.record({
  // Any day may have a session, weekends too, and any may be a holiday.
  sessions: fc
    .array(session, { minLength: DAYS, maxLength: DAYS })
    .map((all) =>
      all.map((one, place) => ({ ...one, day: addDays(FIRST_DAY, place) })).filter(({ isOpen }) => isOpen),
    ),
  splits: fc.array(
    fc.record({
      on: fc.integer({ min: 1, max: DAYS }).map((place) => addDays(FIRST_DAY, place)),
      factor: fc.constantFrom(2, 5),
    }),
    {
      maxLength: 2,
    },
  ),
})
const run: fc.Arbitrary<RunCase> = fc.record({
  after: fc.constantFrom(0, 0, 1, 1, 2, 5),
  time: fc.constantFrom('08:00', '09:05', '11:00', '15:29', '15:30', '20:00', '21:00'),
  losses: fc.array(fc.boolean(), { maxLength: 2 }),
  hasActions: fc.boolean(),
  damage: fc.oneof(
    { weight: 3, arbitrary: fc.constant('none') },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(damages)) },
  ),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})

/** Damages the stored file as something does that dates it anew. */
const damage = (files: MemoryFiles, { damage, at }: RunCase): void => {
  const stored = files.get(FILE)
  if (stored === undefined || damage === 'none') return
  files.set(FILE, { text: damages[damage]?.(stored.text, at) ?? '', asOf: (stored.asOf ?? 0) + 1_000 })
}

const collected = (
  history: History,
  asOf: number,
  files: MemoryFiles,
  { losses, hasActions }: Pick<RunCase, 'losses' | 'hasActions'>,
) => {
  const left = [...losses]
  return collect({
    stream: 'all-ohlcv',
    only: ['all-ohlcv', ...(hasActions ? ['corporate-actions'] : [])],
    master: [ALPHA],
    answer: (request) => {
      if (left.shift()) return 404
      return request.path.startsWith('/ticks')
        ? candles(history, asOf, request)
        : actions(history, asOf, request)
    },
    files,
    asOf,
  })
}

const whole = { losses: [], hasActions: false }

describe('candles that are collected day by day', () => {
  it('are those that one run collects, whatever happened in between', async () => {
    const seen = { rewritten: 0, lost: 0, continued: 0, skipped: 0, empty: 0 }
    const property = fc.asyncProperty(
      history,
      fc.array(run, { minLength: 1, maxLength: 10 }),
      async (history, runs) => {
        const files: MemoryFiles = new Map()
        let day = addDays(FIRST_DAY, 3)
        let asOf = 0
        for (const [place, one] of runs.entries()) {
          day = addDays(day, one.after)
          asOf = Math.max(asOf, toInstant(day, one.time))
          damage(files, one)
          const { script } = await collected(
            history,
            asOf,
            files,
            place === runs.length - 1 ? { ...one, losses: [] } : one,
          )
          if (place < runs.length - 1) seen.lost += script.items.error + (script.items.http_404 ?? 0)
          else expect(script).toMatchObject({ outcome: 'success', items: { error: 0 } })
          seen.rewritten += script.rewritten?.length ?? 0
          seen.continued += script.items.success
          seen.skipped += script.items.skipped
          seen.empty += script.items.empty
        }
        const atOnce = await collected(history, asOf, new Map(), whole)
        expect(files.get(FILE)?.text).toBe(atOnce.text(FILE))
      },
    )
    // The same histories each time, so that none of the kinds counted below is missing by chance.
    await fc.assert(property, { numRuns: 150, seed: 20_260_211 })
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5)
  })
})
