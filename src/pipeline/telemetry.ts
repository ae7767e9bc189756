import type { RequestEnd } from '../http/decode-reply.js'
import type { RunEvent } from '../model/event.js'

/** A finished request of a stream. */
export interface FinishedRequest extends RequestEnd {
  readonly stream: string
}

/** Receives the events and requests of one run, for metrics and traces. It must not throw. Secrets are removed beforehand. */
export interface Follower {
  readonly event: (event: RunEvent) => void
  readonly request: (request: FinishedRequest) => void
  /** The run has ended, in whatever way; no further call follows. */
  readonly over?: () => void
}

/** Called once for each run. */
export type Telemetry = () => Follower
