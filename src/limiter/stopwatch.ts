import { asyncScheduler } from 'rxjs'

/** A monotonic clock on RxJS' scheduler (virtual in tests), in milliseconds. It ignores backward steps of the system clock. */
export const createStopwatch = (): (() => number) => {
  let last = asyncScheduler.now()
  let passed = 0
  return () => {
    const at = asyncScheduler.now()
    passed += Math.max(0, at - last)
    last = at
    return passed
  }
}
