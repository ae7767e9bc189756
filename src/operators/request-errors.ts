import {
  CollectError,
  describeNetworkError,
  TransportError,
  type TransportReason,
  UsageError,
} from '../model/errors.js'
import { findClosest, suggest } from '../model/text.js'

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

/** What an error of Node or undici says about a request. `hasBegun`: part of the reply had arrived. */
export const toTransportReason = (error: unknown, hasBegun: boolean): TransportReason => {
  const { code: given, name } = error as { readonly code?: unknown; readonly name?: string }
  const code = typeof given === 'string' ? given : ''
  const known = REASONS[code]
  if (known !== undefined) return known
  if (/CERT|SELF_SIGNED|^ERR_TLS|ERR_SSL|^UNABLE_TO_/.test(code)) return 'tls'
  if (code.startsWith('Z_')) return 'truncated'
  if (UNSENT.test(code)) return 'unsent'
  // undici's parser errors have no code.
  if (name === 'HTTPParserError' && !hasBegun) return 'protocol'
  return hasBegun ? 'truncated' : 'reset'
}

/** No waiting cures them. */
const UNSENT = /^(?:UND_ERR_INVALID_|UND_ERR_NOT_SUPPORTED$|ERR_ACCESS_DENIED$|ERR_INVALID_)/

/** Codes of failed connections beside those above. */
const NETWORK_CODE =
  /^(?:UND_ERR_(?!ABORTED|INVALID_ARG|INVALID_RETURN)|ECONN|EPIPE|ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO_)|SELF_SIGNED/

/**
 * The texts of `fetch` for a request without an answer, in Node and in browsers, and for one whose body ended
 * early.
 */
const FETCH_FAILED = /^(?:fetch failed|Failed to fetch|Load failed|NetworkError\b)/
const BODY_ENDED = /^terminated$/

/**
 * The error of a request of `fetch`, undici or `node:http`, or of RxJS's `timeout`, as a `TransportError`,
 * whose verdict says whether another attempt may succeed. Any other error stays as it is: an expected
 * failure, a bug, or a request that the app aborted.
 *
 * @example
 * fromFetch(url).pipe(retryFailures(), catchItemFailure((reason) => of({ url, reason })))
 * request$.pipe(catchError((error) => throwError(() => toRequestError(error))))
 */
export const toRequestError = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof CollectError) return error
  const { cause } = error
  if (error.name === 'TimeoutError') return new TransportError('deadline', error.message, { cause: error })
  const hasBegun = error instanceof TypeError && BODY_ENDED.test(error.message)
  if (hasBegun || (error instanceof TypeError && FETCH_FAILED.test(error.message)))
    return wrapInTransportError(cause ?? error, hasBegun, error)
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && (Object.hasOwn(REASONS, code) || NETWORK_CODE.test(code))
    ? wrapInTransportError(error, false, error)
    : error
}

const wrapInTransportError = (why: unknown, hasBegun: boolean, cause: Error): TransportError =>
  new TransportError(toTransportReason(why, hasBegun), describeNetworkError(why), { cause, hasBegun })

/**
 * Checks what the compiler does not see in JavaScript. @throws UsageError for an unknown option, or a number
 * that is not 0 or more
 */
export const checkOperatorOptions = (operator: string, options: object, known: readonly string[]): void => {
  for (const name in options) {
    const value: unknown = options[name as keyof typeof options]
    if (!known.includes(name))
      throw new UsageError(`${operator}: unknown option "${name}"${suggest(findClosest(name, known))}`)
    if (typeof value === 'number' && !(value >= 0))
      throw new UsageError(`${operator}: ${name} is ${value}; use a number from 0 on`)
  }
}
