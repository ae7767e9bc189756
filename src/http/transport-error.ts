import { describeNetworkError, formatError, isError, TransportError, UsageError } from '../model/errors.js'
import { isMisuse, toTransportReason } from '../operators/request-errors.js'
import { type NetworkProxy, toProxyError } from './proxy.js'

/** Header fields of a reply by name, in lower case. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The reply that an interceptor (`responseError` of undici) has made an error of. */
export const readErrorReply = (error: object) => {
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

/**
 * Converts an error of undici. `hasBegun`: part of the response had arrived. `proxy`: the request went
 * through it. A request that a `MockAgent` has no answer for is a mistake in a test: it stays as it is and
 * ends the run, because an outage would be waited for.
 */
export const describeTransportError = (error: unknown, hasBegun: boolean, proxy?: NetworkProxy): Error => {
  if (error instanceof TransportError || isUnmatchedMock(error)) return error
  const refused = proxy && toProxyError(error, proxy)
  if (refused) return refused
  const misuse = hasBegun ? undefined : describeMisuse(error)
  if (misuse) return misuse
  const reason = toTransportReason(error, hasBegun)
  const advice = reason === 'fd' ? '; raise the limit with `ulimit -n`, or use fewer workers' : ''
  // A connection is to the proxy: a host behind it that is unreachable is the proxy's answer.
  const where =
    proxy && (reason === 'connect' || reason === 'dns')
      ? `the proxy ${proxy.shown} (${proxy.variable}) is not reachable: `
      : ''
  return new TransportError(reason, where + describeNetworkError(error) + advice, { cause: error, hasBegun })
}

const isUnmatchedMock = (error: unknown): error is Error =>
  isError(error) && 'code' in error && error.code === 'UND_MOCK_ERR_MOCK_NOT_MATCHED'
