// What the server answers about the folder as a whole.

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

/** `GET /api/state` */
export interface FolderState {
  /** The name of the folder, without its path. */
  readonly folder: string
  readonly version: string
}

/** The body of every answer that is an error. */
export interface ApiError {
  /** What happened and what to do, as one sentence. */
  readonly error: string
}
