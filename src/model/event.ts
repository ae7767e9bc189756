import type { Status } from './errors.js'
import type { FleetState, RunReport, ScriptOutcome } from './report.js'
import type { Host } from './settings.js'

/** What a run tells while it goes. The report is nothing but these, added up. `at` is in epoch milliseconds. */
export type RunEvent =
  | {
      readonly type: 'run-started'
      readonly at: number
      readonly run: string
      readonly asOf: number
      /** Whether an unfinished run of the same configuration and trading day goes on, which asks only for what is missing. */
      readonly isContinued?: boolean
      /** An unfinished run of another configuration or day, which can be continued no more. */
      readonly givenUp?: string
      /** Why a complete run does not do: a file that is no longer as that run left it. */
      readonly changed?: string
      readonly streams: readonly StreamStart[]
    }
  | { readonly type: 'master-read'; readonly stocks: number }
  | { readonly type: 'stream-started'; readonly at: number; readonly stream: string }
  /** How many items the stream will settle; follows `stream-started` as soon as it is known. */
  | { readonly type: 'items-known'; readonly stream: string; readonly total: number }
  | { readonly type: 'requested' | 'retried' | 'rate-limited'; readonly stream: string }
  | {
      readonly type: 'settled'
      readonly stream: string
      readonly item: string
      readonly status: Status
      /** An unfinished run had it in place, so it was not asked for. */
      readonly isTakenOver?: boolean
      readonly degraded?: string
      readonly remark?: string
      readonly reason?: string
      /** The kind of failure, as of `CollectError.code`: of `reason`, or of `degraded`. */
      readonly code?: string
      /** What failed, wholly or in part, may succeed later. */
      readonly isTemporary?: boolean
    }
  /** So many items of a stream failed for a temporary reason, and are worked on once more; none of them is settled yet. */
  | { readonly type: 'second-pass'; readonly stream: string; readonly items: number }
  /**
   * A host, or one endpoint of it, is not asked for now: it answered 429, or pages where data was due, or is away. `until` is when one
   * request may see whether it serves again, `since` when the trouble began, `giveUpAt` when nothing waits any more (absent where that is
   * not known). Services with the same base address are held together.
   */
  | {
      readonly type: 'host-held'
      readonly at: number
      readonly hosts: readonly Host[]
      readonly endpoint?: string
      readonly why: HoldReason
      readonly since: number
      readonly until: number
      readonly giveUpAt?: number
    }
  /** A host, or an endpoint, that was held serves again. */
  | { readonly type: 'host-open'; readonly at: number; readonly hosts: readonly Host[]; readonly endpoint?: string }
  /** Who works for the run, once a second where it is made by a fleet. */
  | { readonly type: 'fleet'; readonly at: number; readonly fleet: FleetState }
  /** A file is in place. */
  | { readonly type: 'stored'; readonly stream: string; readonly bytes: number }
  /** Something to know that is no failure: rows left out, a symbol that is not listed. */
  | { readonly type: 'noticed'; readonly stream: string; readonly text: string }
  | {
      readonly type: 'stream-finished'
      readonly at: number
      readonly stream: string
      readonly outcome: ScriptOutcome
      readonly error?: string
    }
  /** The last event, and the only one of a run that has nothing to do. */
  | { readonly type: 'run-finished'; readonly report: RunReport }

/** A stream as a run begins: `disabled` by the settings, `skipped` by the run's selection, or waiting for its turn. */
export interface StreamStart {
  readonly name: string
  readonly state: 'waiting' | 'skipped' | 'disabled'
  /** The services that it may ask. */
  readonly hosts?: readonly Host[]
}

export type HoldReason = 'refuses' | 'pages' | 'down'

export type Emit = (event: RunEvent) => void
