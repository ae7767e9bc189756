import { readFileSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** What a process says of itself when it ends. Loaded into it by `--import`; writes the file that `BENCH_PROBE` names. */
export interface Probed {
  readonly cpuMicros: number
  readonly peakRssBytes: number
  /** 99 of 100 times the event loop was later by no more than this. */
  readonly delayP99Ms: number
}

/** The monitor counts the time between two of its timers, this one included. */
const RESOLUTION_MS = 5

// The kernel's mark of this process alone; what `resourceUsage` says can be its parent's.
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
    const probed: Probed = { cpuMicros: user + system, peakRssBytes: peakRssBytes(), delayP99Ms }
    writeFileSync(path, JSON.stringify(probed))
  })
}
