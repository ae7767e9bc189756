import { readFileSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** The measurements of a process about itself. Loaded into it by `--import`; written to the file in `BENCH_PROBE` at exit. */
export interface ProbeResult {
  readonly cpuMicros: number
  readonly peakRssBytes: number
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

const path = process.env.BENCH_PROBE
if (path !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  process.on('exit', () => {
    const { user, system } = process.cpuUsage()
    const delayP99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)
    const probed: ProbeResult = { cpuMicros: user + system, peakRssBytes: peakRssBytes(), delayP99Ms }
    writeFileSync(path, JSON.stringify(probed))
  })
}
