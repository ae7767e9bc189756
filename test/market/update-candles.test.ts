import { identity, lastValueFrom, NEVER, type Observable, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Tools } from '../../src/engine/define-stream.js'
import { oncePerRun } from '../../src/engine/once-per-run.js'
import { createCandleEndpoint } from '../../src/market/candle-answer.js'
import { createCsvCandles } from '../../src/market/candle-file.js'
import type { PriceAction } from '../../src/market/price-actions.js'
import { RefusedError } from '../../src/market/refusal-policy.js'
import { type CandleSeries, updateCandles } from '../../src/market/update-candles.js'
import type { Candle, Candles } from '../../src/model/candle.js'
import { createResult, type ItemResult, skippedResult } from '../../src/model/outcome.js'
import { Settings } from '../../src/model/settings.js'
import { itWithMarbles } from '../support/marbles.js'

const india = (time: string): number => Date.parse(`${time}:00+05:30`)
/** Midnight in India, in seconds, as the provider dates its candles. */
const timeOf = (day: string): number => india(`${day}T00:00`) / 1_000
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'

const ALL = 215_634_600
const wednesday = '2026-02-11'
const thursday = '2026-02-12'
const friday = '2026-02-13'
const evening = (day: string): string => `${day}T20:00`

const candleOn = (
  day: string,
  change: { readonly close?: number; readonly volume?: number } = {},
): Candle => [timeOf(day), 1, 2, 0.5, change.close ?? 1.5, change.volume ?? 100]
const fileOf = (...candles: readonly Candle[]): string =>
  HEADER + candles.map((candle) => `${candle.join(',')}\n`).join('')

const endpoint = createCandleEndpoint('ohlcv', z.literal('EQUITY'))
const instrument = { EXCH: 'NSE', SYM: 'TCS', SEG: 'E', INST: 'EQUITY', SEC_ID: '11536' }
const series: CandleSeries = { endpoint, instrument, file: 'TCS.csv' }

interface Case {
  readonly now: string
  /** What is stored, and when that was written. */
  readonly text?: string
  readonly at?: string
  /** All candles of the provider; without them it returns `answer` for every request. */
  readonly has?: readonly Candle[]
  readonly answer?: Candles
  readonly actions?: readonly PriceAction[]
  readonly lastRun?: string
}

interface Ended {
  readonly found: ItemResult
  readonly starts: readonly number[]
}

const toolsOf = ({ now, text, at, lastRun }: Case, ask: unknown): Tools => {
  const files: MemoryFiles = new Map()
  if (text !== undefined) files.set(series.file, { text, asOf: india(at ?? now) })
  if (lastRun)
    files.set('.scripstream/report.json', {
      text: JSON.stringify({ asOf: new Date(india(lastRun)).toISOString() }),
    })
  const [accepts, warn] = [() => false, () => undefined]
  const { stored } = memory(files)
  return {
    stored,
    shared: oncePerRun(),
    pause: identity,
    ask,
    asOf: india(now),
    accepts,
    warn,
    settings: Settings.parse({}),
  } as unknown as Tools
}

const end = async (one: Case): Promise<Ended> => {
  const starts: number[] = []
  const ask = (_: unknown, { START }: { readonly START: number }) => {
    starts.push(START)
    return of(one.answer ?? (one.has ?? []).filter(([time]) => time >= START))
  }
  const readActions = () => of(one.actions ?? [])
  return { found: await foundOf(updateCandles({ ...series, readActions }, toolsOf(one, ask))), starts }
}

/** The result, without the day of its newest candle. */
const foundOf = async (found$: Observable<ItemResult>): Promise<ItemResult> => {
  const { newest, ...found } = await lastValueFrom(found$)
  return found
}

