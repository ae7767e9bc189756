import { interval } from 'rxjs'

const BEAT_MS = 250

/** Tells whether this process has stood still, or was cut off. */
export interface Pulse {
  /** Looks at once, instead of at the next beat. */
  readonly check: () => void
  readonly stop: () => void
}

/**
 * A process that was stopped, swapped out or not connected for longer than `limitMs` may have lost its items to others without knowing it:
 * then `stood` is called, before anything goes on that checks the pulse first.
 */
export const createPulse = (limitMs: number, isConnected: () => boolean, stood: () => void): Pulse => {
  let last = performance.now()
  const check = (): void => {
    const now = performance.now()
    const hasStood = now - last > limitMs
    if (hasStood || isConnected()) last = now
    if (hasStood) stood()
  }
  const beats = interval(BEAT_MS).subscribe(check)
  return {
    check: () => {
      if (performance.now() - last > limitMs) check()
    },
    stop: () => beats.unsubscribe(),
  }
}
