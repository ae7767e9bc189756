import { asyncScheduler } from 'rxjs'
import {
  CollectError,
  describeNetworkError,
  HttpError,
  ThrottledError,
  TransportError,
  type TransportReason,
  UsageError,
} from '../model/errors.js'
import { findClosest, findRetryAfter, parseRetryAfter, suggest } from '../model/text.js'

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
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: 'truncated',
  ERR_STREAM_PREMATURE_CLOSE: 'truncated',
  ERR_BUFFER_TOO_LARGE: 'too_large',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  EMFILE: 'fd',
  ENFILE: 'fd',
}

/** What an error of Node or undici says about a request. `hasBegun`: part of the reply had arrived. */
export const toTransportReason = (error: unknown, hasBegun: boolean): TransportReason => {
  const { code: given, name } = error as { readonly code?: unknown; readonly name?: string }
  const code = String(given)
  const known = REASONS[code]
  if (known !== undefined) return known
  if (/CERT|SELF_SIGNED|^ERR_TLS|ERR_SSL|^UNABLE_TO_/.test(code)) return 'tls'
  if (code.startsWith('Z_')) return 'truncated'
  // undici's parser errors have no code.
  if ((name === 'HTTPParserError' || code.startsWith('HPE_')) && !hasBegun) return 'protocol'
  return hasBegun ? 'truncated' : 'reset'
}

/** What is read of the errors of clients; not their classes, because a test runner has a realm of its own. */
interface ClientError {
  readonly name?: string
  readonly message: string
  readonly stack?: string
  readonly code?: unknown
  readonly cause?: unknown
  readonly statusCode?: unknown
  readonly headers?: unknown
  readonly response?: { readonly status?: unknown; readonly statusCode?: unknown; readonly headers?: unknown }
}

/** Codes of failed connections beside those above. */
const NETWORK_CODE =
  /^(?:UND_ERR_|ECONN|EPIPE|HPE_|ERR_HTTP2_(?:STREAM|SESSION|GOAWAY)|ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO_)|SELF_SIGNED/
/** The app aborted the request. */
const ABORTED_CODE = /^(?:ABORT_ERR|UND_ERR_ABORTED|ERR_CANCELED)/
/** The app asked wrongly, or may not ask. */
const MISUSE_CODE = /^(?:ERR_ACCESS_DENIED|(?:UND_)?ERR_INVALID_)/

/**
 * The texts of `fetch` for a request without an answer, in Node and in browsers, and for one whose body ended
 * early.
 */
const FETCH_FAILED = /^(?:fetch failed|Failed to fetch|Load failed|NetworkError\b)/
const BODY_ENDED = /^(?:terminated|stream has been aborted)$/

const isWrapper = ({ name, message, code }: ClientError): boolean =>
  code === 'ERR_NETWORK' ||
  name === 'NetworkError' ||
  ((name === 'TypeError' || code === 'ERR_BAD_RESPONSE') && BODY_ENDED.test(message)) ||
  (name === 'TypeError' && FETCH_FAILED.test(message))

/**
 * Whether no other attempt helps. Another TypeError than those of `fetch` is a bug, such as a dispatcher
 * without the method that is called.
 */
export const isMisuse = (error: unknown): error is ClientError => {
  const one = error as ClientError
  return MISUSE_CODE.test(String(one.code)) || (one.name === 'TypeError' && !isWrapper(one))
}

const isHopeless = (error: ClientError): boolean =>
  error.name === 'AbortError' || ABORTED_CODE.test(String(error.code)) || isMisuse(error)

/**
 * Where `AbortSignal.timeout` aborts: node-fetch replaces the reason of a signal by an error that says only
 * that there was one.
 */
const TIMEOUT_FRAME = /_onTimeout \(node:internal\/abort_controller/

const isTimeout = ({ name, code, stack = '' }: ClientError): boolean =>
  name === 'TimeoutError' ||
  (name === 'AxiosError' && (code === 'ECONNABORTED' || code === 'ETIMEDOUT')) ||
  (name === 'AbortError' && TIMEOUT_FRAME.test(stack))

const isOfConnection = ({ name, code }: ClientError): boolean =>
  name === 'HTTPParserError' ||
  (typeof code === 'string' && (Object.hasOwn(REASONS, code) || NETWORK_CODE.test(code)))

const MAX_CAUSES = 3

/** An error, then its causes. */
const listErrors = (error: unknown): readonly ClientError[] => {
  const errors: ClientError[] = []
  let next = error as ClientError | null | undefined
  while (
    typeof next?.message === 'string' &&
    !(next instanceof CollectError) &&
    errors.length <= MAX_CAUSES
  ) {
    errors.push(next)
    next = next.cause as typeof next
  }
  return errors
}

/**
 * The error of a request of `fetch`, undici, `node:http`, axios, got, ky, wretch, ofetch or node-fetch, or of
 * RxJS's `timeout`, also as the cause of another one: as a `TransportError`, or for a status as an
 * `HttpError` or a `ThrottledError` with its `Retry-After`. The verdict says whether another attempt may
 * succeed. Any other error stays as it is: an expected failure, a bug, or a request that the app aborted.
 *
 * @example
 * fromFetch(url).pipe(retryFailures(), catchItemFailure((reason) => of({ url, reason })))
 * request$.pipe(catchError((error) => throwError(() => toRequestError(error))))
 */
export const toRequestError = (error: unknown): unknown => {
  const errors = listErrors(error)
  const timeout = errors.find(isTimeout)
  if (timeout === undefined && errors.some(isHopeless)) return error
  for (const { code, statusCode, headers, response } of errors) {
    const reply = String(code).startsWith('UND_ERR_') ? { statusCode, headers } : response
    const status = Number(reply?.statusCode ?? reply?.status)
    if (status >= 300) return toStatusError(status, reply?.headers, error)
  }
  const isBegun = errors.some(({ message }) => BODY_ENDED.test(message))
  const known = timeout ?? errors.find(isOfConnection)
  if (known === undefined && !errors.some(isWrapper)) return error
  const why = known ?? errors.at(-1)
  const reason = timeout ? 'deadline' : toTransportReason(why, isBegun)
  const hasBegun = isBegun || reason === 'truncated'
  return new TransportError(reason, describeNetworkError(why), { cause: error, hasBegun })
}

const toStatusError = (status: number, headers: unknown, cause: unknown): CollectError => {
  const fields = headers as { get?(name: string): unknown; readonly [name: string]: unknown } | undefined
  const find = (name: string): string | undefined => {
    const value = fields?.get?.(name) ?? fields?.[name]
    return value ? String(value) : undefined
  }
  const header = status === 429 ? findRetryAfter(find) : find('retry-after')
  const retryAfterMs = parseRetryAfter(header, asyncScheduler.now())
  return status === 429
    ? new ThrottledError(retryAfterMs, { cause })
    : new HttpError(status, retryAfterMs, { cause })
}

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