describe('the requests for candles', () => {
  const two = fileOf(candleOn(wednesday), candleOn(thursday))
  const three = fileOf(candleOn(wednesday), candleOn(thursday), candleOn(friday))
  const cases: readonly (Case & { readonly title: string; readonly starts: readonly number[] })[] = [
    { title: 'is all history where nothing is stored', now: evening(friday), starts: [ALL] },
    {
      title: 'is all history where only the header is stored',
      text: HEADER,
      now: evening(friday),
      starts: [ALL],
    },
    {
      title: 'is nothing in the evening of a day that is stored',
      text: three,
      at: evening(friday),
      now: `${friday}T21:00`,
      starts: [],
    },
    {
      title: 'is nothing where the day was stored the minute its session ended',
      text: three,
      at: `${friday}T15:30`,
      now: `${friday}T15:31`,
      starts: [],
    },
    {
      title: 'begins with the candle before the one that was stored a minute before its session ended',
      text: three,
      at: `${friday}T15:29`,
      now: `${friday}T15:29`,
      starts: [timeOf(thursday)],
    },
    {
      title: 'begins with the candle before the one that was stored under way, however many days later',
      text: two,
      at: `${thursday}T11:00`,
      now: '2026-02-20T20:00',
      starts: [timeOf(wednesday)],
    },
    {
      title: 'begins with the only candle there is, though it was stored under way',
      text: fileOf(candleOn(thursday)),
      at: `${thursday}T11:00`,
      now: evening(friday),
      starts: [timeOf(thursday)],
    },
    {
      title: 'is nothing the next morning before the session opens',
      text: two,
      at: evening(thursday),
      now: `${friday}T08:59`,
      starts: [],
    },
    {
      title: 'begins with the last candle once the next day has opened',
      text: two,
      at: evening(thursday),
      now: `${friday}T09:00`,
      starts: [timeOf(thursday)],
    },
    {
      title: 'begins with Friday over the weekend, whose days it does not judge',
      text: three,
      at: evening(friday),
      now: '2026-02-15T12:00',
      starts: [timeOf(friday)],
    },
    {
      title: 'is nothing when "now" lies before the last stored candle, even where that was stored under way',
      text: three,
      at: `${friday}T11:00`,
      now: evening(thursday),
      starts: [],
    },
    {
      title: 'begins before a candle under way, although someone touched its file in the evening',
      text: two,
      at: evening(thursday),
      lastRun: `${thursday}T11:00`,
      now: `${thursday}T21:00`,
      starts: [timeOf(wednesday)],
    },
  ]
  for (const { title, starts, ...one } of cases)
    it(title, async () => {
      const days = [wednesday, thursday, friday].filter((day) => timeOf(day) * 1_000 < india(one.now))
      const ended = await end({ ...one, has: days.map((day) => candleOn(day)) })
      expect(ended.starts).toEqual(starts)
      if (starts.length === 0) expect(ended.found).toEqual(skippedResult)
    })

  it('cover everything up to now, as in the interface document', async () => {
    const inputs: unknown[] = []
    const ask = (_: unknown, input: unknown) => {
      inputs.push(input)
      return of([])
    }
    await lastValueFrom(
      updateCandles(series, toolsOf({ now: evening(friday), text: two, at: evening(thursday) }, ask)),
    )
    expect(inputs).toStrictEqual([
      {
        ...instrument,
        EXPCODE: 0,
        INTERVAL: 'D',
        START: timeOf(thursday),
        END: india(evening(friday)) / 1_000,
      },
    ])
    expect(endpoint.input.safeParse(inputs[0]).success).toBe(true)
  })

  itWithMarbles('are aborted on unsubscribe', (m) => {
    const answer = m.cold('-----(a|)', { a: [candleOn(friday)] })
    m.expect(
      updateCandles(
        series,
        toolsOf({ now: evening(friday) }, () => answer),
      ),
      '^--!',
    ).toBeObservable('-')
    m.expect(answer).toHaveSubscriptions('                             ^--!')
  })
})

