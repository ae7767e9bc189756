import type { ServerResponse } from 'node:http'
import { messageOf } from '../model/errors.js'
import type { AnyEndpoint } from '../provider/endpoint.js'
import { createAnswers, jsonAnswer } from './answers.js'
import type { createConditions } from './conditions.js'
import type { createLedger } from './ledger.js'
import { later, respond } from './respond.js'
import { type Asked, createRouter, type Routed, textsIn } from './router.js'

interface HandlerOptions {
  readonly endpoints: readonly AnyEndpoint[]
  readonly cacheBytes: number
  readonly conditions: ReturnType<typeof createConditions>
  readonly ledger: ReturnType<typeof createLedger>
}

type Accepted = Extract<Routed, { kind: 'accepted' }>
type Done = (status: number | string) => void

/** Answers the requests of a collector, and records each one. */
export const createHandler = ({ endpoints, cacheBytes, conditions, ledger }: HandlerOptions) => {
  const route = createRouter(endpoints)
  const findAnswer = createAnswers(cacheBytes)

  const begin = (name: string, key: string, response: ServerResponse): Done => {
    const done = ledger.begin(name, key)
    response.once('close', () => done('closed'))
    return done
  }
  const reply = ({ endpoint, key, input }: Accepted, url: string, response: ServerResponse, done: Done) => {
    const answer = findAnswer(endpoint, key, input, conditions.market())
    if (answer.broken) ledger.violation(answer.broken)
    respond({ response, answer, done }, conditions.faultOf({ name: endpoint.name, key, texts: [url, ...textsIn(input)] }))
  }
  const refuse = ({ retryAfter }: { retryAfter?: number | string | undefined }, response: ServerResponse, done: Done) =>
    respond({ response, answer: jsonAnswer(429, {}), done }, { on: '*', mode: 'status', status: 429, retryAfter })

  /** An input schema that throws is a bug of the endpoint: it is reported, and the simulator goes on. */
  const routeSafely = (request: Asked): Routed => {
    try {
      return route(request)
    } catch (error) {
      const { url, body } = request
      return { kind: 'refused', name: url, key: body, message: `${url}: the input schema failed: ${messageOf(error)}` }
    }
  }
  const answer = (routed: Routed, request: Asked, response: ServerResponse): void => {
    if (routed.kind === 'unknown') {
      ledger.unknown(`${request.method} ${request.url}`)
      respond({ response, answer: jsonAnswer(404, { message: 'not found' }) })
    } else if (routed.kind === 'refused') {
      ledger.violation(routed.message)
      const done = begin(routed.name, routed.key, response)
      respond({ response, answer: jsonAnswer(400, { message: routed.message }), done })
    } else {
      const done = begin(routed.endpoint.name, routed.key, response)
      const limit = conditions.limitOf(routed.endpoint.host)
      later(response, conditions.latencyFor(routed.endpoint.name, routed.key), () =>
        limit ? refuse(limit, response, done) : reply(routed, request.url, response, done),
      )
    }
  }
  return (request: Asked, response: ServerResponse): void => answer(routeSafely(request), request, response)
}
