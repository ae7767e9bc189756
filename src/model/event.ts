import type { ErrorCode } from './errors.js'
import type { ItemOutcome } from './outcome.js'
import type { AsOfSession, FleetState, RunReport, ScriptOutcome, WrongSymbol } from './report.js'
import type { Host } from './settings.js'

/** Why an unfinished run is not resumed: by request, or because this field of it differs. */
export type GiveUpReason = 'fresh' | 'version' | 'instant' | 'session' | 'settings' | 'selection'

/** What happens in a run. The report is the sum of these events. `at` is in epoch milliseconds. */
export type RunEvent =
  | {
      readonly type: 'run-started'
      readonly at: number
      readonly run: string
      readonly asOf: number
      /** Which outputs are of `asOf`, if it is of another session than the one due now. */
      readonly asOfSession?: AsOfSession
      /**
       * Whether this run resumes an unfinished run of the same configuration and trading day: it requests
       * only what is missing.
       */
      readonly isContinued?: boolean
      /** Whether the requested run ended before with items missing: this one requests only those. */
      readonly isRemainder?: boolean
      /** An unfinished run that is not resumed, and why. */
      readonly givenUp?: { readonly run: string; readonly reason: GiveUpReason }
      /** Why a complete run is not reused: this file has changed since. */
      readonly changed?: string
      readonly streams: readonly StreamStart[]
    }
  | { readonly type: 'master-read'; readonly stocks: number }
  /** Symbols of `RunOptions.symbols` that are not listed, or that have changed. */
  | { readonly type: 'wrong-symbols'; readonly symbols: readonly WrongSymbol[] }
  | { readonly type: 'stream-started'; readonly at: number; readonly stream: string }
  /** How many items the stream has; follows `stream-started` as soon as it is known. */
  | { readonly type: 'items-known'; readonly stream: string; readonly total: number }
  /** Requests were sent. `count`: how many; 1 if absent. */
  | { readonly type: 'requested'; readonly stream: string; readonly count?: number }
  | { readonly type: 'rate-limited'; readonly stream: string }
  /** `item`: for which the request is sent again; absent if another machine sends it. */
  | { readonly type: 'retried'; readonly stream: string; readonly item?: string }
  | (Pick<
      ItemOutcome,
      'status' | 'degraded' | 'remark' | 'onlyDay' | 'newest' | 'reason' | 'code' | 'causes' | 'isTemporary'
    > & {
      readonly type: 'item-finished'
      readonly stream: string
      readonly item: string
      /** The item was resumed from the journal of an unfinished run, without a request. */
      readonly isTakenOver?: boolean
    })
  /**
   * This many items of a stream failed for a temporary reason. They are tried once more when all streams of
   * the phase have finished their first pass.
   */
  | { readonly type: 'items-deferred'; readonly stream: string; readonly items: number }
  /**
   * This many items of a stream failed for a temporary reason and are tried once more. None of them has an
   * outcome yet.
   */
  | { readonly type: 'second-pass'; readonly stream: string; readonly items: number }
  /**
   * A host, or one endpoint of it, gets no requests for now: it answered 429, or HTML instead of data, or is
   * down. `until`: when one request checks whether it works again. `since`: when the trouble began.
   * `giveUpAt`: when waiting requests fail (absent if unknown). Services with the same base address back off
   * together.
   */
  | {
      readonly type: 'host-paused'
      readonly at: number
      readonly hosts: readonly Host[]
      readonly endpoint?: string
      readonly why: BackoffReason
      readonly since: number
      readonly until: number
      readonly giveUpAt?: number
    }
  /** A host, or an endpoint, works again after a back-off or an outage. */
  | {
      readonly type: 'host-resumed'
      readonly at: number
      readonly hosts: readonly Host[]
      readonly endpoint?: string
    }
  /** The workers of the run, once a second; only in a fleet. */
  | { readonly type: 'fleet'; readonly at: number; readonly fleet: FleetState }
  /** A file was written, or was up to date. */
  | { readonly type: 'stored'; readonly stream: string; readonly bytes: number }
  /** A warning that is no failure: skipped rows, a symbol that is not listed. */
  | { readonly type: 'warning'; readonly stream: string; readonly text: string; readonly code?: ErrorCode }
  /** A terminal, log or telemetry of the run has failed; the run went on without it. */
  | { readonly type: 'note'; readonly text: string }
  | {
      readonly type: 'stream-finished'
      readonly at: number
      readonly stream: string
      readonly outcome: ScriptOutcome
      readonly error?: string
      /** The code of `error`. */
      readonly code?: ErrorCode
    }
  /** What the run does after its streams. */
  | { readonly type: 'step'; readonly at: number; readonly step: 'recording the day' | 'writing the report' }
  /** The last event; the only event of a run that has nothing to do. */
  | { readonly type: 'run-finished'; readonly report: RunReport }

/**
 * A stream at the start of a run: `disabled` by the settings, `skipped` by the run's selection, or waiting.
 */
export interface StreamStart {
  readonly name: string
  readonly state: 'waiting' | 'skipped' | 'disabled'
  /** The services that it uses. */
  readonly hosts?: readonly Host[]
}

/** Why a host gets no requests for now: it answers 429, it answers pages instead of data, or it is down. */
export type BackoffReason = 'refuses' | 'pages' | 'down'

export type Emit = (event: RunEvent) => void
