import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { type Found, found, skipped } from '../../src/model/outcome.js'
import type { Tools } from '../../src/pipeline/define-stream.js'
import { type Instrument, missingCandles, startAfter } from '../../src/pipeline/missing-candles.js'
import type { Tail } from '../../src/pipeline/storage.js'
import { candlesOf } from '../../src/provider/candles.js'
import { marbles } from '../support/marbles.js'

const india = (time: string): number => Date.parse(`${time}:00+05:30`)
/** Midnight in India, in seconds, as the provider dates its candles. */
const candleOf = (day: string): number => india(`${day}T00:00`) / 1_000
const header = 'Timestamp,Open,High,Low,Close,Volume'
const tailOf = (day: string, storedAt: string): Tail => ({ header, line: `${candleOf(day)},1,2,0.5,1.5,100`, asOf: india(storedAt) })

const ALL = 215_634_600
const thursday = '2026-02-12'
const friday = '2026-02-13'

describe('startAfter', () => {
  const cases: readonly { readonly title: string; readonly tail?: Tail; readonly now: string; readonly start?: number }[] = [
    { title: 'asks for all history where nothing is stored', now: `${friday}T20:00`, start: ALL },
    {
      title: 'asks for nothing in the evening of a day that is stored',
      tail: tailOf(friday, `${friday}T20:00`),
      now: `${friday}T21:00`,
    },
    {
      title: 'asks for nothing where the day was stored the minute its session ended',
      tail: tailOf(friday, `${friday}T15:30`),
      now: `${friday}T15:31`,
    },
    {
      title: 'asks again for a day that was stored a minute before its session ended',
      tail: tailOf(friday, `${friday}T15:29`),
      now: `${friday}T15:29`,
      start: candleOf(friday),
    },
    {
      title: 'asks again for a day that was stored under way, however many days later',
      tail: tailOf(thursday, `${thursday}T11:00`),
      now: '2026-02-20T20:00',
      start: candleOf(thursday),
    },
    {
      title: 'asks for nothing the next morning before the session opens',
      tail: tailOf(thursday, `${thursday}T20:00`),
      now: `${friday}T08:59`,
    },
    {
      title: 'asks for what follows the last candle once the next day has opened',
      tail: tailOf(thursday, `${thursday}T20:00`),
      now: `${friday}T09:00`,
      start: candleOf(thursday) + 1,
    },
    {
      title: 'asks for what follows Friday over the weekend, whose days it does not judge',
      tail: tailOf(friday, `${friday}T20:00`),
      now: '2026-02-15T12:00',
      start: candleOf(friday) + 1,
    },
    {
      title: 'asks for what follows Friday on Monday',
      tail: tailOf(friday, `${friday}T20:00`),
      now: '2026-02-16T20:00',
      start: candleOf(friday) + 1,
    },
    {
      title: 'asks for nothing when "now" lies before the last stored candle, even where that was stored under way',
      tail: tailOf(friday, `${friday}T11:00`),
      now: `${thursday}T20:00`,
    },
    {
      title: 'asks for nothing when "now" lies before the last stored candle',
      tail: tailOf(friday, `${friday}T20:00`),
      now: `${thursday}T20:00`,
    },
  ]
  for (const { title, tail, now, start } of cases)
    it(title, () => {
      expect(startAfter(tail, india(now))).toBe(start)
    })

  const torn = [
    { what: 'is cut', line: `${candleOf(thursday)},1,2,0.5` },
    { what: 'is cut within the timestamp', line: '17708' },
    { what: 'is the header', line: 'Timestamp,Open,High,Low,Close,Volume' },
    { what: 'has too many cells', line: `${candleOf(thursday)},1,2,0.5,1.5,100,7` },
    { what: 'has no whole timestamp', line: '1770834600.5,1,2,0.5,1.5,100' },
    { what: 'has no timestamp', line: ',1,2,0.5,1.5,100' },
    { what: 'has a timestamp below zero', line: '-5,1,2,0.5,1.5,100' },
    { what: 'is empty', line: '' },
  ]
  for (const foreign of [
    `${header}\r`,
    `\ufeff${header}`,
    'timestamp,open,high,low,close,volume',
    '"Timestamp",Open,High,Low,Close,Volume',
  ])
    it(`asks for all history where the header is ${JSON.stringify(foreign)}, whose rows would not be kept`, () => {
      const tail = { ...tailOf(thursday, `${thursday}T20:00`), header: foreign }
      expect(startAfter(tail, india(`${friday}T20:00`))).toBe(ALL)
    })
  for (const { what, line } of torn)
    it(`asks for all history where the last line ${what}`, () => {
      expect(startAfter({ header, line, asOf: india(`${thursday}T20:00`) }, india(`${friday}T20:00`))).toBe(ALL)
    })
})

describe('missingCandles', () => {
  const call = candlesOf('ohlcv', z.literal('EQUITY'))
  const instrument: Instrument = { EXCH: 'NSE', SYM: 'TCS', SEG: 'E', INST: 'EQUITY', SEC_ID: '11536' }
  const candle = [candleOf(friday), 1, 2, 0.5, 1.5, 100] as const

  /** The tools of a run on Friday evening; the file holds one line as the given tail has it. */
  const toolsWith = (tail: Tail | undefined, ask: unknown): Tools => {
    const files: MemoryFiles = new Map()
    if (tail) files.set('TCS.csv', { text: `Timestamp,Open,High,Low,Close,Volume\n${tail.line}\n`, asOf: tail.asOf })
    return { stored: memory(files).stored, ask, asOf: india(`${friday}T20:00`) } as unknown as Tools
  }

  it(
    'asks for the days after the last stored one up to now, and finds them',
    marbles((m) => {
      const answer = m.cold('--(a|)', { a: [candle] })
      const asked: unknown[] = []
      const ask = (_: unknown, input: unknown) => {
        asked.push(input)
        return answer
      }
      const tools = toolsWith(tailOf(thursday, `${thursday}T20:00`), ask)

      m.expect(missingCandles(call, instrument, tools, 'TCS.csv')).toBeObservable('--(a|)', { a: found([candle]) as Found })
      m.flush()
      expect(asked).toStrictEqual([
        { ...instrument, EXPCODE: 0, INTERVAL: 'D', START: candleOf(thursday) + 1, END: india(`${friday}T20:00`) / 1_000 },
      ])
      expect(call.input.safeParse(asked[0]).success).toBe(true)
    }),
  )

  it(
    'finds nothing where the provider has nothing newer',
    marbles((m) => {
      const ask = () => m.cold('-(a|)', { a: [] })
      const tools = toolsWith(tailOf(thursday, `${thursday}T20:00`), ask)

      m.expect(missingCandles(call, instrument, tools, 'TCS.csv')).toBeObservable('-(a|)', { a: found([]) as Found })
    }),
  )

  it(
    'skips what is complete, and asks nothing',
    marbles((m) => {
      const ask = () => {
        throw new Error('nothing is to be asked')
      }
      const tools = toolsWith(tailOf(friday, `${friday}T20:00`), ask)

      m.expect(missingCandles(call, instrument, tools, 'TCS.csv')).toBeObservable('(a|)', { a: skipped as Found })
    }),
  )

  it(
    'aborts its request when it is unsubscribed',
    marbles((m) => {
      const answer = m.cold('-----(a|)', { a: [candle] })
      const tools = toolsWith(undefined, () => answer)

      m.expect(missingCandles(call, instrument, tools, 'TCS.csv'), '^--!').toBeObservable('-')
      m.expect(answer).toHaveSubscriptions('                             ^--!')
    }),
  )
})
