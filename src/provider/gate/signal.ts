import { BadAnswer, HttpError, messageOf, Throttled, TransportError } from '../../model/errors.js'

/**
 * What the end of one attempt says of its host: it answered, it refused, it sent a page or nothing where an answer was due, it
 * could not be reached. Some say nothing: a cancelled request, a certificate, an answer that is too long, a bug of our own.
 */
export type Signal =
  | { readonly kind: 'answered' | 'blank' | 'nothing' }
  | { readonly kind: 'refused'; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'unreachable'; readonly reason: string }

export const answered: Signal = { kind: 'answered' }
export const nothing: Signal = { kind: 'nothing' }

/** A body that is cut, too: the host had begun to answer. */
const OF_NO_HOST: ReadonlySet<TransportError['reason']> = new Set(['tls', 'too_large', 'fd', 'truncated'])

export const signalOf = (error: unknown): Signal => {
  if (error instanceof Throttled) return { kind: 'refused', retryAfterMs: error.retryAfterMs }
  if (error instanceof BadAnswer) return error.reason === 'html' || error.reason === 'empty' ? { kind: 'blank' } : answered
  if (error instanceof HttpError) return answered
  if (error instanceof TransportError && !OF_NO_HOST.has(error.reason)) return { kind: 'unreachable', reason: messageOf(error) }
  return nothing
}
