import type { AnyEndpoint } from '../../../src/provider/endpoint.js'
import { type Answer, violation } from './answer.js'
import { createListAnswers } from './list-answers.js'
import { EVENING, marketOf } from './market.js'
import type { Asked } from './requests.js'
import { createStockAnswers } from './stock-answers.js'

export interface Answers {
  readonly answer: (asked: Asked) => Answer
  /** Moves the market's "now" (epoch milliseconds). */
  readonly moveTo: (asOf: number) => void
}

/** One in this many requests about stocks is checked against the whole schema of its endpoint. */
const CHECKED = 64

/** Answers about stocks from prepared bodies, and lists from the samples of the endpoints, created once. */
export const createAnswers = (endpoints: readonly AnyEndpoint[], stocks: number): Answers => {
  const timeline = marketOf(stocks)
  let market = timeline(Date.parse(EVENING))
  let lists = new Map<string, Answer>()
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
  return (answer: Answer, { body, type }: Asked): Answer => {
    if (answer.violation !== undefined || count++ % CHECKED !== 0) return answer
    if (!/^application\/json/.test(type)) return violation(answer.endpoint, `the content-type is ${type}`)
    const { error } = inputs.get(answer.endpoint)?.safeParse(JSON.parse(body)) ?? {}
    return error === undefined ? answer : violation(answer.endpoint, error.message)
  }
}