describe('the join of stored and answered candles', () => {
  const stored = {
    text: fileOf(candleOn(wednesday), candleOn(thursday)),
    at: evening(thursday),
    now: evening(friday),
  }
  const later = [candleOn(thursday), candleOn(friday)]

  it('is the last stored candle, which the answer repeats', async () => {
    expect((await end({ ...stored, answer: later })).found).toEqual(createResult(later))
  })

  it('replaces the stored volume by a revised one', async () => {
    const revised = [candleOn(thursday, { volume: 101 }), candleOn(friday)]
    expect((await end({ ...stored, answer: revised })).found).toEqual(createResult(revised))
    const alone = revised.slice(0, 1)
    expect((await end({ ...stored, answer: alone })).found).toEqual(createResult(alone))
  })

  it.each([
    { what: 'nothing', answer: [] },
    {
      what: 'only what was not asked for',
      answer: [candleOn(wednesday, { close: 9 }), candleOn('2026-02-14')],
    },
  ])('is reported as missing if the answer has $what', async ({ answer }) => {
    const missed = createResult([], `the answer has neither the stored candle of ${thursday} nor a later one`)
    expect(await end({ ...stored, answer })).toEqual({ found: missed, starts: [timeOf(thursday)] })
  })

  it('leads to no change if the answer has nothing else', async () => {
    expect(await end({ ...stored, answer: [candleOn(thursday)] })).toEqual({
      found: skippedResult,
      starts: [timeOf(thursday)],
    })
  })

  it('is written again if it is the same but its session was not over', async () => {
    const ended = await end({
      ...stored,
      at: `${thursday}T11:00`,
      has: [candleOn(wednesday), candleOn(thursday)],
    })
    expect(ended.found).toEqual(createResult([candleOn(wednesday), candleOn(thursday)]))
  })

  it.each([
    { close: 1.51, isSame: true },
    { close: 1.489, isSame: true },
    { close: 1.54, isSame: false },
    { close: 0.75, isSame: false },
  ])('holds with a close of $close instead of 1.5: $isSame', async ({ close, isSame }) => {
    const has = [candleOn(wednesday), candleOn(thursday, { close }), candleOn(friday)]
    const ended = await end({ ...stored, has })
    expect(ended.starts).toEqual(isSame ? [timeOf(thursday)] : [timeOf(thursday), timeOf(wednesday)])
    expect(ended.found).toMatchObject(createResult(isSame ? has.slice(1) : has))
  })

  it('replaces the last candle alone if the one before it is as stored, without a mark on the rest of the history', async () => {
    const has = [candleOn(wednesday), candleOn(thursday, { close: 1.6 })]
    const ended = await end({ ...stored, has })
    expect(ended.starts).toEqual([timeOf(thursday), timeOf(wednesday)])
    const remark = `replaced alone: the candle of ${thursday} (differs (close 1.5, now 1.6))`
    expect(ended.found).toEqual({ ...createResult(has), remark, onlyDay: thursday })
    const other = [candleOn(wednesday, { close: 1.4 }), candleOn(thursday, { close: 1.6 })]
    expect((await end({ ...stored, has: other })).starts).toEqual([timeOf(thursday), timeOf(wednesday), ALL])
  })

  it('refuses a last candle that no market makes, although the one before it is as stored', async () => {
    const has = [candleOn(wednesday), [timeOf(thursday), 900, 901, 899, 900, 5] as const]
    await expect(end({ ...stored, has })).rejects.toThrow('a new candle has an unexplained price jump')
  })

  it('matches prices in the ten thousands that are rounded to four digits', async () => {
    const dear = (close: number): Candle => [timeOf(thursday), 90_000, 90_020, 90_000, close, 1]
    const one = { text: fileOf(dear(90_000)), at: evening(thursday), now: evening(friday) }
    expect((await end({ ...one, has: [dear(90_008)] })).starts).toHaveLength(1)
    expect((await end({ ...one, has: [dear(90_010)] })).starts).toHaveLength(2)
  })

  it('fetches the full history again if the stored candle differs, and reports it', async () => {
    const has = [wednesday, thursday, friday].map((day): Candle => [timeOf(day), 0.5, 1, 0.25, 0.75, 200])
    expect((await end({ ...stored, has })).found).toEqual({
      ...createResult(has),
      whole: true,
      remark: `history fetched again: the stored candle of ${thursday} differs (open 1, now 0.5)`,
    })
  })

  it('fetches the full history again if the stored candle is missing from the answer', async () => {
    const has = [candleOn(wednesday), candleOn(friday)]
    expect((await end({ ...stored, has })).found).toMatchObject({
      whole: true,
      remark: `history fetched again: the stored candle of ${thursday} is missing from the answer`,
    })
  })

  it('takes the official close of the newest candle with one request, and marks that day alone', async () => {
    const has = [candleOn(wednesday), candleOn(thursday, { close: 1.52 }), candleOn(friday)]
    expect(await end({ ...stored, has })).toEqual({
      found: {
        ...createResult(has),
        remark: `replaced alone: the candle of ${thursday} (differs (close 1.5, now 1.52))`,
        onlyDay: thursday,
      },
      starts: [timeOf(thursday)],
    })
  })

  it.each([
    { what: 'a close that no official one is', close: 1.6, open: 1 },
    { what: 'another open', close: 1.52, open: 1.02 },
  ])('requests the candle before, too, for $what', async ({ close, open }) => {
    const [time, , ...others] = candleOn(thursday, { close })
    const has = [candleOn(wednesday), [time, open, ...others] as Candle, candleOn(friday)]
    const { found, starts } = await end({ ...stored, has })
    expect(starts).toEqual([timeOf(thursday), timeOf(wednesday)])
    expect(found.onlyDay).toBe('2026-02-12')
  })

  it('is the candle before the last one, if that was stored during its session', async () => {
    const has = [candleOn(wednesday), candleOn(thursday, { close: 1.6 }), candleOn(friday)]
    const underWay = { ...stored, at: `${thursday}T11:00` }
    expect(await end({ ...underWay, has })).toEqual({ found: createResult(has), starts: [timeOf(wednesday)] })
    const split = has.map(([time]): Candle => [time, 0.1, 0.2, 0.1, 0.1, 9])
    expect((await end({ ...underWay, has: split })).found).toMatchObject({ whole: true, rows: split })
  })

  it('changes nothing if the request for the full history fails', async () => {
    const ask = (_: unknown, { START }: { readonly START: number }) =>
      START === ALL ? NEVER : of([candleOn(thursday, { close: 9 })])
    const results: ItemResult[] = []
    updateCandles(series, toolsOf(stored, ask)).subscribe((one) => results.push(one))
    expect(results).toEqual([])
  })
})

