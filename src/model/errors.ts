import {
  type Advice,
  type ErrorCode,
  joinCodes,
  type TransportReason,
  type UsageCode,
} from './error-codes.js'
import {
  type FailedExchange,
  type FailedRequest,
  type FailedResponse,
  formatExchange,
} from './failed-exchange.js'
import { type Optional, omitUndefined } from './row.js'

export {
  type Advice,
  type ErrorCode,
  errorCodes,
  joinCodes,
  refusals,
  type TransportReason,
  type UsageCode,
} from './error-codes.js'
export { describeNetworkError } from './network-error.js'

/**
 * What the collector does after an error; the error class decides. `await-host`: try again when the host is
 * back, without a limit. `wait`: try again after the pause that the host requests. `retry`: try again after a
 * back-off. `give-up`: this item fails, the run continues. `stop`: the run ends.
 */
export type Verdict = 'await-host' | 'wait' | 'retry' | 'give-up' | 'stop'

/** The statuses of the interface document. Each item ends with exactly one. */
export type Status = 'success' | 'skipped' | 'empty' | 'rate_limit' | `http_${number}` | 'error'

/** The kind of a failure, and the service of its request if it has one. */
export interface FailureCause {
  readonly code: ErrorCode
  readonly host?: string
  readonly advice?: Advice
}

export interface FailureOptions extends ErrorOptions, FailedExchange {
  /** The failures behind this one, if they were others. */
  readonly causes?: readonly FailureCause[] | undefined
  /** What to do, if `code` alone does not say it. */
  readonly advice?: Advice | undefined
}

/** One of the things that are wrong. */
export interface UsageIssue {
  /** The setting or the option, such as `retries`, `urls.news`, `workers.market-news` or `only`. */
  readonly path: string
  /** What is wrong, where, and what to do. */
  readonly message: string
  /** The known name that an unknown one most likely means. */
  readonly suggestion?: string
}

interface UsageOptions extends ErrorOptions {
  readonly code?: UsageCode | undefined
  readonly issues?: readonly UsageIssue[] | undefined
}

/** The base class of all expected failures. Any other error is a bug and stops the run. */
export abstract class CollectError extends Error {
  abstract readonly verdict: Verdict
  abstract readonly status: Status
  /**
   * The kind of failure, for programs, in reports and logs: `http_503`, `deadline`, `host-down`, `shrink`.
   */
  abstract readonly code: ErrorCode
  /** Whether the same request may succeed later: the host was down, slow or overloaded. */
  readonly isTemporary: boolean
  readonly request: FailedRequest | undefined
  readonly response: FailedResponse | undefined

  readonly #causes: readonly FailureCause[] | undefined
  readonly advice: Advice | undefined

  constructor(
    message: string,
    { request, response, causes, advice, isTemporary = false, ...options }: FailureOptions = {},
  ) {
    super(message, options)
    this.request = request
    this.response = response
    this.isTemporary = isTemporary
    this.#causes = causes
    this.advice = advice
  }

  static override readonly [Symbol.hasInstance] = isInstance

  /**
   * The same failure with its request and reply, as a new error. A class that a request can fail with
   * constructs a new error.
   */
  during(_exchange: FailedExchange): CollectError {
    return this
  }

  /** This failure, or those of all sources. */
  get causes(): readonly FailureCause[] {
    return this.#causes ?? [omitUndefined({ code: this.code, host: this.request?.host, advice: this.advice })]
  }
}

/**
 * Any thrown value as one line of text. For a failed request, with the request and, in brackets, the reply.
 */
export const formatError = (error: unknown): string =>
  (error instanceof CollectError ? formatExchange(error) : isError(error) ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .slice(0, MAX_MESSAGE_LENGTH)

const MAX_MESSAGE_LENGTH = 600

/** Also true in a realm with classes of its own, such as that of jest, for the errors of Node. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'

/**
 * An error in the code of a stream, as an error that names stream and item. An expected failure stays as it
 * is.
 */
export const nameBug = (error: unknown, what: string, item?: string): unknown =>
  error instanceof CollectError
    ? error
    : new Error(`${what} failed${item === undefined ? '' : ` at ${item}`}: ${formatError(error)}`, {
        cause: error,
      })

/** Calls the code of a stream; an error that it throws names stream and item. */
export const runNamed = <T>(what: string, item: string | undefined, act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw nameBug(error, what, item)
  }
}

/** Whether a failure affects one item only, so that the run continues. */
export const isItemError = (error: unknown): error is CollectError =>
  error instanceof CollectError && error.verdict !== 'stop'

/**
 * Makes `instanceof` true for an error of another copy of this package: the command is one bundled file, so a
 * module of `--streams` that imports the package gets classes of its own.
 */
