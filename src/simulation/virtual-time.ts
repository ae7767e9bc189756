/** The timers and the clock of this process, while a simulation owns them. */
export interface VirtualTime {
  /** The wall clock, epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds since the begin of the simulation, whatever the wall clock says. */
  readonly elapsed: () => number
  /** Sets the wall clock, forwards or backwards. Timers keep their distance. */
  readonly setClock: (at: number) => void
  /**
   * Fires timers in order until `isDone`; between two of them everything that was promised settles. Resolves to `stalled` if nothing is left
   * that could fire, and to `late` after `maxMs`.
   */
  readonly advance: (isDone: () => boolean, maxMs: number) => Promise<'done' | 'stalled' | 'late'>
  /** Forgets all timers, as the end of a process does. */
  readonly clear: () => void
  /** The timers that would keep a process alive. */
  readonly pending: () => number
  /** Gives the process its own timers and clock back. */
  readonly restore: () => void
}

/** A timer, with the methods of Node's. */
class VirtualTimer {
  isActive = true
  isRef = true
  constructor(
    public dueAt: number,
    readonly call: () => void,
    readonly everyMs: number | undefined,
  ) {}
  ref(): this {
    this.isRef = true
    return this
  }
  unref(): this {
    this.isRef = false
    return this
  }
  hasRef(): boolean {
    return this.isRef
  }
}

type Call = (...args: readonly unknown[]) => void

/**
 * Replaces `setTimeout`, `setInterval`, `setImmediate`, `Date.now` and `performance.now` of this process by virtual ones that start at `startAt`
 * (epoch milliseconds). RxJS and Node's own code look them up at each call. One at a time: they belong to the process.
 */
export const startVirtualTime = (startAt: number): VirtualTime => {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate }
  const clocks = { now: Date.now, performanceNow: performance.now }
  const settle = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))
  /** By due time; those that are due together keep the order in which they were set. */
  let queue: VirtualTimer[] = []
  let elapsed = 0
  let offset = startAt
  const insert = (timer: VirtualTimer): VirtualTimer => {
    let [low, high] = [0, queue.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((queue[middle] as VirtualTimer).dueAt <= timer.dueAt) low = middle + 1
      else high = middle
    }
    queue.splice(low, 0, timer)
    return timer
  }
  const add = (call: Call, ms: unknown, args: readonly unknown[], repeats = false): VirtualTimer => {
    // Like Node: at least 1 ms, and whole milliseconds.
    const delay = Math.max(1, Math.trunc(Number(ms)) || 1)
    return insert(new VirtualTimer(elapsed + delay, () => call(...args), repeats ? delay : undefined))
  }
  const clear = (timer: unknown): void => {
    if (timer instanceof VirtualTimer) timer.isActive = false
  }
  const now = (): number => offset + elapsed
  Object.assign(globalThis, {
    setTimeout: (call: Call, ms?: unknown, ...args: readonly unknown[]) => add(call, ms, args),
    setInterval: (call: Call, ms?: unknown, ...args: readonly unknown[]) => add(call, ms, args, true),
    setImmediate: (call: Call, ...args: readonly unknown[]) => insert(new VirtualTimer(elapsed, () => call(...args), undefined)),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  })
  Date.now = now
  performance.now = () => elapsed
  const fireNext = (): void => {
    const timer = queue.shift()
    if (!timer?.isActive) return
    elapsed = timer.dueAt
    if (timer.everyMs === undefined) timer.isActive = false
    else insert(Object.assign(timer, { dueAt: elapsed + timer.everyMs }))
    timer.call()
  }
  const isPending = (timer: VirtualTimer): boolean => timer.isActive && timer.isRef
  return {
    now,
    elapsed: () => elapsed,
    setClock: (at) => {
      offset = at - elapsed
    },
    advance: async (isDone, maxMs) => {
      const end = elapsed + maxMs
      for (;;) {
        await settle()
        if (isDone()) return 'done'
        while (queue[0]?.isActive === false) queue.shift()
        if (!queue.some(isPending)) return 'stalled'
        if ((queue[0] as VirtualTimer).dueAt > end) return 'late'
        fireNext()
      }
    },
    clear: () => {
      queue = []
    },
    pending: () => queue.filter(isPending).length,
    restore: () => {
      Object.assign(globalThis, real)
      Date.now = clocks.now
      performance.now = clocks.performanceNow
    },
  }
}