describe('candles that came as lines', () => {
  const inLines = (...candles: readonly Candle[]): Candles =>
    createCsvCandles(Buffer.from(fileOf(...candles).slice(HEADER.length)), candles.length)
  const stored = {
    text: fileOf(candleOn(wednesday), candleOn(thursday)),
    at: evening(thursday),
    now: evening(friday),
  }
  const history = inLines(candleOn(wednesday), candleOn(thursday), candleOn(friday))

  it('are passed on unchanged, for a first and for a full history', async () => {
    expect((await end({ now: evening(friday), answer: history })).found).toEqual({
      status: 'success',
      rows: history,
    })
    const { found: whole } = await end({ text: 'not ours', now: evening(friday), answer: history })
    expect(whole).toMatchObject({ status: 'success', whole: true })
    expect(whole.rows).toBe(history)
  })

  it('are empty if the answer has none', async () => {
    expect((await end({ now: evening(friday), answer: inLines() })).found.status).toBe('empty')
  })

  it('join the stored ones, or show that they changed', async () => {
    const later = inLines(candleOn(thursday, { volume: 101 }), candleOn(friday))
    expect((await end({ ...stored, answer: later })).found.rows).toBe(later)
    expect((await end({ ...stored, answer: inLines(candleOn(thursday)) })).found).toEqual(skippedResult)
    const { starts } = await end({
      ...stored,
      answer: inLines(candleOn(thursday, { close: 1.6 }), candleOn(friday)),
    })
    expect(starts).toEqual([timeOf(thursday), timeOf(wednesday), ALL])
  })

  it('are limited to the requested range', async () => {
    const tooMany = inLines(candleOn(wednesday), candleOn(thursday), candleOn(friday), candleOn('2026-02-14'))
    expect((await end({ ...stored, answer: tooMany })).found).toEqual(
      createResult([candleOn(thursday), candleOn(friday)]),
    )
  })

  it('do not replace a longer history', async () => {
    const text = fileOf(candleOn(friday), candleOn(thursday), candleOn(wednesday))
    const answer = inLines(candleOn(thursday), candleOn(friday))
    await expect(end({ text, now: evening(friday), answer })).rejects.toThrow('2 candles instead of 3')
    const short = inLines(candleOn('2026-02-10'), candleOn(wednesday), candleOn(thursday))
    await expect(end({ text, now: evening(friday), answer: short })).rejects.toThrow(
      `the full history ends on ${thursday}`,
    )
  })
})

