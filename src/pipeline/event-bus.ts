import { Subject } from 'rxjs'
import type { BackoffStatus } from '../limiter/state.js'
import type { Emit, RunEvent } from '../model/event.js'
import { type Redact, redactRecord } from '../model/redact.js'
import { omitUndefined } from '../model/row.js'
import { createRunStats, type RunStats } from '../model/run-stats.js'
import type { Host } from '../model/settings.js'
import { createWall } from '../model/wall.js'
import { createRunLog } from './log.js'
import { listRunning, type PlannedStream } from './plan.js'
import type { RunDependencies } from './run-options.js'
import { startTelemetry } from './telemetry.js'

/** Passes the events of a run, without secrets, to the statistics, the log, the telemetry and the listener. */
export type EventBus = ReturnType<typeof createEventBus>

export const createEventBus = (
  plan: readonly PlannedStream[],
  listen: Emit,
  {
    log: logger,
    telemetry,
    redact,
    stats = createRunStats(),
  }: Pick<RunDependencies, 'log' | 'telemetry'> & { readonly redact: Redact; readonly stats?: RunStats },
) => {
  const wall = createWall()
  const log = logger && createRunLog(logger, stats, wall)
  const followers = startTelemetry(telemetry, wall, stats)
  const ended = new Map(listRunning(plan).map(({ name }) => [name, new Subject<never>()]))
  return {
    stats,
    /** The log of the run; undefined without a logger. */
    log,
    /** The telemetry of the run; undefined without any. */
    followers,
    /** Completes, for each stream of the run, when the stream has ended. */
    ended,
    /** What the report says of onlookers that have failed. */
    notes: (): readonly string[] => [...(followers?.notes() ?? []), ...wall.notes()],
    emit: (raw: RunEvent): void => {
      // The most frequent, without secrets, and not logged.
      if (raw.type === 'requested') {
        stats.record(raw)
        followers?.event(raw)
        listen(raw)
        return
      }
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
