import { type Observable, Subject } from 'rxjs'
import type { BackoffStatus } from '../limiter/limiter-state.js'
import type { Emit, RunEvent } from '../model/event.js'
import { type Redact, redactRecord } from '../model/redact.js'
import { omitUndefined } from '../model/row.js'
import { createRunStats, type RunStats } from '../model/run-stats.js'
import type { Host } from '../model/settings.js'
import { createWall } from '../model/wall.js'
import { createRunLog, type Log, type RunLog } from './log.js'
import type { PlannedStream } from './plan.js'
import { type AllTelemetry, type Followers, startTelemetry } from './telemetry.js'

/** Passes the events of a run, without secrets, to the statistics, the log, the telemetry and the listener. */
export interface EventBus {
  readonly emit: Emit
  readonly stats: RunStats
  /** The log of the run; undefined without a logger. */
  readonly log: RunLog | undefined
  /** The telemetry of the run; undefined without any. */
  readonly followers: Followers | undefined
  /** What the report says of onlookers that have failed. */
  readonly notes: () => readonly string[]
  /** Completes, for each stream of the run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
}

export const createEventBus = (
  plan: readonly PlannedStream[],
  listen: Emit,
  {
    log: logger,
    telemetry,
    redact,
  }: { readonly log: Log | undefined; readonly telemetry: AllTelemetry | undefined; readonly redact: Redact },
): EventBus => {
  const stats = createRunStats()
  const wall = createWall()
  const log = logger && createRunLog(logger, stats, wall)
  const followers = startTelemetry(telemetry, wall)
  const ended = new Map(plan.flatMap(({ stream, state }) => (state === 'waiting' ? [[stream.name, new Subject<never>()] as const] : [])))
  return {
    stats,
    log,
    followers,
    ended,
    notes: () => [...(followers?.notes() ?? []), ...wall.notes()],
    emit: (raw) => {
      const event = redactRecord(raw, redact)
      stats.record(event)
      log?.event(event)
      followers?.event(event)
      listen(event)
      if (event.type === 'stream-finished') ended.get(event.stream)?.complete()
    },
  }
}

/** The event for hosts, or one endpoint of them, that stop serving requests (back-off or open circuit), or serve them again. */
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
