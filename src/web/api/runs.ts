// Earlier runs of the folder.

/** One run in the list. */
export interface RunRow {
  readonly run: string
  /** ISO 8601 in UTC, like the other instants. */
  readonly startedAt: string
  readonly asOf: string
  readonly durationMs: number
  readonly outcome: string
  readonly stocks: number
  readonly requests: number
  readonly retries: number
  /** Items that failed. */
  readonly lost: number
  /** What was missing in the folder after it. */
  readonly missing: readonly string[]
  /** Changes in answers that were not accepted. */
  readonly drift: number
  readonly error?: string
}

/** `GET /api/runs`: newest first. */
export interface RunList {
  readonly runs: readonly RunRow[]
}

/** A stream in one run. */
export interface RunStream {
  readonly name: string
  readonly outcome: string
  readonly durationMs: number
  readonly requests: number
  readonly retries: number
  readonly rateLimited: number
  readonly done: number
  readonly lost: number
  readonly partial: number
  readonly files: number
  readonly bytes: number
  readonly error?: string
  readonly problems: readonly { readonly item?: string; readonly status?: string; readonly reason: string }[]
  /** What was missing after the run; `items` names at most 200. */
  readonly missing?: { readonly count: number | 'all'; readonly items?: readonly string[] }
  /** Its duration in the run before, if it was part of it. */
  readonly beforeMs?: number
}

/** `GET /api/runs/:id` */
export interface OneRun extends RunRow {
  readonly streams: readonly RunStream[]
  /** The runs before and after it. */
  readonly earlier?: string
  readonly later?: string
}
