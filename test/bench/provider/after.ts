/** Runs a function after a delay in milliseconds. */
export type After = (ms: number, run: () => void) => void

/** Gain of the moving average of the timers' lateness. */
const GAIN = 0.02

/**
 * Creates delays that are exact on average. Timers have a resolution of 1 ms and fire about 1 ms late: the
 * measured lateness is subtracted, and rounding errors are carried over to the next delay.
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
