import { TransportError, type TransportReason } from '../model/errors.js'
import { describeNetworkError } from '../model/system-error.js'
import { type NetworkProxy, toProxyError } from './proxy.js'

const REASONS: Readonly<Record<string, TransportReason>> = {
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  UND_ERR_HEADERS_TIMEOUT: 'deadline',
  UND_ERR_BODY_TIMEOUT: 'deadline',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'truncated',
  ERR_BUFFER_TOO_LARGE: 'too_large',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  EMFILE: 'fd',
  ENFILE: 'fd',
}

/**
 * Converts an error of undici. `hasBegun`: part of the response had arrived. `proxy`: the request went through it. A request that a
 * `MockAgent` has no answer for is a mistake in a test: it stays as it is and ends the run, because an outage would be waited for.
 */
export const toTransportError = (error: unknown, hasBegun: boolean, proxy?: NetworkProxy): Error => {
  if (error instanceof TransportError || isUnmatchedMock(error)) return error
  const refused = proxy && toProxyError(error, proxy)
  if (refused) return refused
  const code = (error as { readonly code?: unknown }).code
  const reason = toTransportReason(typeof code === 'string' ? code : '', (error as Error).name, hasBegun)
  const advice = reason === 'fd' ? '; raise the limit with `ulimit -n`, or use fewer workers' : ''
  // A connection is to the proxy: a host behind it that is unreachable is the proxy's answer.
  const where = proxy && (reason === 'connect' || reason === 'dns') ? `the proxy ${proxy.shown} (${proxy.variable}) is not reachable: ` : ''
  return new TransportError(reason, where + describeNetworkError(error) + advice, { cause: error, hasBegun })
}

const isUnmatchedMock = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'UND_MOCK_ERR_MOCK_NOT_MATCHED'

const toTransportReason = (code: string, name: string, hasBegun: boolean): TransportReason => {
  const known = REASONS[code]
  if (known !== undefined) return known
  if (/CERT|SELF_SIGNED|^ERR_TLS|ERR_SSL|^UNABLE_TO_/.test(code)) return 'tls'
  if (code.startsWith('Z_')) return 'truncated'
  // undici's parser errors have no code.
  if (name === 'HTTPParserError' && !hasBegun) return 'protocol'
  return hasBegun ? 'truncated' : 'reset'
}
