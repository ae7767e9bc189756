import type { RequestEnd } from '../http/decode-reply.js'
import type { LimiterStatus } from '../limiter/limiter-registry.js'
import { formatError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'

/** A finished request of a stream. */
export interface FinishedRequest extends RequestEnd {
  readonly stream: string
}

/** What can be read of a run while it is running. */
export interface LiveRun {
  /** The state of each limiter: those of hosts, and those of their endpoints. Empty before the first request, and in the driver of a fleet. */
  readonly limiters: () => readonly LimiterStatus[]
}

/** Receives the events and requests of one run, for metrics and traces. Secrets are removed beforehand. An error that it throws is ignored. */
export interface Follower {
  readonly event: (event: RunEvent) => void
  readonly request: (request: FinishedRequest) => void
  /** The run has ended, in whatever way; no further call follows. `error`: what ended a run without a report. */
  readonly over?: (error?: unknown) => void
}

/** Called once for each run. */
export type Telemetry = (run: LiveRun) => Follower

/** One telemetry or several, such as metrics and traces. */
export type AllTelemetry = Telemetry | readonly Telemetry[]

/** The followers of a run as one that never throws. */
export interface Followers extends Required<Follower> {
  /** The limiters of the run, once they exist. */
  limiters: LiveRun['limiters']
  /** The first error that a follower threw. */
  readonly failure: () => string | undefined
  /** The same followers for a run that does the work of this one. */
  readonly forwarding: Telemetry
}

/** Starts all telemetry of a run; undefined without any, so that a run then does nothing for it. */
export const startTelemetry = (telemetry: AllTelemetry = []): Followers | undefined => {
  const all = [telemetry].flat()
  if (all.length === 0) return undefined
  let failure: string | undefined
  const attempt = (action: () => void): void => {
    try {
      action()
    } catch (error) {
      failure ??= formatError(error)
    }
  }
  const followers: Follower[] = []
  const callEach = (action: (follower: Follower) => void): void => {
    for (const follower of followers) attempt(() => action(follower))
  }
  const joined: Followers = {
    limiters: () => [],
    failure: () => failure,
    event: (event) => callEach((follower) => follower.event(event)),
    request: (request) => callEach((follower) => follower.request(request)),
    over: (error) => callEach((follower) => follower.over?.(error)),
    forwarding: ({ limiters }) => {
      joined.limiters = limiters
      return { event: joined.event, request: joined.request }
    },
  }
  for (const start of all) attempt(() => followers.push(start({ limiters: () => joined.limiters() })))
  return joined
}
