import { identity } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { checkNewCandles, pairWithPrevious } from '../../src/market/candle-rules.js'
import type { PriceAction } from '../../src/market/price-actions.js'
import type { Candle } from '../../src/model/candle.js'
import { toInstant } from '../../src/model/trading-day.js'

const DAY = 86_400
const FIRST = toInstant('2026-02-02') / 1_000
const flat = (price: number, place: number): Candle => [FIRST + place * DAY, price, price, price, price, 1]

interface Given {
  readonly before?: Candle
  readonly isIndex?: boolean
  readonly actions?: readonly PriceAction[]
  readonly accepts?: boolean
}

/** The warnings. */
const check = (
  candles: readonly Candle[],
  { before, isIndex = false, actions = [], accepts = false }: Given = {},
) => {
  const warnings: string[] = []
  const tools = {
    pause: identity,
    accepts: () => accepts,
    warn: (text: string) => void warnings.push(text),
    asOf: toInstant('2026-03-20'),
  }
  checkNewCandles(pairWithPrevious(candles, before), { series: { isIndex }, tools, actions })
  return warnings
}
const failure = (candles: readonly Candle[], given?: Given): unknown => {
  try {
    return check(candles, given)
  } catch (error) {
    return error
  }
}

describe('new candles', () => {
  it('pass if each one is plausible, or if there is none', () => {
    expect(check([flat(100, 0), flat(120, 1), flat(90, 2)])).toEqual([])
    expect(check([])).toEqual([])
  })

  it('are refused for any of them, by its day', () => {
    expect(failure([flat(100, 0), flat(0, 1), flat(90, 2)])).toMatchObject({
      code: 'prices',
      message:
        'prices: a new candle is impossible (2026-02-03: a price that is not above zero: open 0, high 0, low 0, close 0)',
    })
    expect(failure([flat(100, 0), flat(101, 1), flat(10_000, 2)])).toMatchObject({
      message:
        'prices: a new candle has an unexplained price jump (2026-02-04: from a close of 101 to 10,000)',
    })
  })

  it('are refused if two of them, or one of them and the stored one, are of one day', () => {
    const later = (place: number): Candle => [FIRST + place * DAY + 3_600, 100, 100, 100, 100, 1]
    expect(failure([flat(100, 0), flat(100, 1), later(1)])).toMatchObject({
      code: 'prices',
      message: 'prices: two candles of 2026-02-03',
    })
    expect(failure([flat(100, 0), later(0)])).toMatchObject({ message: 'prices: two candles of 2026-02-02' })
    // The newest candle again, while its session lasts.
    expect(check([flat(100, 0), flat(101, 0)])).toEqual([])
  })

  it('pass with a warning if the run accepts them', () => {
    expect(check([flat(100, 0), flat(0, 1)], { accepts: true })).toEqual([
      expect.stringMatching(/^accepted although a new candle is/),
    ])
  })

  it('are the last thirty at most; earlier ones are history', () => {
    const more = Array.from({ length: 30 }, (_, place) => flat(100, place + 2))
    expect(check([flat(1, 0), flat(0, 1), ...more])).toEqual([])
    expect(failure([flat(1, 0), flat(0, 1), ...more.slice(1)])).toMatchObject({ code: 'prices' })
  })

  it('may move by any factor with a corporate action, searched from 4 days before', () => {
    const actionOn = (on: string): Given => ({
      actions: [{ kind: 'demerger', divides: false, on, factors: [] }],
    })
    expect(check([flat(100, 0), flat(5, 1)], actionOn('2026-01-29'))).toEqual([])
    expect(check([flat(100, 0), flat(5, 1)], actionOn('2026-03-20'))).toEqual([])
    for (const given of [{}, actionOn('2026-01-28'), actionOn('2026-03-21')])
      expect(failure([flat(100, 0), flat(5, 1)], given)).toMatchObject({ code: 'prices' })
  })

  it('of an index may lack the fields that the previous one lacks', () => {
    const closeOnly = (place: number): Candle => [FIRST + place * DAY, 0, 0, 0, 2_500, 0]
    expect(failure([flat(2_500, 0), closeOnly(1)], { isIndex: true })).toMatchObject({ code: 'prices' })
    expect(check([closeOnly(1)], { before: closeOnly(0), isIndex: true })).toEqual([])
    expect(failure([closeOnly(1)], { before: closeOnly(0) })).toMatchObject({ code: 'prices' })
  })

  const late = (on: string, factors: readonly number[]): PriceAction => ({
    kind: 'consolidation',
    divides: false,
    on,
    factors,
  })
  it.each([
    {
      what: 'consolidation of three weeks ago',
      on: '2026-01-13',
      factors: [0.1],
      price: 1_010,
      isRefused: false,
    },
    {
      what: 'consolidation of six weeks ago',
      on: '2025-12-20',
      factors: [0.1],
      price: 1_010,
      isRefused: true,
    },
    { what: 'other factor', on: '2026-01-13', factors: [0.2], price: 1_010, isRefused: true },
    {
      what: 'factor in the other order',
      on: '2026-01-13',
      factors: [10, 0.1],
      price: 1_010,
      isRefused: true,
    },
  ])('that jump by a $what are refused: $isRefused', ({ on, factors, price, isRefused }) => {
    const found = failure([flat(101, 0), flat(price, 1)], { actions: [late(on, factors)] })
    expect(found instanceof Error).toBe(isRefused)
  })

  it('that jump by two late actions together are stored', () => {
    const actions = [late('2026-01-13', [2]), late('2026-01-14', [5])]
    expect(check([flat(1_010, 0), flat(101, 1)], { actions })).toEqual([])
  })
})
