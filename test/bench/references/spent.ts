/** What a script that measures CPU prints. */
export interface Spent {
  readonly cpuMicros: number
  readonly items: number
}

/** Passes over all stocks that are measured, after one that warms the code up. */
export const HOT_PASSES = 3
