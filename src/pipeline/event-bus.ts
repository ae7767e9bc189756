import { type Observable, Subject } from 'rxjs'
import type { BackoffStatus } from '../limiter/host-limiter.js'
import type { Emit, RunEvent } from '../model/event.js'
import { isLost } from '../model/outcome.js'
import { type Redact, redactRecord } from '../model/redact.js'
import { omitUndefined } from '../model/row.js'
import { createRunStats, type RunStats } from '../model/run-stats.js'
import type { Host } from '../model/settings.js'
import type { PlannedStream } from './plan.js'
import { type AllTelemetry, type Followers, startTelemetry } from './telemetry.js'

/** Passes the events of a run, without secrets, to the statistics, the log, the telemetry and the listener. */
export interface EventBus {
  readonly emit: Emit
  readonly stats: RunStats
  /** The telemetry of the run; undefined without any. */
  readonly followers: Followers | undefined
  /** Completes, for each stream of the run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
}

export const createEventBus = (
  plan: readonly PlannedStream[],
  listen: Emit,
  { log, telemetry, redact }: { readonly log: Log | undefined; readonly telemetry: AllTelemetry | undefined; readonly redact: Redact },
): EventBus => {
  const stats = createRunStats()
  const followers = startTelemetry(telemetry)
  const ended = new Map(plan.flatMap(({ stream, state }) => (state === 'waiting' ? [[stream.name, new Subject<never>()] as const] : [])))
  return {
    stats,
    followers,
    ended,
    emit: (raw) => {
      const event = redactRecord(raw, redact)
      stats.record(event)
      if (log) logEvent(log, event)
      followers?.event(event)
      listen(event)
      if (event.type === 'stream-finished') ended.get(event.stream)?.complete()
    },
  }
}

/** The part of a pino logger that a run uses; any logger of that shape works. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn', (fields: object, message: string) => void>>

/** Logs the start and end of streams, retries, lost and rewritten items, warnings, and the state of hosts. */
const logEvent = (log: Log, event: RunEvent): void => {
  const level = toLevel(event)
  if (level === undefined) return
  const { type, ...fields } = event
  const { report, ...others } = { report: undefined, ...fields }
  log[level](report === undefined ? others : { outcome: report.outcome, durationMs: report.durationMs }, type)
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
      return isLost(event) || event.degraded !== undefined ? 'warn' : event.remark === undefined ? undefined : 'info'
    case 'warning':
      return 'warn'
    case 'second-pass':
    case 'host-paused':
    case 'host-resumed':
    case 'run-finished':
      return 'info'
    default:
      return undefined
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