describe('a known adjustment', () => {
  const text = fileOf(candleOn(wednesday), candleOn(thursday))
  const has = [candleOn(wednesday), candleOn(thursday), candleOn(friday)]

  it('fetches the full history again at once, and reports why', async () => {
    const ended = await end({
      text,
      at: evening(thursday),
      now: evening(friday),
      has,
      actions: [{ kind: 'split', divides: true, on: friday, factors: [] }],
    })
    expect(ended.starts).toEqual([ALL])
    expect(ended.found).toEqual({
      ...createResult(has),
      whole: true,
      // The tables read from it that the action is not in the candles.
      remark: `history fetched again: split on ${friday}, with the same prices as before it`,
    })
  })

  it('does not show whether the provider divides if the stored candles are of its day', async () => {
    const actions: PriceAction[] = [{ kind: 'split', divides: true, on: thursday, factors: [2] }]
    const ended = await end({ text, at: evening(thursday), now: evening(friday), has, actions })
    expect(ended.found.remark).toBe(`history fetched again: split on ${thursday}, with the same prices`)
  })

  it('explains a price level of any factor that it lists, alone or with others of its day', async () => {
    const scale = (factor: number) =>
      has.map(
        ([time, ...cells]): Candle => [time, ...cells.map((cell) => cell * factor)] as unknown as Candle,
      )
    const given = { text, at: evening(thursday), now: evening(friday), has: scale(100) }
    const list = (...factors: readonly number[]): PriceAction[] =>
      factors.map((factor) => ({ kind: 'consolidation', divides: true, on: friday, factors: [factor] }))
    for (const actions of [list(0.01), list(0.1, 0.1)])
      expect((await end({ ...given, actions })).found).toMatchObject({ whole: true, rows: given.has })
    for (const actions of [list(), list(0.1)])
      await expect(end({ ...given, actions })).rejects.toThrow('no corporate action explains')
  })

  it('is not looked up by a first download, nor if nothing can be missing', async () => {
    const readActions = () => NEVER
    const ask = () => of(has)
    const first = toolsOf({ now: evening(friday) }, ask)
    const complete = toolsOf({ now: evening(friday), text: fileOf(...has) }, ask)
    expect(await foundOf(updateCandles({ ...series, readActions }, first))).toEqual(createResult(has))
    expect(await foundOf(updateCandles({ ...series, readActions }, complete))).toEqual(skippedResult)
  })
})

