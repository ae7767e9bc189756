import { lastValueFrom, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Candle } from '../../src/model/candle.js'
import { toInstant } from '../../src/model/trading-day.js'
import type { Tools } from '../../src/pipeline/define-stream.js'
import { checkNewCandles, pairWithPrevious } from '../../src/pipeline/full-history.js'
import type { Series } from '../../src/pipeline/stored-candles.js'

const DAY = 86_400
const FIRST = toInstant('2026-02-02') / 1_000
const flat = (price: number, place: number): Candle => [FIRST + place * DAY, price, price, price, price, 1]

const checking = async (candles: readonly Candle[], series: Partial<Series> = {}, accepts = false) => {
  const notices: string[] = []
  const tools = { accepts: () => accepts, warn: (text: string) => void notices.push(text) } as unknown as Tools
  await lastValueFrom(checkNewCandles(pairWithPrevious(candles), series as Series, tools))
  return notices
}

describe('new candles', () => {
  it('pass if each one is plausible, or if there is none', async () => {
    expect(await checking([flat(100, 0), flat(120, 1), flat(90, 2)])).toEqual([])
    expect(await checking([])).toEqual([])
  })

  it('are refused for any of them, by its day', async () => {
    await expect(checking([flat(100, 0), flat(0, 1), flat(90, 2)])).rejects.toMatchObject({
      code: 'prices',
      message: 'prices: a new candle is impossible (2026-02-03: a price that is not above zero: open 0, high 0, low 0, close 0)',
    })
    await expect(checking([flat(100, 0), flat(101, 1), flat(10_000, 2)])).rejects.toMatchObject({
      message: 'prices: a new candle has an unexplained price jump (2026-02-04: from a close of 101 to 10000)',
    })
  })

  it('are refused if two of them, or one of them and the stored one, are of one day', async () => {
    const later = (place: number): Candle => [FIRST + place * DAY + 3_600, 100, 100, 100, 100, 1]
    await expect(checking([flat(100, 0), flat(100, 1), later(1)])).rejects.toMatchObject({
      code: 'prices',
      message: 'prices: two candles of 2026-02-03',
    })
    await expect(checking([flat(100, 0), later(0)])).rejects.toMatchObject({ message: 'prices: two candles of 2026-02-02' })
    // The newest candle again, while its session lasts.
    expect(await checking([flat(100, 0), flat(101, 0)])).toEqual([])
  })

  it('pass with a warning if the run accepts them', async () => {
    expect(await checking([flat(100, 0), flat(0, 1)], {}, true)).toEqual([expect.stringMatching(/^accepted although a new candle is/)])
  })

  it('are the last thirty at most; earlier ones are history', async () => {
    const more = Array.from({ length: 30 }, (_, place) => flat(100, place + 2))
    expect(await checking([flat(1, 0), flat(0, 1), ...more])).toEqual([])
    await expect(checking([flat(1, 0), flat(0, 1), ...more.slice(1)])).rejects.toMatchObject({ code: 'prices' })
  })

  it('may move by any factor with a corporate action, searched from 4 days before', async () => {
    const since: string[] = []
    const movedSince = (day: string) => {
      since.push(day)
      return of('demerger on 2026-02-03')
    }
    expect(await checking([flat(100, 0), flat(5, 1)], { findPriceAction: movedSince })).toEqual([])
    expect(since).toEqual(['2026-01-29'])
    await expect(checking([flat(100, 0), flat(5, 1)], { findPriceAction: () => of(undefined) })).rejects.toMatchObject({ code: 'prices' })
  })

  it('of an index may lack the fields that the previous one lacks', async () => {
    const closeOnly = (place: number): Candle => [FIRST + place * DAY, 0, 0, 0, 2_500, 0]
    await expect(checking([flat(2_500, 0), closeOnly(1)], { isIndex: true })).rejects.toMatchObject({ code: 'prices' })
    const pairs = pairWithPrevious([closeOnly(1)], closeOnly(0))
    const tools = { accepts: () => false, warn: () => undefined } as unknown as Tools
    expect(await lastValueFrom(checkNewCandles(pairs, { isIndex: true } as Series, tools))).toBeUndefined()
    await expect(lastValueFrom(checkNewCandles(pairs, {} as Series, tools))).rejects.toMatchObject({ code: 'prices' })
  })
})
