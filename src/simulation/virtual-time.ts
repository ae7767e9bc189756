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
  /** Lets that time pass; timers that are due fire. */
  readonly pass: (ms: number) => Promise<void>
  /** Forgets all timers, as the end of a process does. */
  readonly clear: () => void
  /** The timers that would keep a process alive. */
  readonly pending: () => number
  /** The most timers that were pending at once since the last call. */
  readonly takePeak: () => number
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

/** Timers by due time; those that are due together keep the order in which they were set. */
class TimerQueue {
  private timers: VirtualTimer[] = []
  private active = 0
  private peak = 0
  elapsed = 0

  insert(timer: VirtualTimer): VirtualTimer {
    let [low, high] = [0, this.timers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.timers[middle] as VirtualTimer).dueAt <= timer.dueAt) low = middle + 1
      else high = middle
    }
    this.timers.splice(low, 0, timer)
    this.active += 1
    this.peak = Math.max(this.peak, this.active)
    return timer
  }

  cancel(timer: VirtualTimer): void {
    if (timer.isActive) this.active -= 1
    timer.isActive = false
  }

  /** Like Node: at least 1 ms, and whole milliseconds. */
  add(call: () => void, ms: unknown, repeats = false): VirtualTimer {
    const delay = Math.max(1, Math.trunc(Number(ms)) || 1)
    return this.insert(new VirtualTimer(this.elapsed + delay, call, repeats ? delay : undefined))
  }

  /** When the next timer is due; infinite without one. */
  due(): number {
    while (this.timers[0]?.isActive === false) this.timers.shift()
    return this.timers[0]?.dueAt ?? Number.POSITIVE_INFINITY
  }

  hasPending(): boolean {
    return this.timers.some(isPending)
  }

  fire(): void {
    const timer = this.timers.shift()
    if (!timer?.isActive) return
    this.elapsed = timer.dueAt
    this.active -= 1
    if (timer.everyMs === undefined) timer.isActive = false
    else this.insert(Object.assign(timer, { dueAt: this.elapsed + timer.everyMs }))
    timer.call()
  }

  countPending(): number {
    return this.timers.filter(isPending).length
  }

  clear(): void {
    for (const timer of this.timers) this.cancel(timer)
    this.timers = []
  }

  takePeak(): number {
    const peak = this.peak
    this.peak = this.active
    return peak
  }
}

const isPending = (timer: VirtualTimer): boolean => timer.isActive && timer.isRef

/**
 * Replaces `setTimeout`, `setInterval`, `setImmediate`, `Date.now` and `performance.now` of this process by virtual ones that start at `startAt`
 * (epoch milliseconds). RxJS and Node's own code look them up at each call. One at a time: they belong to the process.
 */
export const startVirtualTime = (startAt: number): VirtualTime => {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate }
  const clocks = { now: Date.now, performanceNow: performance.now }
  const settle = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))
  const queue = new TimerQueue()
  let offset = startAt
  const now = (): number => offset + queue.elapsed
  /** A timer that was set before the simulation is the process's own. */
  const clear = (timer: unknown): void => {
    if (timer instanceof VirtualTimer) queue.cancel(timer)
    else real.clearTimeout(timer as NodeJS.Timeout)
  }
  Object.assign(globalThis, {
    setTimeout: (call: Call, ms?: unknown, ...args: readonly unknown[]) => queue.add(() => call(...args), ms),
    setInterval: (call: Call, ms?: unknown, ...args: readonly unknown[]) => queue.add(() => call(...args), ms, true),
    setImmediate: (call: Call, ...args: readonly unknown[]) =>
      queue.insert(new VirtualTimer(queue.elapsed, () => call(...args), undefined)),
    ...{ clearTimeout: clear, clearInterval: clear, clearImmediate: clear },
  })
  Date.now = now
  performance.now = () => queue.elapsed
  return {
    now,
    elapsed: () => queue.elapsed,
    setClock: (at) => {
      offset = at - queue.elapsed
    },
    advance: async (isDone, maxMs) => {
      const end = queue.elapsed + maxMs
      for (;;) {
        await settle()
        if (isDone()) return 'done'
        if (!queue.hasPending()) return 'stalled'
        if (queue.due() > end) return 'late'
        queue.fire()
      }
    },
    pass: async (ms) => {
      const end = queue.elapsed + ms
      for (; queue.due() <= end; await settle()) queue.fire()
      queue.elapsed = end
    },
    clear: () => queue.clear(),
    pending: () => queue.countPending(),
    takePeak: () => queue.takePeak(),
    restore: () => {
      Object.assign(globalThis, real)
      Date.now = clocks.now
      performance.now = clocks.performanceNow
    },
  }
}
