import type { Status } from './errors.js'

/** How a stream ended: with everything, without some items or with items that may lack rows (`partial`), or with nothing of use (`failed`). */
export type ScriptOutcome = 'success' | 'partial' | 'failed' | 'skipped' | 'disabled'
/** How a run ended: with everything, without some of it, without the master list, or before its end. */
export type RunOutcome = 'complete' | 'partial' | 'failed' | 'interrupted'

/** How many items ended with each status. The document's statuses are always there, `http_<status>` where it occurred. */
export type ItemCounts = Record<'success' | 'empty' | 'skipped' | 'rate_limit' | 'error', number> & Record<string, number>

/** Something that went wrong with an item or a stream, or is worth knowing. */
export interface Problem {
  /** The stock, index or list; absent where the problem is the stream's. */
  readonly item?: string
  readonly status?: Status
  /** The kind of failure, for programs: `http_503`, `deadline`, `host-down`, `shrink`. */
  readonly code?: string
  readonly reason: string
}

/** A stored file that was replaced as a whole or repaired, and why. */
export interface Rewritten {
  readonly item: string
  readonly reason: string
}

/** What became of one stream in a run. */
export interface ScriptReport {
  readonly outcome: ScriptOutcome
  readonly durationMs: number
  /** Requests sent, further attempts included. */
  readonly requests: number
  readonly retries: number
  /** Answers with 429. */
  readonly rateLimited: number
  readonly items: ItemCounts
  /** Items that ended well but may lack rows, because a path or a page failed. */
  readonly degraded: number
  /** Items that this run did not ask for, because the unfinished run that it continues had them in place. */
  readonly takenOver: number
  /** Files in place, whether their bytes had to change or not. */
  readonly files: number
  readonly bytes: number
  /** The first few failures, then the first few things worth knowing that are none (they name no item). */
  readonly problems: readonly Problem[]
  /** Every stored file that was not simply continued; absent if there is none. */
  readonly rewritten?: readonly Rewritten[]
  readonly error?: string
}

/**
 * Something in the answers of a call that is no longer as it was: a field that is gone, new, of another type, null in all records of an
 * answer, or in another format.
 */
export interface Drift {
  readonly stream: string
  readonly endpoint: string
  readonly kind: 'gone' | 'new' | 'type' | 'null' | 'format'
  /** Where it is in the answer, such as `data[].news_date`. */
  readonly field: string
  /** Types that it should have; absent where it is new. */
  readonly expected?: string
  /** The type that was seen instead. */
  readonly seen?: string
  /** In how many answers it was seen, */
  readonly answers: number
  /** of how many that could have shown it. */
  readonly of: number
  /** In how many records, */
  readonly records: number
  /** of how many that were looked at: the first, the middle and the last of each list. */
  readonly ofRecords: number
  /** An output is made of the field: answers without it are refused. */
  readonly required?: true
  /** It was accepted, by `scripstream drift accept` or for this run: it does not make the run partial. */
  readonly accepted?: true
  /** It was seen in too few answers to make the run partial. */
  readonly rare?: true
  /** A stock, index or list that it was first seen with. */
  readonly example: string
}

/** A worker of a fleet. */
export interface FleetMember {
  readonly name: string
  /** Items that it has ended in this run, */
  readonly items: number
  /** and how many a second, since it was first seen. */
  readonly perSecond: number
  /** Whether it is connected now. */
  readonly isThere: boolean
}

/** The processes that worked for a run, by name. */
export interface FleetState {
  readonly workers: readonly FleetMember[]
  /** How often an item was taken from a worker that was gone, or stood still, and given to another. */
  readonly stalled: number
  /** Redis, through which they are told what to do, cannot be reached at the moment: it is waited for. */
  readonly isAway?: boolean
}

/** What a run did; printed by `--json` and kept at `.scripstream/report.json`. Instants are ISO 8601 in UTC. */
export interface RunReport {
  readonly run: string
  readonly asOf: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  /** When the run was complete already, where this one found all its files in place and asked nothing. */
  readonly finishedBefore?: string
  readonly outcome: RunOutcome
  /** Whether the same run begun again asks only for what is missing: something failed for a reason that may be gone later. */
  readonly isResumable?: boolean
  /** Stocks that the run was about: the whole master list, or what `--symbols` left of it. */
  readonly stocks: number
  readonly scripts: Readonly<Record<string, ScriptReport>>
  /**
   * What is missing in the place of storage after this run, of this one and earlier ones: how many items of each stream failed, or may
   * lack records, when they were last asked for, or `all`. `.scripstream/failed.json` names them. Absent where nothing is.
   */
  readonly missing?: Readonly<Record<string, number | 'all'>>
  /** How answers differ from the shapes that they should have, the most frequent first and some dozens at most; absent if nowhere. */
  readonly drift?: readonly Drift[]
  /** Who worked for the run, where it was made by a fleet. */
  readonly fleet?: FleetState
  /** Why the run failed as a whole. */
  readonly error?: string
}
