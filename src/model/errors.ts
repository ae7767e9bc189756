import {
  CollectError,
  type FailedExchange,
  type FailureOptions,
  type Status,
  type UsageIssue,
  type UsageOptions,
  type Verdict,
} from './collect-error.js'
import { type ErrorCode, joinCodes, type TransportReason, type UsageCode } from './error-codes.js'
import type { Optional } from './optional.js'

export * from './collect-error.js'
export { type ErrorCode, errorCodes, joinCodes, refusals, type TransportReason, type UsageCode } from './error-codes.js'

/** The host answered 429. The request is sent again after a pause, which does not count as a retry. */
export class ThrottledError extends CollectError {
  override readonly name = 'ThrottledError'
  readonly verdict = 'wait'
  readonly status = 'rate_limit'
  readonly code = 'rate_limit'

  /** @param retryAfterMs the pause in the reply's `Retry-After`, if it is valid */
  constructor(
    readonly retryAfterMs: number | undefined,
    exchange?: FailedExchange,
  ) {
    super('the provider answered 429: rate limited', { isTemporary: true, ...exchange })
  }

  override during(exchange: FailedExchange): ThrottledError {
    return new ThrottledError(this.retryAfterMs, exchange)
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

  /** @param retryAfterMs the pause in the reply's `Retry-After`, if it is valid */
  constructor(
    readonly statusCode: number,
    readonly retryAfterMs?: number,
    exchange?: FailedExchange,
  ) {
    super(`the provider answered ${statusCode}`, { isTemporary: TEMPORARY_STATUSES.has(statusCode), ...exchange })
    this.verdict = TEMPORARY_STATUSES.has(statusCode) || statusCode >= 500 ? 'retry' : 'give-up'
    this.status = `http_${statusCode}`
    this.code = this.status
  }

  override during(exchange: FailedExchange): HttpError {
    return new HttpError(this.statusCode, this.retryAfterMs, exchange)
  }
}

/** Fail fast: the host refused every request, or was down, for longer than the settings allow. The request was not sent. */
export class HostClosedError extends CollectError {
  override readonly name = 'HostClosedError'
  readonly verdict = 'give-up'
  readonly code: 'rate_limit' | 'host-down'

  constructor(
    readonly status: 'rate_limit' | 'error',
    message: string,
    options?: FailureOptions,
  ) {
    super(message, { isTemporary: true, ...options })
    this.code = status === 'rate_limit' ? status : 'host-down'
  }
}

/** The host is down and its circuit is open. The request is sent again when the host is back, which does not count as a retry. */
export class HostDownError extends CollectError {
  override readonly name = 'HostDownError'
  readonly verdict = 'await-host'
  readonly status = 'error'
  readonly code = 'host-down'

  constructor(message: string, options?: FailureOptions) {
    super(message, { isTemporary: true, ...options })
  }
}

/** A request to an unreachable host waits until the host is back or given up: the request itself is not at fault. */
const VERDICTS: Partial<Record<TransportReason, Verdict>> = {
  slow: 'wait',
  connect: 'wait',
  dns: 'wait',
  tls: 'give-up',
  proxy: 'give-up',
  too_large: 'give-up',
  fd: 'stop',
}

/** No complete reply arrived. With too few file descriptors (`fd`) the run ends, because this machine is at fault, not the item. */
export class TransportError extends CollectError {
  override readonly name = 'TransportError'
  readonly verdict: Verdict
  readonly status = 'error'
  readonly code: TransportReason
  /** Whether part of a reply had arrived. */
  readonly hasBegun: boolean

  constructor(
    readonly reason: TransportReason,
    readonly detail: string,
    { hasBegun = false, ...options }: FailureOptions & { readonly hasBegun?: boolean | undefined } = {},
  ) {
    const verdict = VERDICTS[reason] ?? 'retry'
    super(`${reason}: ${detail}`, { isTemporary: verdict === 'retry' || verdict === 'wait', ...options })
    this.hasBegun = hasBegun
    this.verdict = verdict
    this.code = reason
  }

  override during(exchange: FailedExchange): TransportError {
    return new TransportError(this.reason, this.detail, { cause: this.cause, hasBegun: this.hasBegun, ...exchange })
  }
}

/** A 200 with an unusable body: an HTML page, truncated JSON, another envelope, another stock's data. Often a retry succeeds. */
export class BadAnswerError extends CollectError {
  override readonly name = 'BadAnswerError'
  readonly verdict = 'retry'
  readonly status = 'error'
  readonly code: BadAnswerError['reason']

  constructor(
    readonly reason: 'html' | 'empty' | 'parse' | 'schema' | 'encoding' | 'other-stock' | 'truncated',
    readonly detail: string,
    exchange?: FailedExchange,
  ) {
    super(`${reason}: ${detail}`, { isTemporary: reason !== 'schema' && reason !== 'other-stock', ...exchange })
    this.code = reason
  }

  override during(exchange: FailedExchange): BadAnswerError {
    return new BadAnswerError(this.reason, this.detail, exchange)
  }
}

/** Every alternative failed (all tiers, all chunks, all days). The message lists the reason of each. */
export class NothingAnsweredError extends CollectError {
  override readonly name = 'NothingAnsweredError'
  readonly verdict = 'give-up'
  readonly status = 'error'
  /** The code of the failures, joined by `joinCodes`. */
  readonly code: ErrorCode

  /** @param failures the failure of each alternative; temporary if one of them is. The last error among them is the `cause`. */
  constructor(
    message: string,
    failures: readonly (Pick<CollectError, 'code'> & Optional<Pick<CollectError, 'isTemporary' | 'causes'>>)[] = [],
  ) {
    const causes = failures.flatMap((failure) => failure.causes ?? [{ code: failure.code }])
    const cause = failures.findLast((failure) => failure instanceof Error)
    super(message, { causes, isTemporary: failures.some(({ isTemporary }) => isTemporary), ...(cause ? { cause } : {}) })
    this.code = joinCodes(failures.map((failure) => failure.code))
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

/** Counts that must agree do not, or written bytes differ from those read back: a bug, or broken memory. The run ends; nothing of it is trusted. */
export class InternalError extends CollectError {
  override readonly name = 'InternalError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code = 'internal'
}

/** A setting, a name or a symbol is wrong or missing. The message names it, its source and the remedy. */
export class UsageError extends CollectError {
  override readonly name = 'UsageError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code: UsageCode
  /** Each wrong setting; empty if the error is about something else. */
  readonly issues: readonly UsageIssue[]

  constructor(message: string, { code = 'usage', issues = [], ...options }: UsageOptions<UsageCode> = {}) {
    super(message, options)
    this.code = code
    this.issues = issues
  }
}
