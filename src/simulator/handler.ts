import type { ServerResponse } from 'node:http'
import type { AnyEndpoint } from '../http/endpoint.js'
import { formatError } from '../model/errors.js'
import { createAnswerCache, createJsonAnswer } from './answers.js'
import type { createConditions } from './conditions.js'
import type { createRequestLog } from './request-log.js'
import { respond, runAfter } from './respond.js'
import { collectTexts, createRouter, type IncomingRequest, type RouteResult } from './router.js'

interface HandlerOptions {
  readonly endpoints: readonly AnyEndpoint[]
  readonly cacheBytes: number
  readonly conditions: ReturnType<typeof createConditions>
  readonly ledger: ReturnType<typeof createRequestLog>
}

type Accepted = Extract<RouteResult, { kind: 'accepted' }>
type Done = (status: number | string) => void

/** Answers the requests of a collector, and records each one. */
export const createHandler = ({ endpoints, cacheBytes, conditions, ledger }: HandlerOptions) => {
  const route = createRouter(endpoints)
  const findAnswer = createAnswerCache(cacheBytes)

  const begin = (name: string, key: string, response: ServerResponse): Done => {
    const done = ledger.begin(name, key)
    response.once('close', () => done('closed'))
    return done
  }
  const reply = ({ endpoint, key, input }: Accepted, url: string, response: ServerResponse, done: Done) => {
    const answer = findAnswer(endpoint, key, input, conditions.market())
    if (answer.broken) ledger.violation(answer.broken)
    respond({ response, answer, done }, conditions.findFault({ name: endpoint.name, key, texts: [url, ...collectTexts(input)] }))
  }
  const refuse = ({ retryAfter }: { retryAfter?: number | string | undefined }, response: ServerResponse, done: Done) =>
    respond({ response, answer: createJsonAnswer(429, {}), done }, { on: '*', mode: 'status', status: 429, retryAfter })

  /** An input schema that throws is a bug of the endpoint: it is reported, and the simulator goes on. */
  const routeSafely = (request: IncomingRequest): RouteResult => {
    try {
      return route(request)
    } catch (error) {
      const { url, body } = request
      return { kind: 'refused', name: url, key: body, message: `${url}: the input schema failed: ${formatError(error)}` }
    }
  }
  const answer = (routed: RouteResult, request: IncomingRequest, response: ServerResponse): void => {
    if (routed.kind === 'unknown') {
      ledger.unknown(`${request.method} ${request.url}`)
      respond({ response, answer: createJsonAnswer(404, { message: 'not found' }) })
    } else if (routed.kind === 'refused') {
      ledger.violation(routed.message)
      const done = begin(routed.name, routed.key, response)
      respond({ response, answer: createJsonAnswer(400, { message: routed.message }), done })
    } else {
      const done = begin(routed.endpoint.name, routed.key, response)
      const limit = conditions.findExceededLimit(routed.endpoint.host)
      runAfter(response, conditions.computeLatency(routed.endpoint.name, routed.key), () =>
        limit ? refuse(limit, response, done) : reply(routed, request.url, response, done),
      )
    }
  }
  return (request: IncomingRequest, response: ServerResponse): void => answer(routeSafely(request), request, response)
}
