import { type Observable, Subject } from 'rxjs'
import type { Emit } from '../model/event.js'
import { type Redact, withoutSecrets } from '../model/redact.js'
import { createTally, type Tally } from '../model/tally.js'
import { type Log, logEvent } from './log.js'
import type { Planned } from './plan.js'

/** Passes the events of a run, without secrets, to the statistics, the log and the listener. */
export interface Telling {
  readonly emit: Emit
  readonly tally: Tally
  /** Completes, for each stream of the run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
}

export const createTelling = (
  plan: readonly Planned[],
  listen: Emit,
  { log, redact }: { readonly log: Log | undefined; readonly redact: Redact },
): Telling => {
  const tally = createTally()
  const ended = new Map(plan.flatMap(({ stream, state }) => (state === 'waiting' ? [[stream.name, new Subject<never>()] as const] : [])))
  return {
    tally,
    ended,
    emit: (raw) => {
      const event = withoutSecrets(raw, redact)
      tally.record(event)
      if (log) logEvent(log, event)
      listen(event)
      if (event.type === 'stream-finished') ended.get(event.stream)?.complete()
    },
  }
}
