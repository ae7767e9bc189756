import { readFileSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { GCProfiler, getHeapStatistics } from 'node:v8'

/**
 * The measurements of a process about itself. Loaded into it by `--import`; written to the file in
 * `BENCH_PROBE` at exit.
 */
export interface ProbeResult {
  readonly cpuMicros: number
  readonly peakRssBytes: number
  /** Bytes of all objects that were allocated in the heap of V8: hardly depends on the machine. */
  readonly allocatedBytes: number
  /** 99th percentile of the event-loop delay. */
  readonly delayP99Ms: number
}

/** The monitor measures the time between two timers, including this interval. */
const RESOLUTION_MS = 5

// VmHWM of this process; `resourceUsage` may return the peak of its parent.
const peakRssBytes = (): number => {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1_024
  } catch {
    return process.resourceUsage().maxRSS * 1_024
  }
}

/** What the heap grew by between its collections, from the start of the profiler to now. */
const countAllocated = (usedAtStart: number, profiler: GCProfiler): number => {
  let [allocated, used] = [0, usedAtStart]
  for (const { beforeGC, afterGC } of profiler.stop().statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - used
    used = afterGC.heapStatistics.usedHeapSize
  }
  return allocated + getHeapStatistics().used_heap_size - used
}

const path = process.env.BENCH_PROBE
if (path !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const profiler = new GCProfiler()
  profiler.start()
  const usedAtStart = getHeapStatistics().used_heap_size
  process.on('exit', () => {
    const { user, system } = process.cpuUsage()
    const delayP99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)
    const allocatedBytes = countAllocated(usedAtStart, profiler)
    const probed: ProbeResult = {
      cpuMicros: user + system,
      peakRssBytes: peakRssBytes(),
      allocatedBytes,
      delayP99Ms,
    }
    writeFileSync(path, JSON.stringify(probed))
  })
}
