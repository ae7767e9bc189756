import {
  describeNetworkError,
  formatError,
  isError,
  TransportError,
  type TransportReason,
  UsageError,
} from '../model/errors.js'
import { isMisuse, toTransportReason } from '../operators/request-errors.js'
import { type NetworkProxy, toProxyError } from './proxy.js'

/** Header fields of a reply by name, in lower case. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The reply that an interceptor (`responseError` of undici) has made an error of. */
export const readErrorReply = (
  error: object,
): { readonly status: number; readonly headers: ReplyHeaders; readonly body: Buffer } | undefined => {
  const { code, statusCode, headers, body } = error as {
    readonly code?: unknown
    readonly statusCode?: number
    readonly headers?: ReplyHeaders
    readonly body?: unknown
  }
  if (code !== 'UND_ERR_RESPONSE' || statusCode === undefined) return undefined
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? '')
  return { status: statusCode, headers: headers ?? {}, body: Buffer.from(text) }
}

const MISUSE = 'the dispatcher must be one of undici 7 or newer'
const FORBIDDEN = 'the permission model of Node forbids it; allow this process the network'

/** An error that no waiting cures: it ends the run at once. */
const describeMisuse = (error: unknown): UsageError | undefined => {
  if (!isMisuse(error)) return undefined
  const advice = error.code === 'ERR_ACCESS_DENIED' ? FORBIDDEN : MISUSE
  return new UsageError(`no request can be sent (${formatError(error)}): ${advice}`, { cause: error })
}

/** What an origin has shown in this run. */
export interface OriginRecord {
  hasAnswered: boolean
  /** The failures in a row that were the same and no other attempt may cure. */
  equal: { readonly text: string; readonly count: number } | undefined
}

export const createOriginRecord = (): OriginRecord => ({ hasAnswered: false, equal: undefined })

interface ErrorRoute {
  readonly origin: string
  readonly proxy?: NetworkProxy | undefined
  readonly record?: OriginRecord
}

type Options = NonNullable<ConstructorParameters<typeof TransportError>[2]>

interface Described extends Pick<Options, 'advice'> {
  readonly reason: TransportReason
  readonly text: string
}

/**
 * Converts an error of undici. `hasBegun`: part of the response had arrived. `route`: what the request went
 * through. A request that a `MockAgent` has no answer for is a mistake in a test: it stays as it is and ends
 * the run, because an outage would be waited for.
 */
export const describeTransportError = (error: unknown, hasBegun: boolean, route?: ErrorRoute): Error => {
  if (error instanceof TransportError || isUnmatchedMock(error)) return error
  const refused = route?.proxy && toProxyError(error, route.proxy, route.origin)
  if (refused) return refused
  const misuse = hasBegun ? undefined : describeMisuse(error)
  if (misuse) return misuse
  const { reason, text, ...options } = judgeRepeated(describeCause(error, hasBegun, route), route?.record)
  return new TransportError(reason, text, { cause: error, hasBegun, ...options })
}

const isUnmatchedMock = (error: unknown): error is Error =>
  isError(error) && 'code' in error && error.code === 'UND_MOCK_ERR_MOCK_NOT_MATCHED'

const describeCause = (error: unknown, hasBegun: boolean, route?: ErrorRoute): Described => {
  const { origin, proxy, record } = route ?? {}
  const reason = toTransportReason(error, hasBegun)
  const text = describeNetworkError(error)
  const [isNew, isTls] = [record?.hasAnswered === false, origin?.startsWith('https:')]
  if (reason === 'fd')
    return { reason, text: `${text}; raise the limit with \`ulimit -n\`, or use fewer workers` }
  if (reason === 'protocol' && isNew) return describeUnreadable(error, text)
  if (reason === 'tls') return { reason, text, advice: findTlsAdvice(error) }
  if (reason === 'reset' && isNew && isTls && isClosedAfterHandshake(error))
    return {
      reason,
      text: 'the other side closes the connection after the TLS handshake; it may speak HTTP/2 only',
      advice: 'http2',
    }
  if (reason === 'reset' && isNew && origin !== undefined && !isTls)
    return { reason, text, advice: 'may-need-tls' }
  // A connection is to the proxy: a host behind it that is unreachable is the proxy's answer.
  const isProxy = proxy && (reason === 'connect' || reason === 'dns')
  return {
    reason,
    text: isProxy ? `the proxy ${proxy.shown} (${proxy.variable}) is not reachable: ${text}` : text,
  }
}

/** So many failures that are the same, from a host that has never answered, are no accident. */
const MAX_EQUAL = 3

/** A host that may be starting is asked again; what it says each time is its answer. */
const judgeRepeated = (one: Described, record: OriginRecord | undefined): Described => {
  if (record === undefined) return one
  const isLasting = !record.hasAnswered && (one.reason === 'protocol' || one.advice === 'http2')
  const count = record.equal?.text === one.text ? record.equal.count + 1 : 1
  record.equal = isLasting ? { text: one.text, count } : undefined
  return isLasting && count >= MAX_EQUAL ? { ...one, reason: 'no-http' } : one
}

/** The record of an alert. */
const TLS_ALERT = '\x15\x03'
/** The frame SETTINGS of stream 0, with which HTTP/2 begins: three bytes of length, type, flags, stream. */
const isHttp2 = (bytes: string): boolean => bytes[3] === '\x04' && bytes.slice(5, 9) === '\0\0\0\0'

/** What came instead of HTTP. */
const describeUnreadable = (error: unknown, text: string): Described => {
  const { data } = error as { readonly data?: unknown }
  const bytes = typeof data === 'string' ? data : ''
  const reason = 'protocol'
  if (bytes.startsWith(TLS_ALERT)) return { reason, text: 'this port expects TLS', advice: 'needs-tls' }
  if (isHttp2(bytes))
    return { reason, text: 'this port speaks HTTP/2 without TLS, not HTTP/1.1', advice: 'http2' }
  return { reason, text }
}

const isClosedAfterHandshake = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'UND_ERR_SOCKET'

const findTlsAdvice = (error: unknown): Options['advice'] => {
  const { code } = error as NodeJS.ErrnoException
  if (code === MISSING_ISSUER) return 'issuer'
  return code === 'ERR_SSL_WRONG_VERSION_NUMBER' ? 'said' : undefined
}

const MISSING_ISSUER = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'

/** The error of a connection; the one of a certificate without that of its issuer names the issuer. */
export const nameIssuer = (error: Error, issuer: string | undefined): Error => {
  const { code } = error as NodeJS.ErrnoException
  if (code !== MISSING_ISSUER || issuer === undefined) return error
  const text = `the server does not send the certificate of "${issuer}", which issued its own`
  return Object.assign(new Error(text, { cause: error }), { code })
}
