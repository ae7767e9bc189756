/** Runs something after so many milliseconds. */
export type After = (ms: number, run: () => void) => void

/** How fast the estimate of the timers' lateness follows what is measured. */
const GAIN = 0.02

/**
 * Delays that are exact in the mean. Timers know whole milliseconds only, and fire about one late: the lateness is measured and taken off,
 * and what rounding adds to one delay is taken from the next.
 */
export const createAfter = (): After => {
  let lateness = 0.5
  let carry = 0
  return (ms, run) => {
    if (ms <= 0) return run()
    const wanted = ms - lateness + carry
    const whole = Math.max(1, Math.round(wanted))
    carry = Math.max(-1, Math.min(1, wanted - whole))
    const from = performance.now()
    setTimeout(() => {
      lateness += GAIN * (performance.now() - from - whole - lateness)
      run()
    }, whole)
  }
}
