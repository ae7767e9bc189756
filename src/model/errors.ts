import { isInstance } from './instance.js'

/**
 * What the collector does after an error; the error class decides. `await-host`: try again when the host is back, without a limit.
 * `wait`: try again after the pause that the host requests. `retry`: try again after a back-off. `give-up`: this item fails, the run
 * continues. `stop`: the run ends.
 */
export type Verdict = 'await-host' | 'wait' | 'retry' | 'give-up' | 'stop'

/** The statuses of the interface document. Each item ends with exactly one. */
export type Status = 'success' | 'skipped' | 'empty' | 'rate_limit' | `http_${number}` | 'error'

/** The base class of all expected failures. Any other error is a bug and stops the run. */
export abstract class CollectError extends Error {
  abstract readonly verdict: Verdict
  abstract readonly status: Status
  /** The kind of failure, for programs, in reports and logs: `http_503`, `deadline`, `host-down`, `shrink`. */
  abstract readonly code: string
  /** Whether the same request may succeed later: the host was down, slow or overloaded. */
  isTemporary = false
  /** The request that failed, without the stock: `POST static /staticscanx/lodr`. Absent if no request failed. */
  requested?: string
  /** The reply, if there was one: its type, its size and its beginning. */
  answered?: string

  static override readonly [Symbol.hasInstance] = isInstance
}

/** The host answered 429. The request is sent again after a pause, which does not count as a retry. */
export class ThrottledError extends CollectError {
  override readonly name = 'ThrottledError'
  readonly verdict = 'wait'
  readonly status = 'rate_limit'
  readonly code = 'rate_limit'
  override isTemporary = true

  /** @param retryAfterMs the pause in the reply's `Retry-After`, if it is valid */
  constructor(readonly retryAfterMs: number | undefined) {
    super('the provider answered 429: rate limited')
  }
}

/** Statuses that mean that the host is overloaded or down, not that the request was wrong. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 425, 500, 502, 503, 504])

/** Any other status than 200. Some are temporary trouble of the host; the others are final. */
export class HttpError extends CollectError {
  override readonly name = 'HttpError'
  readonly verdict: Verdict
  readonly status: Status
  override readonly code: `http_${number}`
  override isTemporary: boolean

  /** @param retryAfterMs the pause in the reply's `Retry-After`, if it is valid */
  constructor(
    readonly statusCode: number,
    readonly retryAfterMs?: number,
  ) {
    super(`the provider answered ${statusCode}`)
    this.isTemporary = TEMPORARY_STATUSES.has(statusCode)
    this.verdict = this.isTemporary || statusCode >= 500 ? 'retry' : 'give-up'
    this.status = `http_${statusCode}`
    this.code = this.status
  }
}

/** Fail fast: the host refused every request, or was down, for longer than the settings allow. The request was not sent. */
export class HostClosedError extends CollectError {
  override readonly name = 'HostClosedError'
  readonly verdict = 'give-up'
  readonly code: 'rate_limit' | 'host-down'
  override isTemporary = true

  constructor(
    readonly status: 'rate_limit' | 'error',
    message: string,
  ) {
    super(message)
    this.code = status === 'rate_limit' ? status : 'host-down'
  }
}

/** The host is down and its circuit is open. The request is sent again when the host is back, which does not count as a retry. */
export class HostDownError extends CollectError {
  override readonly name = 'HostDownError'
  readonly verdict = 'await-host'
  readonly status = 'error'
  readonly code = 'host-down'
  override isTemporary = true
}

/** Why no complete reply arrived. `slow`: a deadline passed while our own line was full. `fd`: this machine has too few file descriptors. */
export type TransportReason = 'deadline' | 'slow' | 'connect' | 'dns' | 'tls' | 'reset' | 'truncated' | 'protocol' | 'too_large' | 'fd'

/** A request to an unreachable host waits until the host is back or given up: the request itself is not at fault. */
const VERDICTS: Partial<Record<TransportReason, Verdict>> = {
  slow: 'wait',
  connect: 'wait',
  dns: 'wait',
  tls: 'give-up',
  too_large: 'give-up',
  fd: 'stop',
}

/** No complete reply arrived. With too few file descriptors (`fd`) the run ends, because this machine is at fault, not the item. */
export class TransportError extends CollectError {
  override readonly name = 'TransportError'
  readonly verdict: Verdict
  readonly status = 'error'
  readonly code: TransportReason
  override isTemporary: boolean
  /** Whether part of a reply had arrived. */
  readonly hasBegun: boolean

  constructor(
    readonly reason: TransportReason,
    message: string,
    { hasBegun = false, ...options }: ErrorOptions & { readonly hasBegun?: boolean } = {},
  ) {
    super(`${reason}: ${message}`, options)
    this.hasBegun = hasBegun
    this.verdict = VERDICTS[reason] ?? 'retry'
    this.isTemporary = this.verdict === 'retry' || this.verdict === 'wait'
    this.code = reason
  }
}

/** A 200 with an unusable body: an HTML page, truncated JSON, another envelope, another stock's data. Often a retry succeeds. */
export class BadAnswerError extends CollectError {
  override readonly name = 'BadAnswerError'
  readonly verdict = 'retry'
  readonly status = 'error'
  readonly code: string
  override isTemporary: boolean

  constructor(
    readonly reason: 'html' | 'empty' | 'parse' | 'schema' | 'encoding' | 'other-stock' | 'truncated',
    message: string,
  ) {
    super(`${reason}: ${message}`)
    this.code = reason
    this.isTemporary = reason !== 'schema' && reason !== 'other-stock'
  }
}

/** Every alternative failed (all tiers, all chunks, all days). The message lists the reason of each. */
export class NothingAnsweredError extends CollectError {
  override readonly name = 'NothingAnsweredError'
  readonly verdict = 'give-up'
  readonly status = 'error'
  override isTemporary: boolean

  /** `isTemporary`: at least one failure is; `code`: the kind of failure, if it is the same for all. */
  constructor(
    message: string,
    isTemporary = false,
    readonly code: string = 'no-answer',
  ) {
    super(message)
    this.isTemporary = isTemporary
  }
}

/** The folder cannot be written or read. The run ends; existing files stay as they are. */
export class StorageError extends CollectError {
  override readonly name = 'StorageError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code = 'storage'
}

/** A required file of an earlier run cannot be read. The file stays as it is; the items that need it fail. */
export class DamagedFileError extends CollectError {
  override readonly name = 'DamagedFileError'
  readonly verdict = 'give-up'
  readonly status = 'error'
  readonly code = 'damaged-file'
}

/** A setting, a name or a symbol is wrong or missing. The message names it, its source and the remedy. */
export class UsageError extends CollectError {
  override readonly name = 'UsageError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code = 'usage'
}

/** Any thrown value as one line of text. For a failed request, with the request and, in brackets, the reply. */
export const formatError = (error: unknown): string =>
  (error instanceof CollectError ? formatExchange(error) : error instanceof Error ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .slice(0, MAX_MESSAGE_LENGTH)

const MAX_MESSAGE_LENGTH = 600

const formatExchange = ({ requested, message, answered }: CollectError): string =>
  `${requested === undefined ? '' : `${requested}: `}${message}${answered === undefined ? '' : ` (${answered})`}`

/** Whether a failure affects one item only, so that the run continues. */
export const isItemError = (error: unknown): error is CollectError => error instanceof CollectError && error.verdict !== 'stop'
