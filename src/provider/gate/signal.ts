import { BadAnswer, HttpError, messageOf, Throttled, TransportError } from '../../model/errors.js'

/**
 * What the end of one attempt says of its host:
 * - `answered`: it serves, whatever it said.
 * - `refused`: a 429.
 * - `blank`: a page or nothing where an answer was due.
 * - `trouble`: it is away or overloaded. `sign` says how sure that is: `away`, no connection; `gateway`, what stands for the host
 *   (502 to 504, a reset, silence); `item`, which may as well be this item's own (500, 408, 425).
 * - `slow`: the answer came, but too slowly.
 * - `nothing`: a cancelled request, a certificate, an answer that is too long, a bug of our own.
 */
export type Signal =
  | { readonly kind: 'answered' | 'blank' | 'slow' | 'nothing' }
  | { readonly kind: 'refused'; readonly retryAfterMs: number | undefined }
  | Troubled

export interface Troubled {
  readonly kind: 'trouble'
  readonly sign: 'away' | 'gateway' | 'item'
  readonly reason: string
  readonly retryAfterMs: number | undefined
}

export const answered: Signal = { kind: 'answered' }
export const nothing: Signal = { kind: 'nothing' }
const slow: Signal = { kind: 'slow' }

export const signalOf = (error: unknown): Signal => {
  if (error instanceof Throttled) return { kind: 'refused', retryAfterMs: error.retryAfterMs }
  if (error instanceof BadAnswer) return error.reason === 'html' || error.reason === 'empty' ? { kind: 'blank' } : answered
  if (error instanceof HttpError) return ofStatus(error)
  if (error instanceof TransportError) return ofTransport(error)
  return nothing
}

const ofStatus = (error: HttpError): Signal => {
  if (!error.isTemporary) return answered
  const sign = error.statusCode >= 502 ? 'gateway' : 'item'
  return { kind: 'trouble', sign, reason: messageOf(error), retryAfterMs: error.retryAfterMs }
}

const ofTransport = (error: TransportError): Signal => {
  const trouble = (sign: Troubled['sign']): Signal => ({ kind: 'trouble', sign, reason: messageOf(error), retryAfterMs: undefined })
  switch (error.reason) {
    case 'connect':
    case 'dns':
      return trouble('away')
    case 'reset':
    case 'protocol':
      return trouble('gateway')
    case 'slow':
      return slow
    case 'deadline':
      return error.hasBegun ? slow : trouble('gateway')
    // A body that is cut, too: the host had begun to answer.
    default:
      return nothing
  }
}
