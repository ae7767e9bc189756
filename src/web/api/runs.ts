// Earlier runs of the folder.

import type { RunLogEntry } from '../../model/run-log.js'
import type { LiveRunState } from './live.js'

/** One run in the list. */
export interface RunRow
  extends Pick<RunLogEntry, 'run' | 'startedAt' | 'asOf' | 'durationMs' | 'outcome' | 'stocks' | 'error'> {
  readonly requests: number
  readonly retries: number
  /** Items that failed. */
  readonly lost: number
  /** What was missing in the folder after it. */
  readonly missing: readonly string[]
  /** What ended before a session that was due, a sentence each. */
  readonly stale: readonly string[]
  /** Changes in answers that were not accepted. */
  readonly drift: number
}

/** `GET /api/runs`: newest first. */
export interface RunList {
  readonly runs: readonly RunRow[]
  /** The damaged records of runs, a sentence each. */
  readonly damage: readonly string[]
}

/** What the checks of `verify` say of a run, in a sentence. */
export interface ChecksSummary {
  readonly run: string
  readonly tone: 'ok' | 'waiting' | 'failed' | 'soft'
  readonly text: string
  /** When the checks ended, ISO 8601; absent if they were not made. */
  readonly checkedAt?: string
}

/** `GET /api/runs/:id/checks` */
export interface RunChecks extends ChecksSummary {
  readonly kinds: readonly {
    readonly check: string
    readonly about: string
    readonly count: number
    /** The first few, new ones first. */
    readonly findings: readonly {
      /** The stock, index or file; absent if it is about the market. */
      readonly subject?: string
      /** Whether the subject is a stock with a page. */
      readonly hasPage: boolean
      readonly isNew: boolean
      readonly detail: string
    }[]
  }[]
  /** What else is to be known, such as what could not be checked and why. */
  readonly notes: readonly string[]
  /** The run whose files are in the folder, if it is another one. */
  readonly present?: string
}

/** `GET /api/runs/:id` */
export interface OneRun extends RunRow {
  /** The run in the shape of an active one, as far as the log has it. */
  readonly state: LiveRunState
  /** What the folder lacked of each stream after it; `items` names at most 200. */
  readonly lacks: NonNullable<RunLogEntry['missing']>
  /** The runs before and after it. */
  readonly earlier?: string
  readonly later?: string
}
