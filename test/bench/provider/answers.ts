import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import { type BenchAnswer, createViolation } from './answer.js'
import { createListAnswers } from './list-answers.js'
import { createBenchTimeline, FIRST_RUN_AT } from './market.js'
import type { ReceivedRequest } from './requests.js'
import { createStockAnswers } from './stock-answers.js'

export interface Answers {
  readonly answer: (asked: ReceivedRequest) => BenchAnswer
  /** Moves the market's "now" (epoch milliseconds). */
  readonly moveTo: (asOf: number) => void
}

/** One in this many requests about stocks is checked against the whole schema of its endpoint. */
const CHECK_EVERY = 64

/** Answers about stocks from prepared bodies, and lists from the samples of the endpoints, created once. */
export const createAnswers = (endpoints: readonly AnyEndpoint[], stocks: number): Answers => {
  const timeline = createBenchTimeline(stocks)
  let market = timeline(Date.parse(FIRST_RUN_AT))
  let lists = new Map<string, BenchAnswer>()
  const ofStock = createStockAnswers(endpoints, market)
  const ofList = createListAnswers(endpoints)
  const checked = createCheck(endpoints)
  return {
    answer: (asked) => {
      const answer = ofStock(asked, market)
      if (answer !== undefined) return checked(answer, asked)
      const key = `${asked.path} ${asked.body}`
      const list = lists.get(key) ?? ofList(asked, market)
      lists.set(key, list)
      return list
    },
    moveTo: (asOf) => {
      if (asOf === market.asOf) return
      market = timeline(asOf)
      lists = new Map()
    },
  }
}

const createCheck = (endpoints: readonly AnyEndpoint[]) => {
  const inputs = new Map(endpoints.map(({ name, input }) => [name, input]))
  let count = 0
  return (answer: BenchAnswer, { body, type }: ReceivedRequest): BenchAnswer => {
    if (answer.violation !== undefined || count++ % CHECK_EVERY !== 0) return answer
    if (!/^application\/json/.test(type)) return createViolation(answer.endpoint, `the content-type is ${type}`)
    const { error } = inputs.get(answer.endpoint)?.safeParse(JSON.parse(body)) ?? {}
    return error === undefined ? answer : createViolation(answer.endpoint, error.message)
  }
}
