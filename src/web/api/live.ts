import type { FleetState, RunOutcome } from '../../model/report.js'
import type { Marble, PausedHosts, StreamStats } from '../../model/run-stats.js'

// The run as the page shows it while it is active. The same shape describes a run that has ended.

/** A failure or a warning. */
export interface LiveProblem {
  readonly item?: string
  readonly reason: string
}

/** Why requests wait, until when; instants are epoch milliseconds. */
export interface LivePause extends Pick<PausedHosts, 'why' | 'since' | 'until' | 'giveUpAt'> {
  /** What waits: services, or one endpoint of them. */
  readonly what: string
}

/** One stream of a run. */
export interface LiveStream {
  readonly name: string
  readonly state: StreamStats['state'] | 'interrupted'
  readonly done: number
  /** Absent until known. */
  readonly total?: number
  readonly workers: number
  /**
   * Requests that have been sent and not answered yet, at most one for each worker; absent where other
   * machines send them.
   */
  readonly inFlight?: number
  /** Items per second of late; of an ended stream, on average. */
  readonly perSecond?: number
  readonly leftMs?: number
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly requests: number
  readonly retries: number
  readonly rateLimited: number
  /** Items that failed, and items that may lack rows. */
  readonly lost: number
  readonly partial: number
  /** Items that failed and are tried once more after the other streams. */
  readonly deferred?: number
  /** Items that are tried once more now. */
  readonly secondPass?: number
  /** Items by status; only those that there are. */
  readonly statuses: Readonly<Record<string, number>>
  /** Bytes received, decompressed; absent where other machines receive them. */
  readonly received?: number
  readonly files: number
  readonly stored: number
  /** The first few failures, then the first few warnings. */
  readonly failures: readonly LiveProblem[]
  readonly warnings: readonly LiveProblem[]
  readonly pauses: readonly LivePause[]
  readonly error?: string
  /** The newest items, oldest first. */
  readonly marbles: readonly Marble[]
}

/** A phase of the graph. The streams of a sequential phase run one after the other. */
export interface LivePhase {
  readonly phase: string
  readonly title: string
  readonly note: string
  readonly isSequential: boolean
  readonly streams: readonly {
    readonly name: string
    readonly summary: string /** The stream whose rows are its items. */
    readonly of?: string
  }[]
}

/** What a host, or one endpoint of it, is known to allow. */
export interface LiveHost {
  readonly what: string
  /** Requests that were sent and not answered yet, and those that wait for their turn. */
  readonly inFlight: number
  readonly waiting: number
  /** Requests at once, and in a second; absent if not limited. */
  readonly maxInFlight?: number
  readonly maxPerSecond?: number
  /** Whether no request is sent for now. */
  readonly isHeld: boolean
}

/** The run as a whole, without its streams. */
export interface LiveSummary {
  readonly run: string
  readonly asOf: number
  readonly startedAt: number
  /** When this was so. */
  readonly at: number
  readonly stocks: number
  readonly isContinued?: boolean
  readonly isRemainder?: boolean
  readonly done: number
  /** Absent until the stocks are known. */
  readonly total?: number
  /** From 0 to 1. */
  readonly share: number
  readonly leftMs?: number
  readonly bytesPerSecond?: number
  /** What is done after the last item. */
  readonly step?: string
  /** The limits that hosts have shown; only of an active run of one process. */
  readonly hosts?: readonly LiveHost[]
  /** The workers of a fleet. */
  readonly fleet?: FleetState
  /** Only of a run that has ended. */
  readonly outcome?: RunOutcome
  readonly error?: string
  /** What has failed beside it, such as its log; only of a run that has ended. */
  readonly notes?: readonly string[]
}

export interface LiveRunState extends LiveSummary {
  readonly phases: readonly LivePhase[]
  readonly streams: readonly LiveStream[]
}

/** What has changed in the active run, with those streams that differ from the event before. */
export interface LiveChange {
  readonly summary: LiveSummary
  readonly streams: readonly LiveStream[]
}

/** The run after a change: streams that it does not name stay as they are. */
export const applyChange = (run: LiveRunState, { summary, streams }: LiveChange): LiveRunState => {
  const changed = new Map(streams.map((stream) => [stream.name, stream]))
  return {
    ...summary,
    phases: run.phases,
    streams: run.streams.map((stream) => changed.get(stream.name) ?? stream),
  }
}
