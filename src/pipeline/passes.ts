import { AsyncSubject, type Observable, of } from 'rxjs'
import type { StreamDefinition } from './define-stream.js'
import type { PlannedStream } from './plan.js'

/** Decides when the streams of a run retry the items that failed for a temporary reason. */
export interface Passes {
  /** Emits once, as soon as a stream may begin its second pass. */
  readonly whenSecondPass: (stream: StreamDefinition) => Observable<void>
  /** Marks the first pass of a stream as finished; also called if the stream fails early. */
  readonly endFirstPass: (stream: StreamDefinition) => void
}

/**
 * Streams begin their second pass after all streams of the phase have finished the first one, which gives a failing host the most time.
 * Enrichment and candles run in parallel and count as one phase. A stream of the core phase, or one that others wait for, does not wait:
 * so no stream waits for one that waits itself.
 */
export const createPasses = (plan: readonly PlannedStream[]): Passes => {
  const streams = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))
  const awaited = new Set(streams.flatMap(({ after = [] }) => after))
  const inFirstPass = new Set(streams.filter(({ phase }) => phase !== 'core').map(({ name }) => name))
  const allEnded$ = new AsyncSubject<void>()
  return {
    whenSecondPass: ({ name, phase, offers }) =>
      phase === 'core' || offers !== undefined || awaited.has(name) ? of(undefined) : allEnded$,
    endFirstPass: ({ name }) => {
      inFirstPass.delete(name)
      if (inFirstPass.size > 0) return
      allEnded$.next()
      allEnded$.complete()
    },
  }
}
