import { BadAnswerError, type FailureCause, formatError, HttpError, ThrottledError, TransportError } from '../model/errors.js'

/**
 * What one attempt shows about the health of its host:
 * - `answered`: the host works, whatever it replied.
 * - `refused`: a 429.
 * - `non-answer`: an HTML page or an empty body instead of data.
 * - `trouble`: the host is down or overloaded. `sign` is the evidence: `unreachable`, no connection; `gateway`, a 502 to 504, a reset or
 *   silence; `item`, what may be the item's own fault (500, 408, 425, a truncated body); `slow`, a reply that did not end in time.
 * - `slow`: the network link is saturated.
 * - `inconclusive`: a cancelled request, a bad certificate, a reply that is too large, a bug.
 */
export type HealthSignal = { readonly kind: 'answered' | 'non-answer' | 'slow' | 'inconclusive' } | RefusalSignal | TroubleSignal

export interface RefusalSignal {
  readonly kind: 'refused'
  readonly retryAfterMs: number | undefined
  /** The host is known to refuse requests: it backs off at once. */
  readonly isCertain?: boolean
}

export interface TroubleSignal {
  readonly kind: 'trouble'
  readonly sign: 'unreachable' | 'gateway' | 'item' | 'slow'
  readonly reason: string
  readonly causes?: readonly FailureCause[]
  readonly retryAfterMs: number | undefined
}

export const answered: HealthSignal = { kind: 'answered' }
export const inconclusive: HealthSignal = { kind: 'inconclusive' }
const slow: HealthSignal = { kind: 'slow' }

export const classifyError = (error: unknown): HealthSignal => {
  if (error instanceof ThrottledError) return { kind: 'refused', retryAfterMs: error.retryAfterMs }
  if (error instanceof BadAnswerError) return error.reason === 'html' || error.reason === 'empty' ? { kind: 'non-answer' } : answered
  if (error instanceof HttpError) return classifyStatus(error)
  if (error instanceof TransportError) return classifyTransportError(error)
  return inconclusive
}

const classifyStatus = (error: HttpError): HealthSignal => {
  if (!error.isTemporary) return answered
  const sign = error.statusCode >= 502 ? 'gateway' : 'item'
  return { kind: 'trouble', sign, reason: formatError(error), causes: error.causes, retryAfterMs: error.retryAfterMs }
}

const classifyTransportError = (error: TransportError): HealthSignal => {
  const trouble = (sign: TroubleSignal['sign']): HealthSignal => ({
    kind: 'trouble',
    sign,
    reason: formatError(error),
    causes: error.causes,
    retryAfterMs: undefined,
  })
  switch (error.reason) {
    case 'connect':
    case 'dns':
      return trouble('unreachable')
    case 'reset':
    case 'protocol':
      return trouble('gateway')
    case 'slow':
      return slow
    case 'deadline':
      return trouble(error.hasBegun ? 'slow' : 'gateway')
    case 'truncated':
      return trouble('item')
    default:
      return inconclusive
  }
}
