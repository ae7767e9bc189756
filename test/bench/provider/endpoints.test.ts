import { describe, expect, it } from 'vitest'
import { buildAnswer } from '../../../src/simulator/answers.js'
import { streams } from '../../../streams/registry.js'
import { isEmpty } from './bodies.js'
import { createBenchTimeline, FIRST_RUN_AT, NEXT_RUN_AT } from './conditions.js'
import { addPadding, CANDLES, createPreparedEndpoints } from './endpoints.js'

const STOCKS = 100
const endpoints = createPreparedEndpoints(
  streams.flatMap((stream) => stream.endpoints),
  STOCKS,
)
const marketAt = createBenchTimeline(STOCKS)
const { stocks, ...market } = marketAt(Date.parse(FIRST_RUN_AT))

describe('the prepared answers', () => {
  const ask = (name: string, input: object, at = FIRST_RUN_AT) => {
    const endpoint = endpoints.find((one) => one.name === name)
    if (endpoint === undefined) throw new Error(`unknown endpoint ${name}`)
    return { endpoint, ...buildAnswer(endpoint, input, marketAt(Date.parse(at))) }
  }
  const askFilings = (name: string, isin: string) => ask(name, { data: { isin, pg_no: 1, count: 100 } })
  const askCandles = (START: number, END: number) => {
    const { body } = ask('ohlcv', { SEC_ID: stocks[0]?.Sid, START, END }, NEXT_RUN_AT)
    return (JSON.parse(body.toString()) as { data: { Time: number[]; c: number[] } }).data
  }

  it.each(['company_filings', 'lodr'])('are of full size and about the requested stock: %s', (name) => {
    for (const [rank, { ISIN }] of stocks.entries()) {
      const { endpoint, body } = askFilings(name, ISIN)
      const input = { data: { isin: ISIN, pg_no: 1, count: 100 } }
      const rows = endpoint.read(body.toString(), input) as readonly { readonly isin: string }[]
      expect(rows.length === 0).toBe(isEmpty('lodr', rank))
      if (rows.length > 0) expect(Math.abs(body.length - 46_500)).toBeLessThan(3_500)
      expect(rows.filter(({ isin }) => isin !== ISIN)).toEqual([])
    }
  })

  it('are the same for the same request, with valid padding where that is asked for', () => {
    const [one, other] = [0, 0].map(() => askFilings('lodr', stocks[0]?.ISIN ?? '').body.toString())
    expect(one).toBe(other)
    expect(JSON.parse(addPadding('{"data":[1]}', 1_000))).toEqual({ data: [1], padding: 'x'.repeat(1_000) })
  })

  it(`have ${CANDLES} candles, and for later days exactly the requested ones of the same history`, () => {
    const [first = 0, next = 0] = [FIRST_RUN_AT, NEXT_RUN_AT].map((evening) => Date.parse(evening) / 1_000)
    const whole = askCandles(215_634_600, next)
    expect(askCandles(215_634_600, first).Time).toHaveLength(CANDLES)
    const join = whole.Time.at(-2) ?? 0
    const later = askCandles(join, next)
    expect([later.Time, later.c]).toEqual([whole.Time.slice(-2), whole.c.slice(-2)])
    expect(askCandles(next + 1, next + 2).Time).toEqual([])
  })

  it('are the same list as that of the sample, and none for an unknown stock', () => {
    const sampled = streams.flatMap((stream) => stream.endpoints).find(({ name }) => name === 'indices')
    const expected = sampled?.sample?.({}, { ...market, stocks })
    expect(JSON.parse(ask('indices', {}).body.toString())).toEqual(JSON.parse(JSON.stringify(expected)))
    expect(askFilings('lodr', 'INE000000000').status).toBe(404)
  })
})