describe('a damaged file', () => {
  const has = [candleOn(wednesday), candleOn(thursday), candleOn(friday)]
  const [one, other, last] = has.map((candle) => `${candle.join(',')}\n`) as [string, string, string]
  const repair = (text: string) => end({ text, at: evening(friday), now: `${friday}T21:00`, has })

  it.each([
    { text: HEADER + other + one + last, fault: 'timestamps not in order' },
    { text: HEADER + one + other + other + last, fault: 'duplicate timestamp' },
    { text: HEADER + one.slice(0, -5) + other + last, fault: 'malformed line' },
    { text: HEADER + one + other.replace('1', '\0') + last, fault: 'malformed line' },
    { text: one + other + last, fault: 'unexpected header' },
    { text: (HEADER + one + other + last).replaceAll('\n', '\r\n'), fault: 'unexpected header' },
    { text: `${HEADER}17708`, fault: 'truncated only line' },
    { text: 'Date,Close\n', fault: 'unexpected header' },
    { text: '', fault: 'unexpected header' },
  ])('is fetched again as a whole, even where no day is missing: $fault', async ({ text, fault }) => {
    expect(await repair(text)).toEqual({
      found: { ...createResult(has), whole: true, remark: `repaired: ${fault}` },
      starts: [ALL],
    })
  })

  it.each(['1', '17708', last.slice(0, -1), last.slice(0, -5), '\n', 'x\n', '\0\0\0'])(
    'continues after its last complete line if the last one is %j',
    async (torn) => {
      expect(await repair(HEADER + one + other + torn)).toEqual({
        found: { ...createResult(has.slice(1)), remark: 'repaired: truncated last line' },
        starts: [timeOf(thursday)],
      })
    },
  )

  it('is repaired after its last candle, even if no day is missing', async () => {
    expect(await repair(`${HEADER}${one}${other}${last}177`)).toEqual({
      found: { ...createResult(has.slice(2)), remark: 'repaired: truncated last line' },
      starts: [timeOf(friday)],
    })
  })

  it('is not searched for in a file with the instant of the last run', async () => {
    const text = HEADER + other + one + other + last
    expect((await end({ text, now: evening(friday), lastRun: evening(friday), has })).found).toEqual(
      skippedResult,
    )
    expect((await end({ text, now: evening(friday), lastRun: evening(thursday), has })).found).toMatchObject({
      whole: true,
    })
  })
})

describe('a full history', () => {
  const day = (place: number): Candle => [timeOf(friday) - (9 - place) * 86_400, 1, 2, 0.5, 1.5, 100]
  const ten = Array.from({ length: 10 }, (_, place) => day(place))
  const over = (text: string, has: readonly Candle[]) =>
    end({ text, at: evening(friday), now: `${friday}T21:00`, has })
  const unsorted = fileOf(...ten.toReversed())

  it('replaces the stored one if at most 30 % of its days are missing', async () => {
    expect((await over(unsorted, ten.slice(3))).found).toMatchObject({ whole: true, rows: ten.slice(3) })
    await expect(over(unsorted, ten.slice(4))).rejects.toThrow(RefusedError)
    await expect(over(unsorted, ten.slice(4))).rejects.toThrow(
      /^shrink: .*6 candles instead of 10.*not in order/,
    )
    await expect(over(unsorted, [])).rejects.toThrow('shrink: ')
  })

  it('must reach as far as the stored one', async () => {
    await expect(over(unsorted, ten.slice(0, 9))).rejects.toThrow(
      `shrink: the full history ends on ${thursday}`,
    )
  })

  it('is compared with the days that can be read, each once', async () => {
    expect((await over(fileOf(...ten, ...ten), ten)).found).toMatchObject({ whole: true })
    expect(
      (await over(`${unsorted}9,9\n,,,,,\n1770834600000,1,1,1,1,1\n`, ten.slice(3))).found,
    ).toMatchObject({ whole: true })
    expect((await over('nothing of ours\n', [day(9)])).found).toMatchObject({ whole: true })
    expect((await over('nothing of ours\n', [])).found).toEqual(createResult([]))
  })
})
