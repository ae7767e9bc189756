import { MessageChannel } from 'node:worker_threads'
import { UsageError } from '../model/errors.js'

/** The timers and the clock of this process, while a simulation owns them. */
export type VirtualTime = ReturnType<typeof startVirtualTime>

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

type TimerCallback = (...args: readonly unknown[]) => void

/** Timers by due time; those that are due together keep the order in which they were set. */
class TimerQueue {
  private timers: VirtualTimer[] = []
  private active = 0
  private peak = 0
  elapsed = 0

  insert(timer: VirtualTimer): VirtualTimer {
    const place = this.timers.findLastIndex(({ dueAt }) => dueAt <= timer.dueAt) + 1
    this.timers.splice(place, 0, timer)
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

  /** The timers that would keep a process alive. */
  countPending(): number {
    return this.timers.filter(isPending).length
  }

  clear(): void {
    for (const timer of this.timers) this.cancel(timer)
    this.timers = []
  }

  /** The most timers that were active at once since the last call. */
  takePeak(): number {
    const peak = this.peak
    this.peak = this.active
    return peak
  }
}

const isPending = (timer: VirtualTimer): boolean => timer.isActive && timer.isRef

const createTimerFunctions = (queue: TimerQueue, clearReal: typeof clearTimeout) => {
  const createSetter =
    (repeats: boolean) =>
    (call: TimerCallback, ms?: unknown, ...args: readonly unknown[]) =>
      queue.add(() => call(...args), ms, repeats)
  /** A timer that was set before the simulation is the process's own. */
  const clear = (timer: unknown) => {
    if (timer instanceof VirtualTimer) queue.cancel(timer)
    else clearReal(timer as NodeJS.Timeout)
  }
  return {
    setTimeout: createSetter(false),
    setInterval: createSetter(true),
    setImmediate: (call: TimerCallback, ...args: readonly unknown[]) =>
      queue.insert(new VirtualTimer(queue.elapsed, () => call(...args), undefined)),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  }
}

/** Far more turns than a `setImmediate` takes; together some milliseconds. */
const MAX_TURNS = 100

/**
 * Rejects with a `UsageError` if a test runner has replaced `setImmediate`: a simulation would never end. The
 * turns of the event loop are counted by messages, which test runners leave alone.
 */
export const rejectFakeTimers = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel()
    let turns = 0
    const immediate = setImmediate(() => {
      port1.close()
      resolve()
    })
    // There and back: a port may get several messages in one turn.
    port1.on('message', () => port1.postMessage(turns))
    port2.on('message', () => {
      turns += 1
      if (turns < MAX_TURNS) port2.postMessage(turns)
      else {
        port1.close()
        clearImmediate(immediate)
        reject(new UsageError(FAKED))
      }
    })
    port1.postMessage(turns)
  })

const FAKED =
  'the timers of this process are faked, so that a simulation would never end: end that first, as by vi.useRealTimers(); it has virtual time of its own'

/**
 * Replaces `setTimeout`, `setInterval`, `setImmediate`, `Date.now` and `performance.now` of this process by
 * virtual ones that start at `startAt` (epoch milliseconds). RxJS and Node's own code look them up at each
 * call. One at a time: they belong to the process.
 */
export const startVirtualTime = (startAt: number) => {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate }
  const [realNow, realPerformanceNow] = [Date.now, performance.now]
  const settle = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))
  const queue = new TimerQueue()
  let offset = startAt
  const now = () => offset + queue.elapsed
  Object.assign(globalThis, createTimerFunctions(queue, clearTimeout))
  Date.now = now
  performance.now = () => queue.elapsed
  return {
    now,
    /** Milliseconds since the begin of the simulation, whatever the wall clock says. */
    elapsed: () => queue.elapsed,
    /** Sets the wall clock, forwards or backwards. Timers keep their distance. */
    setClock: (at: number) => {
      offset = at - queue.elapsed
    },
    /**
     * Fires timers in order until `isDone`. Resolves to `stalled` if nothing is left that could fire, and to
     * `late` after `maxMs`.
     */
    advance: async (isDone: () => boolean, maxMs: number): Promise<'done' | 'stalled' | 'late'> => {
      const end = queue.elapsed + maxMs
      for (;;) {
        // What was promised settles between two timers.
        await settle()
        if (isDone()) return 'done'
        if (!queue.hasPending()) return 'stalled'
        if (queue.due() > end) return 'late'
        queue.fire()
      }
    },
    /** Lets that time pass; timers that are due fire. */
    pass: async (ms: number) => {
      const end = queue.elapsed + ms
      for (; queue.due() <= end; await settle()) queue.fire()
      queue.elapsed = end
    },
    clear: () => queue.clear(),
    pending: () => queue.countPending(),
    takePeak: () => queue.takePeak(),
    restore: () => {
      Object.assign(globalThis, real)
      Date.now = realNow
      performance.now = realPerformanceNow
    },
  }
}
