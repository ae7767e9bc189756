import { Subject } from 'rxjs'
import type { RequestEnd, RequestFollower, RequestStart, RequestWatch } from '../http/transport.js'
import type { LimiterStatus } from '../limiter/limiter-registry.js'
import type { BackoffStatus } from '../limiter/state.js'
import { captureContext, type Within } from '../model/context.js'
import { CollectError, formatError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { isLost } from '../model/outcome.js'
import { type Redact, redactRecord } from '../model/redact.js'
import type { RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import { createRunStats, type RunStats, type RunStatsReading, type StreamStats } from '../model/run-stats.js'
import type { Host } from '../model/settings.js'
import { createWall, type Wall } from '../model/wall.js'
import { listRunning, type PlannedStream } from './plan.js'

interface EventBusOptions {
  readonly log?: Log | undefined
  readonly telemetry?: AllTelemetry | undefined
  readonly redact: Redact
  readonly stats?: RunStats | undefined
}

/**
 * Passes the events of a run, without secrets, to the statistics, the log, the telemetry and the listener.
 */
export type EventBus = ReturnType<typeof createEventBus>

export const createEventBus = (
  plan: readonly PlannedStream[],
  { log: logger, telemetry, redact, stats = createRunStats() }: EventBusOptions,
) => {
  const wall = createWall()
  const within = captureContext()
  const log = logger && createRunLog(logger, stats, { wall, within })
  const followers = startTelemetry(telemetry, { wall, within }, stats)
  const event$ = new Subject<RunEvent>()
  const over$ = new Subject<void>()
  const ended = new Map(listRunning(plan).map(({ name }) => [name, new Subject<never>()]))
  return {
    stats,
    /** The context of the subscriber of the run, in which log and telemetry are called. */
    within,
    event$: event$.asObservable(),
    /** Emits after the last event. */
    over$,
    log,
    followers,
    /** Completes, for each stream of the run, when the stream has ended. */
    ended,
    /** What the report says of onlookers that have failed. */
    notes: (): readonly string[] => [...(followers?.notes() ?? []), ...wall.notes()],
    emit: (raw: RunEvent): void => {
      const isPlain = hasNoText(raw)
      const event = isPlain ? raw : redactRecord(raw, redact)
      stats.record(event)
      if (!isPlain) log?.event(event)
      followers?.event?.(event)
      event$.next(event)
      if (event.type === 'stream-finished') ended.get(event.stream)?.complete()
      if (event.type === 'run-finished') over$.next()
    },
  }
}

/** The most frequent events consist of names and numbers: nothing to redact, and nothing to log. */
const hasNoText = (event: RunEvent): boolean =>
  event.type === 'requested' ||
  event.type === 'stored' ||
  (event.type === 'item-finished' && (event.reason ?? event.degraded ?? event.remark) === undefined)

/**
 * The event for hosts, or one endpoint of them, that stop serving requests (back-off or open circuit), or
 * serve them again.
 */
export const toHostEvent = (
  at: number,
  hosts: readonly Host[],
  pause: BackoffStatus | undefined,
  endpoint: string | undefined,
): RunEvent => {
  const where = omitUndefined({ at, hosts, endpoint })
  if (pause === undefined) return { type: 'host-resumed', ...where }
  const { why, ms, sinceMs, giveUpMs } = pause
  const giveUp = giveUpMs === undefined ? {} : { giveUpAt: at + giveUpMs }
  return { type: 'host-paused', ...where, why, since: at - sinceMs, until: at + ms, ...giveUp }
}

/** A request of a stream that is about to be sent. */
export interface StartedRequest extends RequestStart {
  readonly stream: string
}

/** A finished request of a stream. */
export interface FinishedRequest extends RequestEnd {
  readonly stream: string
}

/** What can be read of a run while it is running. */
export interface LiveRun {
  /** The statistics of the run, which grow with it. */
  readonly stats: RunStatsReading
  /**
   * The state of each limiter: those of hosts, and those of their endpoints. Empty before the first request,
   * and in the driver of a fleet.
   */
  readonly limiters: () => readonly LimiterStatus[]
}

/**
 * Receives the events and requests of one run, for metrics and traces. Secrets are removed beforehand. An
 * error that it throws is ignored.
 */
export interface Follower {
  /** Without it, the follower reads the statistics. */
  readonly event?: ((event: RunEvent) => void) | undefined
  /** A request has ended. Without it, requests are only counted in the statistics. */
  readonly request?: ((request: FinishedRequest) => void) | undefined
  /**
   * Called before each request, for what must know its start, such as a trace. Without it, nothing is done at
   * the start of a request.
   */
  readonly begin?: ((request: StartedRequest) => RequestFollower) | undefined
  /**
   * The run has ended, in whatever way; no further call follows. `error`: what ended a run without a report.
   */
  readonly over?: ((error?: unknown) => void) | undefined
  /**
   * What the report should say of other onlookers of the run that have failed, such as a terminal; read at
   * the end of the run.
   */
  readonly notes?: (() => readonly string[]) | undefined
}

/** Called once for each run. */
export type Telemetry = (run: LiveRun) => Follower

/** One telemetry or several, such as metrics and traces. */
export type AllTelemetry = Telemetry | readonly Telemetry[]

type AttemptAction = (action: () => void) => void

/** How onlookers are called: what they throw is a note, in the context of the subscriber of the run. */
interface OnlookerCalls {
  readonly wall: Wall
  readonly within: Within
}

const ONLOOKER = 'the telemetry of this run'

/**
 * Starts all telemetry of a run, as one follower that never throws; undefined without any, so that a run then
 * does nothing for it.
 */
export const startTelemetry = (
  telemetry: AllTelemetry = [],
  { wall, within }: OnlookerCalls,
  stats: RunStats,
) => {
  const all = [telemetry].flat()
  if (all.length === 0) return undefined
  const attempt: AttemptAction = (action) => wall.attempt(ONLOOKER, action)
  let limiters: LiveRun['limiters'] = () => []
  const followers: Follower[] = []
  for (const start of all) attempt(() => followers.push(start({ stats, limiters: () => limiters() })))
  const callEach = (action: (follower: Follower) => void): void => {
    within(() => {
      for (const follower of followers) attempt(() => action(follower))
    })
  }
  const event = followers.some((follower) => follower.event)
    ? (one: RunEvent): void => callEach((follower) => follower.event?.(one))
    : undefined
  const request = followers.some((follower) => follower.request)
    ? (one: FinishedRequest): void => callEach((follower) => follower.request?.(one))
    : undefined
  const begin = followers.some((follower) => follower.begin)
    ? beginAll(followers, attempt, within)
    : undefined
  const notes = (): readonly string[] =>
    followers.flatMap((one) => wall.attempt(ONLOOKER, () => one.notes?.()) ?? [])
  return {
    event,
    over: (error?: unknown): void => callEach((follower) => follower.over?.(error)),
    watch: (stream: string): RequestWatch => ({
      begin: begin && ((start) => begin({ ...start, stream })),
      end: (end) => {
        const own = stats.stream(stream)
        if (own !== undefined) {
          own.answered += 1
          own.received += end.bytes
        }
        request?.({ ...end, stream })
      },
    }),
    /** Whether a follower runs requests in a context of its own. */
    isTracing: begin !== undefined,
    /** The limiters of the run, once they exist. */
    set limiters(read: LiveRun['limiters']) {
      limiters = read
    },
    notes,
    /** The same followers for a run that does the work of this one. */
    forwarding: (run: LiveRun): Follower => {
      limiters = run.limiters
      return { event, request, begin, notes }
    },
  }
}

/**
 * Begins to follow a request with each follower; the request is sent within all of them, once, whatever they
 * do.
 */
const beginAll =
  (followers: readonly Follower[], attempt: AttemptAction, within: Within) =>
  (start: StartedRequest): RequestFollower => {
    const all: RequestFollower[] = []
    within(() => {
      for (const follower of followers)
        attempt(() => {
          const one = follower.begin?.(start)
          if (one) all.push(one)
        })
    })
    const runWithin =
      (send: () => void, { run }: RequestFollower) =>
      (): void => {
        let isSent = false
        const sendOnce = (): void => {
          if (isSent) return
          isSent = true
          send()
        }
        attempt(() => run(sendOnce))
        sendOnce()
      }
    return {
      run: (send) => within(all.reduceRight(runWithin, send)),
      end: (end) =>
        within(() => {
          for (const one of all) attempt(() => one.end(end))
        }),
    }
  }

/**
 * The part of a pino logger that a run uses; any logger of that shape works, and winston, which gets the text
 * first. An error that it throws ends no run.
 */
export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>
>

/**
 * Logs start and end of run and streams, retries, lost and rewritten items, warnings, and the state of hosts.
 * Each line has the id of the run, once it is known, and the stream that it is about.
 */
const createRunLog = (log: Log, stats: RunStats, { wall, within }: OnlookerCalls) => {
  let run: string | undefined
  // winston: behind an object it drops the text.
  const isTextFirst = 'transports' in log
  const write = (level: keyof Log, given: object, message: string): void => {
    const fields = omitUndefined({ run, ...given })
    const [first, second] = isTextFirst ? [message, fields] : [fields, message]
    within(() => wall.attempt('the log of this run', () => log[level](first as object, second as string)))
  }
  return {
    event: (event: RunEvent): void => {
      if (event.type === 'run-started') run = event.run
      if (event.type === 'run-finished') run = event.report.run
      const level = toLevel(event)
      if (level !== undefined) write(level, toLogFields(event, stats), event.type)
    },
    /** Logs what ended the run without a report. */
    fail: (error: unknown): void => {
      const code = error instanceof CollectError ? error.code : undefined
      write('error', { code, error: formatError(error) }, 'run-failed')
    },
  }
}

const toLevel = (event: RunEvent): keyof Log | undefined => {
  switch (event.type) {
    case 'run-started':
    case 'stream-started':
    case 'rate-limited':
    case 'retried':
      return 'debug'
    case 'stream-finished':
      return event.outcome === 'success' ? 'info' : 'warn'
    case 'item-finished':
      return isLost(event) || event.degraded !== undefined
        ? 'warn'
        : event.remark === undefined
          ? undefined
          : 'info'
    case 'warning':
    case 'note':
      return 'warn'
    case 'second-pass':
    case 'host-paused':
    case 'host-resumed':
      return 'info'
    case 'run-finished':
      return event.report.outcome === 'complete'
        ? 'info'
        : event.report.outcome === 'failed'
          ? 'error'
          : 'warn'
    default:
      return undefined
  }
}

/** The fields of a line; the ends of streams and of the run have their duration and counts. */
const toLogFields = (event: RunEvent, stats: RunStats): object => {
  if (event.type === 'run-finished') return sumUp(event.report)
  const { type, ...fields } = event
  if (type !== 'stream-finished') return fields
  const stream = stats.stream(event.stream)
  return stream === undefined ? fields : { ...fields, ...countsOf(stream) }
}

const countsOf = ({ startedAt, finishedAt, ...stats }: StreamStats): object => {
  const { requests, retries, rateLimited, items, degraded, files, bytes } = stats
  return {
    durationMs: (finishedAt ?? 0) - (startedAt ?? 0),
    requests,
    retries,
    rateLimited,
    items,
    degraded,
    files,
    bytes,
  }
}

const sumUp = ({ outcome, durationMs, stocks, scripts, error, code }: RunReport): object => {
  const all = Object.values(scripts)
  const sum = (counts: readonly object[]): Readonly<Record<string, number>> => {
    const sums: Record<string, number> = {}
    for (const [name, count] of counts.flatMap((one) => Object.entries(one) as [string, number][]))
      sums[name] = (sums[name] ?? 0) + count
    return sums
  }
  const counts = all.map(({ requests, retries, rateLimited, degraded, files, bytes }) => ({
    requests,
    retries,
    rateLimited,
    degraded,
    files,
    bytes,
  }))
  const streams = sum(all.map((script) => ({ [script.outcome]: 1 })))
  return omitUndefined({
    outcome,
    durationMs,
    stocks,
    streams,
    items: sum(all.map(({ items }) => items)),
    ...sum(counts),
    error,
    code,
  })
}
