import { asyncScheduler } from 'rxjs'

/** Milliseconds since now. They never run backwards, whatever is done to the machine's clock. */
export const stopwatch = (): (() => number) => {
  let last = asyncScheduler.now()
  let passed = 0
  return () => {
    const at = asyncScheduler.now()
    passed += Math.max(0, at - last)
    last = at
    return passed
  }
}
