import { type Observable, Subject } from 'rxjs'
import type { Emit } from '../model/event.js'
import { type Redact, redactRecord } from '../model/redact.js'
import { createRunStats, type RunStats } from '../model/run-stats.js'
import { type Log, logEvent } from './log.js'
import type { PlannedStream } from './plan.js'

/** Passes the events of a run, without secrets, to the statistics, the log and the listener. */
export interface EventBus {
  readonly emit: Emit
  readonly tally: RunStats
  /** Completes, for each stream of the run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
}

export const createEventBus = (
  plan: readonly PlannedStream[],
  listen: Emit,
  { log, redact }: { readonly log: Log | undefined; readonly redact: Redact },
): EventBus => {
  const tally = createRunStats()
  const ended = new Map(plan.flatMap(({ stream, state }) => (state === 'waiting' ? [[stream.name, new Subject<never>()] as const] : [])))
  return {
    tally,
    ended,
    emit: (raw) => {
      const event = redactRecord(raw, redact)
      tally.record(event)
      if (log) logEvent(log, event)
      listen(event)
      if (event.type === 'stream-finished') ended.get(event.stream)?.complete()
    },
  }
}
