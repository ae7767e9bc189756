/** Lets the event loop serve others. Looks the global up at the call, so that a simulation can replace it; so does `pause`. */
export const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
