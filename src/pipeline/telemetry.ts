import type { RunEvent } from '../model/event.js'
import type { RequestEnd } from '../provider/reading.js'

/** A request of a stream that has ended. */
export interface AskedRequest extends RequestEnd {
  readonly stream: string
}

/** Follows one run, for metrics and traces. It must not throw. What it hears holds no secret. */
export interface Follower {
  readonly event: (event: RunEvent) => void
  readonly request: (request: AskedRequest) => void
  /** The run is over, however it ended; nothing is told any more. */
  readonly over?: () => void
}

/** Called once for each run. */
export type Telemetry = () => Follower
