import { interval } from 'rxjs'

const BEAT_MS = 250

/** Tells whether this process has stood still. */
export interface Pulse {
  /** Looks at once, instead of at the next beat. */
  readonly check: () => void
  readonly stop: () => void
}

/**
 * A process that was stopped, or swapped out, for longer than `limitMs` may have lost its items to others without knowing it: then
 * `stood` is called, before anything goes on that checks the pulse first.
 */
export const createPulse = (limitMs: number, stood: () => void): Pulse => {
  let last = performance.now()
  const check = (): void => {
    const now = performance.now()
    const gap = now - last
    last = now
    if (gap > limitMs) stood()
  }
  const beats = interval(BEAT_MS).subscribe(check)
  return {
    check: () => {
      if (performance.now() - last > limitMs) check()
    },
    stop: () => beats.unsubscribe(),
  }
}
