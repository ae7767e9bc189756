import { beforeAll, describe, expect, it } from 'vitest'
import { streams } from '../../../streams/registry.js'
import { type Answers, createAnswers } from './answers.js'
import { isEmpty } from './bodies.js'
import { createBenchTimeline, FIRST_RUN_AT, NEXT_RUN_AT } from './conditions.js'

const endpoints = streams.flatMap((stream) => stream.endpoints)
const findEndpoint = (name: string) => {
  const endpoint = endpoints.find((one) => one.name === name)
  if (endpoint === undefined) throw new Error(`unknown endpoint ${name}`)
  return endpoint
}
const { stocks } = createBenchTimeline(100)(Date.parse(FIRST_RUN_AT))

describe('the answers of the benchmark’s provider', () => {
  let answers: Answers
  beforeAll(() => {
    answers = createAnswers(endpoints, 100)
  })

  const ask = (name: string, input: object) => {
    const { host, path } = findEndpoint(name)
    const answer = answers.answer({
      method: 'POST',
      path: `/${host}${path}`,
      type: 'application/json',
      body: JSON.stringify(input),
    })
    const text = answer.response().toString()
    return { ...answer, text: text.slice(text.indexOf('\r\n\r\n') + 4) }
  }
  const askFilings = (name: string, isin: string) => ask(name, { data: { isin, pg_no: 1, count: 100 } })
  const askCandles = (start: number, end: number) => {
    const [stock] = stocks
    const instrument = {
      EXCH: 'NSE',
      SYM: stock?.Symbol,
      SEG: 'E',
      INST: 'EQUITY',
      SEC_ID: stock?.Sid,
      EXPCODE: 0,
      INTERVAL: 'D',
    }
    const { text } = ask('ohlcv', { ...instrument, START: start, END: end })
    return (JSON.parse(text) as { data: { Time: number[]; c: number[] } }).data
  }

  it.each(['company_filings', 'lodr'])('are of full size and about the requested stock: %s', (name) => {
    for (const [rank, { ISIN }] of stocks.entries()) {
      const input = { data: { isin: ISIN, pg_no: 1, count: 100 } }
      const { text, violation } = askFilings(name, ISIN)
      const rows = findEndpoint(name).read(text, input) as readonly { readonly isin: string }[]
      expect(violation).toBeUndefined()
      expect(rows.length === 0).toBe(isEmpty('lodr', rank))
      if (rows.length > 0)
        expect([
          text.length > 43_000,
          text.length < 50_000,
          rows.every(({ isin }) => isin === ISIN),
        ]).not.toContain(false)
    }
  })

  it('are the same for the same request', () => {
    expect(askFilings('lodr', stocks[0]?.ISIN ?? '').text).toBe(
      askFilings('lodr', stocks[0]?.ISIN ?? '').text,
    )
  })

  it('have 2,500 candles, and for later days exactly the requested ones of the same history', () => {
    const [first, next] = [FIRST_RUN_AT, NEXT_RUN_AT].map((evening) => Date.parse(evening) / 1_000)
    const whole = askCandles(215_634_600, next ?? 0)
    expect(askCandles(215_634_600, first ?? 0).Time).toHaveLength(2_500)
    const join = whole.Time.at(-2) ?? 0
    expect(askCandles(join, next ?? 0)).toEqual({
      ...askCandles(join, next ?? 0),
      Time: whole.Time.slice(-2),
      c: whole.c.slice(-2),
    })
    expect(askCandles((next ?? 0) + 1, (next ?? 0) + 2).Time).toEqual([])
  })

  it('reject an unknown stock, an unknown URL, and invalid input', () => {
    expect(askFilings('lodr', 'INE000000000').violation).toContain('asks about INE000000000')
    expect(
      answers.answer({ method: 'GET', path: '/static/nothing', type: '', body: '' }).violation,
    ).toContain('is unknown')
    const isin = stocks[0]?.ISIN ?? ''
    const wrong = Array.from(
      { length: 64 },
      () => ask('lodr', { data: { isin, pg_no: 2, count: 100 } }).violation,
    )
    expect(wrong.filter(Boolean)).toHaveLength(1)
  })
})
