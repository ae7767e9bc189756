// What the server answers about the folder as a whole.

import type { LivePhase, LiveRunState } from './live.js'
import type { ChecksSummary } from './runs.js'

/** How a stream stands in the folder. */
export interface StreamState {
  readonly stream: string
  /** How it ended in the last run; `not run` if that run did not include it. */
  readonly outcome: string
  /** The day in India of the last run that fetched all of it. */
  readonly completeOn?: string
  /** How many items it lacks. */
  readonly missing?: number | 'all'
  /** The first reason of a failure. */
  readonly reason?: string
}

/** The answer to "is my data complete and fresh?" */
export interface FolderAnswer {
  readonly tone: 'ok' | 'waiting' | 'failed'
  /** Such as "Complete and up to date". */
  readonly word: string
  /** Why it is not; empty if it is. */
  readonly text: string
  /** The day that ends the text. */
  readonly day?: string
}

/** `GET /api/state` */
export interface FolderState {
  /** Only where a command is named that uses it: the absolute path of the folder, quoted for a shell. */
  readonly folder?: string
  readonly version: string
  readonly isSimulated: boolean
  /** Whether a run is active now. */
  readonly isActive: boolean
  readonly answer: FolderAnswer
  /** The streams that there are, by phase. */
  readonly phases: readonly LivePhase[]
  /** The last run that has ended; absent if there was none. */
  readonly last?: LiveRunState
  readonly outputs: readonly StreamState[]
  /** What is known of the data checks of the present files; absent before the first run. */
  readonly checks?: ChecksSummary
}

/**
 * The events of `GET /api/live`: first `snapshot`, also when another run begins; then `change`, a
 * `LiveChange`.
 */
export interface LiveSnapshot {
  /** Null while no run is active. */
  readonly run: LiveRunState | null
  /** Changes when a run ends, also one so short that it was never seen; null before the first. */
  readonly report: number | null
  /** Whether the data of the folder is simulated: known once the first run has stored some. */
  readonly isSimulated: boolean
  /** Only of a server that ends, with its run for example: it answers nothing any more. */
  readonly state?: FolderState | undefined
}

/** `GET /api/changes`: what the last run changed; `GET /api/runs/:id/changes`: what a run changed. */
export interface FolderChanges {
  /** The run, or the recorded day, that it is compared with, as of when (ISO 8601); null without one. */
  readonly since: { readonly asOf?: string } | null
  /** Why there is nothing to compare with; absent if there is. */
  readonly reason?: string
  /** Sections in the order of the summary; those without a change are left out. */
  readonly sections: readonly { readonly section: string; readonly about: string; readonly count: number }[]
  /** Stocks with the rarest changes first; at most 100. */
  readonly stocks: readonly {
    readonly symbol: string
    /** It is not in the master list. */
    readonly hasNoPage?: true
    readonly changes: readonly { readonly section: string; readonly detail: string }[]
  }[]
  /** What could not be compared, and why. */
  readonly notes: readonly string[]
}

/** `GET /api/days`: the days that are recorded, the newest first. */
export interface RecordedDay {
  readonly day: string
  /** The run whose record answers for the day. */
  readonly run?: string
  /** When that record was collected, ISO 8601. */
  readonly knownAt: string
  /** After the session, in it, or after the next one had begun. */
  readonly timing: 'final' | 'session' | 'late'
  /** The lists that answer only until a better record, in a sentence each that says why. */
  readonly early?: readonly string[]
}

/** The body of every answer that is an error. */
export interface ApiError {
  /** What happened and what to do, as one sentence. */
  readonly error: string
}
