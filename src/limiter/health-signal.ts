import {
  BadAnswerError,
  type CollectError,
  type FailureCause,
  formatError,
  HttpError,
  ThrottledError,
  TransportError,
  type TransportReason,
} from '../model/errors.js'

/**
 * What one attempt shows about the health of its host:
 * - `answered`: the host works, whatever it replied.
 * - `refused`: a 429.
 * - `non-answer`: an HTML page or an empty body instead of data.
 * - `trouble`: the host is down or overloaded. `sign` is the evidence: `unreachable`, no connection;
 * `gateway`, a 502 to 504, a reset or
 * silence; `item`, what may be the item's own fault (500, 408, 425, a truncated body); `slow`, a reply that
 * did not end in time.
 * - `slow`: the network link is saturated.
 * - `inconclusive`: a cancelled request, a bad certificate, a reply that is too large, a bug.
 */
export type HealthSignal =
  | { readonly kind: 'answered' | 'non-answer' | 'slow' | 'inconclusive' }
  | RefusalSignal
  | TroubleSignal

export interface RefusalSignal {
  readonly kind: 'refused'
  readonly retryAfterMs: number | undefined
  /** The host is known to refuse requests: it backs off at once. */
  readonly isCertain?: boolean
  /** It was no 429, but a failure beside answers, */
  readonly isDoubtful?: boolean
  /** this one. */
  readonly trouble?: TroubleSignal
}

export interface TroubleSignal {
  readonly kind: 'trouble'
  readonly sign: 'unreachable' | 'gateway' | 'item' | 'slow'
  readonly reason: string
  readonly causes?: readonly FailureCause[]
  readonly retryAfterMs: number | undefined
  /**
   * A host that answers others meanwhile says "too fast" or "too many connections" with it: a 502 to 504, a
   * reset, a refused connection.
   */
  readonly mayBeLimit?: boolean
}

export const answered: HealthSignal = { kind: 'answered' }
export const inconclusive: HealthSignal = { kind: 'inconclusive' }

const SIGNS: Partial<Record<TransportReason, TroubleSignal['sign']>> = {
  connect: 'unreachable',
  dns: 'unreachable',
  reset: 'gateway',
  protocol: 'gateway',
  truncated: 'item',
}

export const classifyError = (error: unknown): HealthSignal => {
  if (error instanceof ThrottledError) return { kind: 'refused', retryAfterMs: error.retryAfterMs }
  if (error instanceof BadAnswerError)
    return error.reason === 'html' || error.reason === 'empty' ? { kind: 'non-answer' } : answered
  if (error instanceof HttpError) {
    if (!error.isTemporary) return answered
    const isGateway = error.statusCode >= 502
    return { ...toTrouble(error, isGateway ? 'gateway' : 'item', error.retryAfterMs), mayBeLimit: isGateway }
  }
  if (!(error instanceof TransportError)) return inconclusive
  if (error.reason === 'slow') return { kind: 'slow' }
  if (error.reason === 'deadline') return toTrouble(error, error.hasBegun ? 'slow' : 'gateway')
  const sign = SIGNS[error.reason]
  if (sign === undefined) return inconclusive
  return { ...toTrouble(error, sign), mayBeLimit: error.reason === 'reset' || error.reason === 'connect' }
}

const toTrouble = (
  error: CollectError,
  sign: TroubleSignal['sign'],
  retryAfterMs?: number,
): TroubleSignal => ({
  kind: 'trouble',
  sign,
  reason: formatError(error),
  causes: error.causes,
  retryAfterMs,
})
