import type { ErrorCode } from './error-codes.js'
import { omitUndefined } from './row.js'

/**
 * What the collector does after an error; the error class decides. `await-host`: try again when the host is back, without a limit.
 * `wait`: try again after the pause that the host requests. `retry`: try again after a back-off. `give-up`: this item fails, the run
 * continues. `stop`: the run ends.
 */
export type Verdict = 'await-host' | 'wait' | 'retry' | 'give-up' | 'stop'

/** The statuses of the interface document. Each item ends with exactly one. */
export type Status = 'success' | 'skipped' | 'empty' | 'rate_limit' | `http_${number}` | 'error'

/** A failed request, without secrets. */
export interface FailedRequest {
  readonly method: string
  /** The service, such as `news`. */
  readonly host: string
  /** The path of the endpoint, with its placeholders. */
  readonly path: string
  readonly url: string
  readonly stream?: string | undefined
  /** The stock, index or list. */
  readonly item?: string | undefined
}

/** The reply to a failed request, without secrets. */
export interface FailedResponse {
  readonly status: number
  /** The content type, if it is valid. */
  readonly type: string | undefined
  /** Size of the decompressed body. */
  readonly bytes: number
  /** The beginning of the body as a quoted text; the title or the text of an HTML page. */
  readonly start: string | undefined
}

/** A failed request and, if there was one, its reply. */
export interface FailedExchange {
  readonly request?: FailedRequest | undefined
  readonly response?: FailedResponse | undefined
  /** Whether the same request may succeed later; default: what the class of the error says. */
  readonly isTemporary?: boolean | undefined
}

/** The kind of a failure, and the service of its request if it has one. */
export interface FailureCause {
  readonly code: ErrorCode
  readonly host?: string
}

export interface FailureOptions extends ErrorOptions, FailedExchange {
  /** The failures behind this one, if they were others. */
  readonly causes?: readonly FailureCause[] | undefined
}

/** One of the things that are wrong. */
export interface UsageIssue {
  /** The setting or the option, such as `newsLimit`, `urls.news`, `workers.market-news` or `only`. */
  readonly path: string
  /** What is wrong, where, and what to do. */
  readonly message: string
  /** The known name that an unknown one most likely means. */
  readonly suggestion?: string
}

export interface UsageOptions<Code> extends ErrorOptions {
  readonly code?: Code | undefined
  readonly issues?: readonly UsageIssue[] | undefined
}

/** The base class of all expected failures. Any other error is a bug and stops the run. */
export abstract class CollectError extends Error {
  abstract readonly verdict: Verdict
  abstract readonly status: Status
  /** The kind of failure, for programs, in reports and logs: `http_503`, `deadline`, `host-down`, `shrink`. */
  abstract readonly code: ErrorCode
  /** Whether the same request may succeed later: the host was down, slow or overloaded. */
  readonly isTemporary: boolean
  readonly request: FailedRequest | undefined
  readonly response: FailedResponse | undefined

  readonly #causes: readonly FailureCause[] | undefined

  constructor(message: string, { request, response, causes, isTemporary = false, ...options }: FailureOptions = {}) {
    super(message, options)
    this.request = request
    this.response = response
    this.isTemporary = isTemporary
    this.#causes = causes
  }

  static override readonly [Symbol.hasInstance] = isInstance

  /** The same failure with its request and reply, as a new error. A class that a request can fail with constructs a new error. */
  during(_exchange: FailedExchange): CollectError {
    return this
  }

  /** This failure, or those of all sources. */
  get causes(): readonly FailureCause[] {
    return this.#causes ?? [omitUndefined({ code: this.code, host: this.request?.host })]
  }
}

/** Any thrown value as one line of text. For a failed request, with the request and, in brackets, the reply. */
export const formatError = (error: unknown): string =>
  (error instanceof CollectError ? formatExchange(error) : error instanceof Error ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .slice(0, MAX_MESSAGE_LENGTH)

const MAX_MESSAGE_LENGTH = 600

const formatExchange = ({ request, message, response }: CollectError): string =>
  [
    ...(request === undefined ? [] : [`${request.method} ${request.host} ${request.path}: `]),
    message,
    ...(response === undefined ? [] : [` (${formatResponse(response)})`]),
  ].join('')

/** For example `text/html, 812 B, "Access Denied"`. */
export const formatResponse = ({ type, bytes, start }: FailedResponse): string =>
  [type, formatSize(bytes), start].filter((part) => part !== undefined).join(', ')

const formatSize = (bytes: number): string =>
  bytes === 0 ? 'empty body' : bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} kB`

/** An error in the code of a stream, as an error that names stream and item. An expected failure stays as it is. */
export const nameBug = (error: unknown, what: string, item?: string): unknown =>
  error instanceof CollectError
    ? error
    : new Error(`${what} failed${item === undefined ? '' : ` at ${item}`}: ${formatError(error)}`, { cause: error })

/** Calls the code of a stream; an error that it throws names stream and item. */
export const runNamed = <T>(what: string, item: string | undefined, act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw nameBug(error, what, item)
  }
}

/** Whether a failure affects one item only, so that the run continues. */
export const isItemError = (error: unknown): error is CollectError => error instanceof CollectError && error.verdict !== 'stop'

/**
 * Makes `instanceof` true for an error of another copy of this package: the command is one bundled file, so a module of `--streams` that
 * imports the package gets classes of its own.
 */
export function isInstance(this: { readonly name: string; readonly prototype: object }, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.prototype.isPrototypeOf.call(this.prototype, value)) return true
  const { name, verdict, isTemporary } = value as { readonly [field: string]: unknown }
  const isOfAnotherCopy = typeof verdict === 'string' && typeof isTemporary === 'boolean'
  return isOfAnotherCopy && (this.name === 'CollectError' || this.name === name)
}
