/** What a script that measures CPU prints. */
export interface Spent {
  readonly cpuMicros: number
  readonly items: number
}

/** Passes over all stocks that warm the code up: from then on the engine has compiled what it will compile. */
export const WARM_PASSES = 4

/** Passes that are measured. */
export const HOT_PASSES = 4
