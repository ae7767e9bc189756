import { defer, map, type Observable, tap } from 'rxjs'
import { BadAnswer, HttpError, Throttled } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { deadline } from '../operators/deadline.js'
import { retryFailures } from '../operators/retry-failures.js'
import type { AnyEndpoint, Endpoint } from './endpoint.js'
import type { Gates } from './gate/gates.js'
import type { HttpReply, Transport } from './http.js'
import { followRedirects } from './redirects.js'
import { requestOf } from './request.js'
import { retryAfterMs } from './retry-after.js'

/**
 * Asks the provider. Emits the answer once, or errors with what is left after the retries; it is the only place that retries, and
 * what it repeats is one request. Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: NoInfer<Input>) => Observable<Answer>

export interface AskOptions {
  readonly transport: Transport
  readonly settings: Settings
  /** Of all streams of the run: they share what a host allows. */
  readonly gates: Gates
  /** Time that one attempt may take; waiting for the host's gate is none of it. */
  readonly timeoutMs: number
  readonly random: () => number
  /** The current instant, epoch milliseconds; dates in `Retry-After` count from it. */
  readonly clock: () => number
  readonly tell: (what: 'requested' | 'retried' | 'rate-limited') => void
}

export const createAsk = ({ transport, settings, gates, timeoutMs, random, clock, tell }: AskOptions): Ask => {
  const { retries, throttleRetries, backoffMs } = settings
  const send = followRedirects(transport, settings)
  return (endpoint, input) => {
    const request = requestOf(endpoint, input, settings, timeoutMs)
    const gate = gates.of(endpoint.host)
    return defer(() => {
      let sent = 0
      const attempt$ = defer(() => {
        if (sent++ > 0) tell('retried')
        tell('requested')
        return send(request)
      }).pipe(
        deadline(timeoutMs),
        map((reply) => endpoint.read(textOf(accepted(reply, clock), endpoint), input)),
        tap({ error: (error: unknown) => error instanceof Throttled && tell('rate-limited') }),
      )
      return gate.through(attempt$).pipe(retryFailures({ retries, throttleRetries, backoffMs, random }))
    })
  }
}

const accepted = (reply: HttpReply, clock: () => number): HttpReply => {
  if (reply.status === 200 && reply.body.length === 0) throw new BadAnswer('empty', 'the body is empty')
  if (reply.status === 200) return reply
  throw reply.status === 429 ? new Throttled(retryAfterMs(reply.retryAfter, clock())) : new HttpError(reply.status)
}

/** Where nothing told the length of a body, a cut JSON or page still shows by its missing end; a CSV that lost its last lines looks whole. */
const textOf = ({ body, isUnframed }: HttpReply, { type }: Pick<AnyEndpoint, 'type'>): string => {
  if (isUnframed && type === 'text/csv') throw new BadAnswer('truncated', 'the CSV may be cut: nothing tells its length')
  return decoded(body)
}

const decoded = (body: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new BadAnswer('encoding', 'the body is not UTF-8')
  }
}
