import { describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../sinks/memory.js'
import { type Collecting, collect, EVENING } from './support.js'

const COUNT = 60
const DAY = 86_400
const FIRST = Date.parse('2025-12-15T00:00:00+05:30') / 1_000

type Columns = Record<'Time' | 'o' | 'h' | 'l' | 'c' | 'v', number[]>

const columns = (): Columns => {
  const prices = () => Array.from({ length: COUNT }, () => 100)
  const Time = Array.from({ length: COUNT }, (_, place) => FIRST + place * DAY)
  return { Time, o: prices(), h: prices(), l: prices(), c: prices(), v: Time.map(() => 1_000) }
}

/** A candle one hour after another one, on the same day. */
const repeat =
  (place: number) =>
  (all: Columns): void => {
    for (const [name, column] of Object.entries(all))
      column.splice(place + 1, 0, (column[place] as number) + (name === 'Time' ? 3_600 : 0))
  }

/** The first download of ALPHA, with a change; BETA has right candles. */
const download = async (change: (all: Columns) => void, more: Partial<Collecting> = {}) => {
  const answer: Collecting['answer'] = ({ body }) => {
    const data = columns()
    if ((body as { readonly SYM: string }).SYM === 'ALPHA') change(data)
    return { success: true, data }
  }
  const { script, report, text } = await collect({ stream: 'all-ohlcv', answer, ...more })
  const { code, reason } = script.problems[0] ?? {}
  return { report, code, reason, alpha: text('ohlcv_data/ALPHA.csv'), beta: text('ohlcv_data/BETA.csv') }
}

describe('a first download of candles', () => {
  it.each([
    { what: 'a volume with a fraction', change: ({ v }: Columns) => v.splice(3, 1, 3_092_463.25) },
    { what: 'a volume of 1e300', change: ({ v }: Columns) => v.splice(3, 1, 1e300) },
    { what: 'a volume beyond 2^53', change: ({ v }: Columns) => v.splice(3, 1, 2 ** 53) },
    { what: 'a price of 1e300', change: ({ h }: Columns) => h.splice(3, 1, 1e300) },
  ])('refuses a candle with $what alone, and says so', async ({ change }) => {
    const { report, reason, alpha, beta } = await download(change, { accept: ['prices'] })
    expect(report.outcome).toBe('complete')
    expect(reason).toContain('1 candle refused: ALPHA 2025-12-18 (')
    expect([alpha, beta].map((file) => file?.split('\n').length)).toEqual([COUNT + 1, COUNT + 2])
  })

  it.each([
    {
      what: 'a negative volume',
      change: ({ v }: Columns) => v.splice(3, 1, -5),
      says: 'the history has volume -5 on 2025-12-18',
    },
    {
      what: 'two new candles of a day',
      change: repeat(COUNT - 2),
      says: 'the history has two candles of 2026-02-11',
    },
  ])('refuses $what, unless the run accepts it', async ({ change, says }) => {
    const refused = await download(change)
    expect(refused).toMatchObject({
      code: 'prices',
      reason: `prices: ${says}`,
      alpha: undefined,
      report: { outcome: 'partial' },
    })
    const accepted = await download(change, { accept: ['prices'] })
    expect(accepted.report.outcome).toBe('complete')
    expect(accepted.alpha).toBeDefined()
  })

  it('stores older days with two candles as served', async () => {
    const unusual = ({ v }: Columns): void => void v.splice(3, 1, 2 ** 52)
    for (const change of [() => undefined, unusual]) {
      const served = await download((all) => {
        change(all)
        repeat(10)(all)
      })
      expect([served.report.outcome, served.alpha?.split('\n').length]).toEqual(['complete', COUNT + 3])
    }
  })
})

describe('a history that is fetched again', () => {
  const halved = (all: Columns): void => {
    for (const name of ['o', 'h', 'l', 'c'] as const) all[name] = all[name].map((price) => price / 2)
  }
  const twice = repeat(COUNT - 5)

  it('is refused with a day that has two candles now, and stored if it had two before', async () => {
    for (const hadTwo of [false, true]) {
      const files: MemoryFiles = new Map()
      await download(hadTwo ? twice : () => undefined, {
        files,
        asOf: EVENING - DAY * 1_000,
        accept: ['prices'],
      })
      const { report, reason } = await download(
        (all) => {
          halved(all)
          twice(all)
        },
        { files },
      )
      expect(report.outcome).toBe(hadTwo ? 'complete' : 'partial')
      expect(reason).toBe(hadTwo ? undefined : 'prices: the history has two candles of 2026-02-08')
    }
  })
})
