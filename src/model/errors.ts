/**
 * What follows an error, by its class alone: `await-host` (try again when the host is back, however often), `wait` (after the pause that
 * the host asks for), `retry` (after a back-off), `give-up` (this item is lost, the run goes on), `stop` (the run ends).
 */
export type Verdict = 'await-host' | 'wait' | 'retry' | 'give-up' | 'stop'

/** The statuses of the interface document; an item ends with exactly one of them. */
export type Status = 'success' | 'skipped' | 'empty' | 'rate_limit' | `http_${number}` | 'error'

/** Every failure that this collector foresees. Anything else that is thrown is a bug and stops the run. */
export abstract class CollectError extends Error {
  abstract readonly verdict: Verdict
  abstract readonly status: Status
  /** Names the kind of failure for programs, in reports and logs: `http_503`, `deadline`, `host-down`, `shrink`. */
  abstract readonly code: string
  /** Whether the same request may well succeed later: the host was away, slow or overloaded. */
  isTemporary = false
  /** What was asked of which service, if the failure is that of a request: `POST static /staticscanx/lodr`. Names no stock. */
  asked?: string
  /** What was answered, if anything was: its type, its size, and how it begins. */
  answered?: string
}

/** The host answered 429: it is asked again after a pause, which uses up no retries. */
export class Throttled extends CollectError {
  override readonly name = 'Throttled'
  readonly verdict = 'wait'
  readonly status = 'rate_limit'
  readonly code = 'rate_limit'
  override isTemporary = true

  /** @param retryAfterMs what the answer's `Retry-After` asked for, if it could be read */
  constructor(readonly retryAfterMs: number | undefined) {
    super('429: the provider limits the rate')
  }
}

/** Statuses by which a host says that it is overloaded or away, not that the request was wrong. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 425, 500, 502, 503, 504])

/** Any other status than 200. Some say that the host has trouble now; the rest is the provider's last word. */
export class HttpError extends CollectError {
  override readonly name = 'HttpError'
  readonly verdict: Verdict
  readonly status: Status
  override readonly code: `http_${number}`
  override isTemporary: boolean

  /** @param retryAfterMs what the answer's `Retry-After` asked for, if it could be read */
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

/** The host refused every request, or was away, for longer than the settings wait for it: the request was not sent. */
export class HostClosed extends CollectError {
  override readonly name = 'HostClosed'
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

/** The host is away, and the circuit is open: the request is sent again when the host is back, which uses up no retries. */
export class HostAwayError extends CollectError {
  override readonly name = 'HostAwayError'
  readonly verdict = 'await-host'
  readonly status = 'error'
  readonly code = 'host-down'
  override isTemporary = true
}

/** Why no whole answer came: `slow` is a deadline on a full line, `fd` too few file descriptors on this machine. */
export type TransportReason = 'deadline' | 'slow' | 'connect' | 'dns' | 'tls' | 'reset' | 'truncated' | 'protocol' | 'too_large' | 'fd'

/** A host that cannot be reached is not the request's fault: it waits until the host is back, or given up. */
const VERDICTS: Partial<Record<TransportReason, Verdict>> = {
  slow: 'wait',
  connect: 'wait',
  dns: 'wait',
  tls: 'give-up',
  too_large: 'give-up',
  fd: 'stop',
}

/** No whole answer arrived. Too few file descriptors (fd) are this machine's trouble, not the item's: the run ends. */
export class TransportError extends CollectError {
  override readonly name = 'TransportError'
  readonly verdict: Verdict
  readonly status = 'error'
  readonly code: TransportReason
  override isTemporary: boolean
  /** Whether part of an answer had arrived. */
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

/** A 200 whose body is not what the endpoint gives: an HTML page, cut JSON, another envelope, another stock's data. Often a passing mood. */
export class BadAnswer extends CollectError {
  override readonly name = 'BadAnswer'
  readonly verdict = 'retry'
  readonly status = 'error'
  readonly code: string
  override isTemporary: boolean

  constructor(
    readonly reason: 'html' | 'empty' | 'parse' | 'schema' | 'encoding' | 'identity' | 'truncated',
    message: string,
  ) {
    super(`${reason}: ${message}`)
    this.code = reason
    this.isTemporary = reason !== 'schema' && reason !== 'identity'
  }
}

/** Nothing that could be asked gave an answer (all tiers, all chunks, all days). The message holds each one's reason. */
export class NothingAnswered extends CollectError {
  override readonly name = 'NothingAnswered'
  readonly verdict = 'give-up'
  readonly status = 'error'
  override isTemporary: boolean

  /**
   * @param isTemporary whether a request failed for a reason that may be gone later
   * @param code the kind of failure, where all that failed did so for the same one
   */
  constructor(
    message: string,
    isTemporary = false,
    readonly code: string = 'no-answer',
  ) {
    super(message)
    this.isTemporary = isTemporary
  }
}

/** The folder cannot be written or read: the run ends, what is already there stays as it is. */
export class StorageError extends CollectError {
  override readonly name = 'StorageError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code = 'storage'
}

/** A file of an earlier run cannot be read, and what it holds is needed: it stays as it is, and what needed it is lost. */
export class DamagedFile extends CollectError {
  override readonly name = 'DamagedFile'
  readonly verdict = 'give-up'
  readonly status = 'error'
  readonly code = 'damaged-file'
}

/** A setting, a name or a symbol is wrong or missing. The message names it, where it came from, and the way out. */
export class UsageError extends CollectError {
  override readonly name = 'UsageError'
  readonly verdict = 'stop'
  readonly status = 'error'
  readonly code = 'usage'
}

/** The text of anything that was thrown, on one line; of a failed request with what was asked and, in brackets, what came back. */
export const messageOf = (error: unknown): string =>
  (error instanceof CollectError ? exchangeOf(error) : error instanceof Error ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST_MESSAGE)

const LONGEST_MESSAGE = 600

const exchangeOf = ({ asked, message, answered }: CollectError): string =>
  `${asked === undefined ? '' : `${asked}: `}${message}${answered === undefined ? '' : ` (${answered})`}`

/** Whether a failure costs one item at most, so that the run goes on. */
export const isLoss = (error: unknown): error is CollectError => error instanceof CollectError && error.verdict !== 'stop'