export function isInstance(
  this: { readonly name: string; readonly prototype: object },
  value: unknown,
): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.prototype.isPrototypeOf.call(this.prototype, value)) return true
  const { name, verdict, isTemporary } = value as { readonly [field: string]: unknown }
  const isOfAnotherCopy = typeof verdict === 'string' && typeof isTemporary === 'boolean'
  return isOfAnotherCopy && (this.name === 'CollectError' || this.name === name)
}

/** The host refused the request, while it answered others or with a 429. It waits; that is no retry. */
export class ThrottledError extends CollectError {
  override readonly name = 'ThrottledError'
  readonly verdict = 'wait'
  readonly status = 'rate_limit'
  readonly code = 'rate_limit'

  /** @param retryAfterMs the pause in the reply's `Retry-After`, if it is valid */
  constructor(
    readonly retryAfterMs: number | undefined,
    exchange?: FailedExchange & ErrorOptions,
    private readonly answer = 'the provider answered 429',
  ) {
    super(`${answer}: rate limited`, { isTemporary: true, ...exchange })
  }

  override during(exchange: FailedExchange): ThrottledError {
    return new ThrottledError(this.retryAfterMs, { cause: this.cause, ...exchange }, this.answer)
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
    exchange?: FailureOptions & ErrorOptions,
  ) {
    super(`the provider answered ${statusCode}`, {
      isTemporary: TEMPORARY_STATUSES.has(statusCode),
      ...exchange,
    })
    this.verdict = TEMPORARY_STATUSES.has(statusCode) || statusCode >= 500 ? 'retry' : 'give-up'
    this.status = `http_${statusCode}`
    this.code = this.status
  }

  override during(exchange: FailedExchange): HttpError {
    return new HttpError(this.statusCode, this.retryAfterMs, {
      cause: this.cause,
      advice: this.advice,
      ...exchange,
    })
  }
}

/**
 * The host refused requests, or was down, for longer or more often than the settings allow: waiting for it is
 * over.
 */
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

/**
 * The host is down and its circuit is open. The request is sent again when the host is back, which does not
 * count as a retry.
 */
export class HostDownError extends CollectError {
  override readonly name = 'HostDownError'
  readonly verdict = 'await-host'
  readonly status = 'error'
  readonly code = 'host-down'

  constructor(message: string, options?: FailureOptions) {
    super(message, { isTemporary: true, ...options })
  }
}

/**
 * A request to an unreachable host waits until the host is back or given up: the request itself is not at
 * fault.
 */
const VERDICTS: Partial<Record<TransportReason, Verdict>> = {
  slow: 'wait',
  connect: 'wait',
  dns: 'wait',
  tls: 'give-up',
  proxy: 'give-up',
  'no-http': 'give-up',
  too_large: 'give-up',
  fd: 'stop',
}

/**
 * No complete reply arrived. With too few file descriptors (`fd`) the run ends, because this machine is at
 * fault, not the item.
 */
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
    return new TransportError(this.reason, this.detail, {
      cause: this.cause,
      hasBegun: this.hasBegun,
      advice: this.advice,
      ...exchange,
    })
  }
}

type BadReason = 'html' | 'empty' | 'parse' | 'schema' | 'encoding' | 'other-stock' | 'stale' | 'truncated'

/**
 * A 200 with an unusable body: an HTML page, truncated JSON, another envelope, another stock's data. Often a
 * retry succeeds.
 */
export class BadAnswerError extends CollectError {
  override readonly name = 'BadAnswerError'
  readonly verdict: Verdict
  readonly status = 'error'
  readonly code: BadReason

  constructor(
    readonly reason: BadReason,
    readonly detail: string,
    exchange?: FailedExchange,
  ) {
    super(`${reason}: ${detail}`, {
      isTemporary: reason !== 'schema' && reason !== 'other-stock' && reason !== 'stale',
      ...exchange,
    })
    this.verdict = reason === 'stale' ? 'give-up' : 'retry'
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

  /**
   * @param failures the failure of each alternative; temporary if one of them is. The last error among them
   * is the `cause`.
   */
  constructor(
    message: string,
    failures: readonly (Pick<CollectError, 'code'> &
      Optional<Pick<CollectError, 'isTemporary' | 'causes'>>)[] = [],
  ) {
    const causes = failures.flatMap((failure) => failure.causes ?? [{ code: failure.code }])
    const cause = failures.findLast((failure) => failure instanceof Error)
    super(message, {
      causes,
      isTemporary: failures.some(({ isTemporary }) => isTemporary),
      ...(cause ? { cause } : {}),
    })
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

/**
 * Counts that must agree do not, or written bytes differ from those read back: a bug, or broken memory. The
 * run ends; nothing of it is trusted.
 */
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

  constructor(message: string, { code = 'usage', issues = [], ...options }: UsageOptions = {}) {
    super(message, options)
    this.code = code
    this.issues = issues
  }
}
