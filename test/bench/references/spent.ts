/** What a script that measures CPU prints. */
export interface CpuUsage {
  readonly cpuMicros: number
  readonly items: number
}

/** Passes over all stocks before the measurement: V8 has compiled the hot code by then. */
export const WARM_PASSES = 4

/** Measured passes. */
export const HOT_PASSES = 4
