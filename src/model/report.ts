import type { Advice, ErrorCode, Status } from './errors.js'
import type { Day } from './trading-day.js'

/**
 * How a stream ended: complete, with failed items or items that may lack rows (`partial`), or without any
 * useful result (`failed`).
 */
export type ScriptOutcome = 'success' | 'partial' | 'failed' | 'skipped' | 'disabled'
/** How a run ended: with everything, with parts missing, without the master list, or early. */
export type RunOutcome = 'complete' | 'partial' | 'failed' | 'interrupted'

/** How many items ended with each status. `http_<status>` is present only if it occurred. */
export type ItemCounts = Record<'success' | 'empty' | 'skipped' | 'rate_limit' | 'error', number> &
  Record<string, number>

/** A failure or a warning of an item or a stream. */
export interface Problem {
  /** The stock, index or list; absent if the problem concerns the whole stream. */
  readonly item?: string
  readonly status?: Status
  /** The kind of failure, for programs: `http_503`, `deadline`, `host-down`, `shrink`. */
  readonly code?: string
  readonly reason: string
}

/** Why items of a stream failed; `host` is the service of the request, if one failed. */
export interface ReportedCause {
  readonly code: string
  readonly host?: string
  /** What to do, if `code` alone does not say it. */
  readonly advice?: Advice
}

/** A stored file that was replaced as a whole or repaired, and why. */
export interface RewrittenFile {
  readonly item: string
  readonly reason: string
  /** The day of the only candle that was replaced; absent if the whole file was. */
  readonly onlyDay?: Day
}

/** A symbol given to a run that is not the symbol of a listed stock. */
export interface WrongSymbol {
  /** As it was given. */
  readonly given: string
  /** The symbol that the same stock has now; the run fetched it. */
  readonly now?: string
  /** What it may mean. Absent if the stock is known. */
  readonly near?: readonly string[]
}

/** The result of one stream in a run. */
export interface ScriptReport {
  readonly outcome: ScriptOutcome
  readonly durationMs: number
  /** Requests sent, further attempts included. */
  readonly requests: number
  readonly retries: number
  /** Answers with 429. */
  readonly rateLimited: number
  readonly items: ItemCounts
  /** Items that succeeded but may lack rows, because a path or a page failed. */
  readonly degraded: number
  /** Items that this run resumed from an unfinished run, without a request. */
  readonly takenOver: number
  /** Files written or up to date. */
  readonly files: number
  readonly bytes: number
  /** The first few failures, then the first few warnings (those name no item). */
  readonly problems: readonly Problem[]
  /** Every stored file that was replaced instead of continued, or merged; absent without one. */
  readonly rewritten?: readonly RewrittenFile[]
  /** Every kind of failure of this run, with the service; absent without one. */
  readonly causes?: readonly ReportedCause[]
  /** Why the stream failed. */
  readonly error?: string
  /** The code of `error`, one of `errorCodes`: that of all its failures, or `no-answer` if they differ. */
  readonly code?: ErrorCode
}

/**
 * A change in the answers of an endpoint: a field is gone, new, of another type, null in all records of an
 * answer, or in another format.
 */
export interface Drift {
  readonly stream: string
  readonly endpoint: string
  readonly kind: 'gone' | 'new' | 'type' | 'null' | 'format'
  /** Where it is in the answer, such as `data[].news_date`. */
  readonly field: string
  /** The expected types; absent for a new field. */
  readonly expected?: string
  /** The type that was found instead. */
  readonly seen?: string
  /** In how many answers the drift was found, */
  readonly answers: number
  /** out of how many that could have shown it. */
  readonly of: number
  /** In how many records, */
  readonly records: number
  /** out of how many that were checked: the first, the middle and the last of each list. */
  readonly ofRecords: number
  /** An output needs the field: answers without it are refused. */
  readonly required?: true
  /** Accepted by `verify --drift --accept` or for this run, so it does not make the run partial. */
  readonly accepted?: true
  /** Found in too few answers to make the run partial. */
  readonly rare?: true
  /** The stock, index or list with which it was first found. */
  readonly example: string
}

/** A worker of a fleet. */
export interface FleetMember {
  readonly name: string
  /** Items that it has finished in this run, */
  readonly items: number
  /** and how many per second, since it was first seen. */
  readonly perSecond: number
  /** Whether it is connected now. */
  readonly isThere: boolean
}

/** The workers of a run. */
export interface FleetState {
  readonly workers: readonly FleetMember[]
  /** How often an item moved to another worker because its worker was gone or stalled. */
  readonly stalled: number
  /** Redis is unreachable at the moment; the run waits for it. */
  readonly isAway?: boolean
  /** With what Redis refuses commands at the moment; the run waits for it. */
  readonly refusal?: string
  /**
   * The build of this driver, and workers of other builds in the last minute, such as `market-2
   * (0.1.0+1a2b3c4d5e)`: they take no items.
   */
  readonly others?: { readonly build: string; readonly workers: readonly string[] }
}

