import { interval } from 'rxjs'

const CHECK_MS = 250

/** Detects that this process was stalled, or disconnected from Redis. */
export interface StallDetector {
  /** Checks now instead of at the next interval. */
  readonly check: () => void
  readonly stop: () => void
}

/**
 * A process that was stopped, swapped out or disconnected for longer than `limitMs` may have lost its items to other workers without
 * knowing. `onStall` is called then, before any code continues that calls `check` first.
 */
export const createStallDetector = (limitMs: number, isConnected: () => boolean, onStall: () => void): StallDetector => {
  let last = performance.now()
  const check = (): void => {
    const now = performance.now()
    const hasStalled = now - last > limitMs
    if (hasStalled || isConnected()) last = now
    if (hasStalled) onStall()
  }
  const checks = interval(CHECK_MS).subscribe(check)
  return {
    check: () => {
      if (performance.now() - last > limitMs) check()
    },
    stop: () => checks.unsubscribe(),
  }
}
