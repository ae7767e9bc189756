import type { ServerResponse } from 'node:http'
import type { AnyEndpoint } from '../http/endpoint.js'
import { formatError } from '../model/errors.js'
import { buildAnswer, createJsonAnswer, type SimulatedAnswer } from './answers.js'
import type { createConditions, Fault } from './conditions.js'
import type { createRequestLog } from './request-log.js'
import { collectTexts, createRouter, type IncomingRequest, type RouteResult } from './router.js'

type Accepted = Extract<RouteResult, { kind: 'accepted' }>
type Done = (status: number | string) => void

export const createHandler = (
  endpoints: readonly AnyEndpoint[],
  conditions: ReturnType<typeof createConditions>,
  requestLog: ReturnType<typeof createRequestLog>,
) => {
  const route = createRouter(endpoints)

  const begin = (name: string, key: string, response: ServerResponse): Done => {
    const done = requestLog.begin(name, key)
    response.once('close', () => done('closed'))
    return done
  }
  const reply = ({ endpoint, key, input }: Accepted, url: string, response: ServerResponse, done: Done) => {
    const answer = buildAnswer(endpoint, input, conditions.market())
    if (answer.broken) requestLog.violation(answer.broken)
    respond(
      { response, answer, done },
      conditions.findFault({ name: endpoint.name, key, texts: [url, ...collectTexts(input)] }),
    )
  }

  /** An input schema that throws is a bug of the endpoint: it is reported, and the simulator goes on. */
  const routeSafely = (request: IncomingRequest): RouteResult => {
    try {
      return route(request)
    } catch (error) {
      const { url, body } = request
      return {
        kind: 'refused',
        name: url,
        key: body,
        message: `${url}: the input schema failed: ${formatError(error)}`,
      }
    }
  }
  return (request: IncomingRequest, response: ServerResponse) => {
    const routed = routeSafely(request)
    if (routed.kind === 'unknown') {
      requestLog.unknown(`${request.method} ${request.url}`)
      respond({ response, answer: createJsonAnswer(404, { message: 'not found' }) })
    } else if (routed.kind === 'refused') {
      requestLog.violation(routed.message)
      const done = begin(routed.name, routed.key, response)
      respond({ response, answer: createJsonAnswer(400, { message: routed.message }), done })
    } else {
      const done = begin(routed.endpoint.name, routed.key, response)
      const limit = conditions.findExceededLimit(routed.endpoint.host)
      runAfter(response, conditions.computeLatency(routed.endpoint.name, routed.key), () =>
        limit
          ? respond(
              { response, answer: createJsonAnswer(429, {}), done },
              { on: '*', mode: 'status', status: 429, retryAfter: limit.retryAfter },
            )
          : reply(routed, request.url, response, done),
      )
    }
  }
}

interface PendingReply {
  readonly response: ServerResponse
  readonly answer: SimulatedAnswer
  /** Called once, right before the last byte of the answer is written or the connection is destroyed. */
  readonly done?: Done
}

export const respond = (reply: PendingReply, fault?: Fault): void =>
  fault ? faultResponses[fault.mode](reply, fault) : send(reply)

/**
 * Runs a function after a delay (at once for 0), unless the response is closed before. The timer does not
 * keep the process alive.
 */
const runAfter = (response: ServerResponse, ms: number, run: () => void): void => {
  if (ms <= 0) run()
  else if (!response.closed) {
    const cancel = () => clearTimeout(timer)
    const timer = setTimeout(() => {
      response.off('close', cancel)
      run()
    }, ms).unref()
    response.once('close', cancel)
  }
}

const send = ({ response, answer, done }: PendingReply) => {
  writeHead(response, answer)
  done?.(answer.status)
  response.end(answer.body)
}

const writeHead = (response: ServerResponse, { status, type, body }: SimulatedAnswer) =>
  response.writeHead(status, { 'content-type': type, 'content-length': body.length })

const sendText = (reply: PendingReply, type: string, text: string) =>
  send({ ...reply, answer: { status: 200, type, body: Buffer.from(text) } })

const faultResponses: Record<Fault['mode'], (reply: PendingReply, fault: Fault) => void> = {
  status: (reply, { status = 500, retryAfter }) => {
    if (retryAfter !== undefined) reply.response.setHeader('retry-after', String(retryAfter))
    send({ ...reply, answer: createJsonAnswer(status, { message: `status ${status}` }) })
  },
  reset: ({ response, done }) => {
    done?.('reset')
    response.socket?.resetAndDestroy()
  },
  truncate: ({ response, answer, done }) => {
    writeHead(response, answer)
    response.write(answer.body.subarray(0, answer.body.length >> 1), () => {
      done?.('truncated')
      response.destroy()
    })
  },
  html: (reply) =>
    sendText(
      reply,
      'text/html',
      '<!DOCTYPE html><html><body><h1>Service temporarily unavailable</h1></body></html>',
    ),
  // The usual shape without rows: a CSV table still has its header line.
  empty: (reply) => {
    const { type, body } = reply.answer
    sendText(reply, type, type === 'text/csv' ? `${body.toString().split('\n', 1)[0]}\n` : '{"data":[]}')
  },
  garbage: (reply) => sendText(reply, reply.answer.type, '{"data": [1, {"Sym": nul'),
  null: (reply) => sendText(reply, reply.answer.type, 'null'),
  'no-body': (reply) => sendText(reply, reply.answer.type, ''),
  hang: () => {},
  drip: (reply, { ms = 500 }) => {
    writeHead(reply.response, reply.answer)
    drip(reply, ms, 0)
  },
  slow: (reply, { ms = 1_000 }) => runAfter(reply.response, ms, () => send(reply)),
}

const drip = (reply: PendingReply, ms: number, sent: number) => {
  const { response, answer, done } = reply
  const next = sent + 1
  if (next < answer.body.length) {
    response.write(answer.body.subarray(sent, next))
    runAfter(response, ms, () => drip(reply, ms, next))
  } else {
    done?.(answer.status)
    response.end(answer.body.subarray(sent))
  }
}