/**
 * A run as of another session than the one due when it began: only some of its outputs are of that session.
 */
export interface AsOfSession {
  /** The session of `asOf`, a day in India: that of the outputs of `following`. */
  readonly session: string
  /** The session due when the run began: the outputs of `others` are those of that time. */
  readonly due: string
  /** The streams that ran whose outputs follow `asOf`, */
  readonly following: readonly string[]
  /** and the other ones. */
  readonly others: readonly string[]
  /** Which of them the history records for `session`: none if it is switched off. */
  readonly recorded: 'following' | 'all' | 'none'
}

/** Something that ends before a session whose data should be there. */
export interface StaleOutput {
  /** The stream; absent if no stream at all shows that there was a session. */
  readonly stream?: string
  /** What ends: the name of its table, such as `candles`. */
  readonly output: string
  /** The day in India with which it ends, */
  readonly newest: string
  /** and the session that it should have. */
  readonly expected: string
  /** How many sessions it lacks. */
  readonly sessions: number
  /** The outputs that show that the session took place; empty if none does, so that it may be a holiday. */
  readonly shownBy: readonly string[]
}

/** A value for some of the names. */
export type ByName<Name extends string, T> = string extends Name
  ? Readonly<Record<string, T>>
  : { readonly [One in Name]?: T }

/**
 * What a run did; printed by `--json` and stored at `.scripstream/report.json`. Instants are ISO 8601 in UTC.
 */
export interface RunReport<Name extends string = string> {
  readonly run: string
  readonly asOf: string
  /** What `asOf` changes, if it is of another session than the one due when the run began. */
  readonly asOfSession?: AsOfSession
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  /** When the run was already complete; this one found all files up to date and requested none of them. */
  readonly finishedBefore?: string
  /**
   * What a run that found all files up to date has seen by one request on a day that may have no session: the
   * newest one, and the weekday after it that nobody named as a holiday; or why that could not be found out.
   */
  readonly looked?: { readonly newest: string; readonly expected?: string } | { readonly failure: string }
  readonly outcome: RunOutcome
  /**
   * Whether the same run, started again on the same day, resumes this one and requests only what is missing.
   */
  readonly isResumable?: boolean
  /** Stocks in the run: the whole master list, or those that `--symbols` selects. */
  readonly stocks: number
  readonly scripts: Readonly<Record<Name, ScriptReport>>
  /**
   * Symbols of `RunOptions.symbols` that are not listed, or that have changed; the run is partial then.
   * Absent without one.
   */
  readonly wrongSymbols?: readonly WrongSymbol[]
  /**
   * What is missing in the stored outputs after this run, from this and earlier runs: how many items of each
   * stream failed, or may lack records, when they were last requested, or `all`. `.scripstream/failed.json`
   * names them. Absent if nothing is missing.
   */
  readonly missing?: ByName<Name, number | 'all'>
  /**
   * The newest session of each stream with sessions, after this run, from it or an earlier one: a day in
   * India. Absent if none is known.
   */
  readonly newest?: ByName<Name, string>
  /**
   * The session of each stream that was last requested after it opened, and before its data was published;
   * absent if there is none.
   */
  readonly early?: ByName<Name, string>
  /** What ends before a session that is due; absent if nothing does. */
  readonly stale?: readonly StaleOutput[]
  /**
   * How answers differ from their expected shapes, the most frequent first, a few dozen at most; absent
   * without one.
   */
  readonly drift?: readonly Drift[]
  /**
   * What has failed beside the run, such as its terminal, log or metrics, a sentence each; absent if nothing
   * has.
   */
  readonly notes?: readonly string[]
  /** The workers of the run; only in a fleet. */
  readonly fleet?: FleetState
  /** Why the run failed as a whole. */
  readonly error?: string
  /** The code of `error`, one of `errorCodes`. */
  readonly code?: ErrorCode
}

/**
 * When a stream was requested, epoch milliseconds. What a resumed run took over is as old as its beginning,
 * `asOf`.
 */
export const findRequestedAt = (
  { scripts, startedAt, ...report }: Pick<RunReport, 'scripts' | 'startedAt' | 'asOf'>,
  stream: string,
  asOf = Date.parse(report.asOf),
): number =>
  Math.min(Date.parse(startedAt), (scripts[stream]?.takenOver ?? 0) > 0 ? asOf : Number.POSITIVE_INFINITY)
