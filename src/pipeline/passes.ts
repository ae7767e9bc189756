import { AsyncSubject, type Observable, of } from 'rxjs'
import type { StreamDefinition } from './define-stream.js'
import type { Planned } from './plan.js'

/** When the streams of a run may work once more on what failed for a temporary reason. */
export interface Passes {
  /** Emits once, when a stream may begin its second pass. */
  readonly secondOf: (stream: StreamDefinition) => Observable<void>
  /** A stream has worked on all of its items once, or has ended early. */
  readonly ended: (stream: StreamDefinition) => void
}

/**
 * Streams begin their second pass when all of their phase have ended the first one, which gives a host in trouble the most time. Enrichment
 * and candles run side by side and count as one phase. A stream of the core phase, and one that others wait for, does not wait for anyone:
 * so whoever waits, waits for streams alone that end by themselves.
 */
export const passesOf = (plan: readonly Planned[]): Passes => {
  const streams = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))
  const awaited = new Set(streams.flatMap(({ after = [] }) => after))
  const inFirstPass = new Set(streams.filter(({ phase }) => phase !== 'core').map(({ name }) => name))
  const allEnded$ = new AsyncSubject<void>()
  return {
    secondOf: ({ name, phase, offers }) => (phase === 'core' || offers !== undefined || awaited.has(name) ? of(undefined) : allEnded$),
    ended: ({ name }) => {
      inFirstPass.delete(name)
      if (inFirstPass.size > 0) return
      allEnded$.next()
      allEnded$.complete()
    },
  }
}
