import { streams as allStreams } from '../../streams/registry.js'
import type { StreamDefinition } from '../engine/define-stream.js'
import { UsageError } from '../model/errors.js'
import type { PlantedEvent } from '../model/market.js'
import { simulateDailyRuns } from './daily-run.js'
import type { DailyRun } from './invariants.js'
import { createScenario, FIRST_INSTANT } from './scenario.js'
import { createTotals, SIMULATED_FAULTS, type SimulatedFault } from './seed.js'
import { rejectFakeTimers, startVirtualTime } from './virtual-time.js'

/** What is simulated, and how often. Only `seed` is required. */
export interface SimulationOptions {
  /**
   * Everything that happens follows from it: latencies, order, faults, kills. The market is the same for all
   * seeds.
   */
  readonly seed: number
  /** How many seeds, from `seed` on. Default 1. */
  readonly seeds?: number | undefined
  /**
   * How many sessions in a row, one daily run each. With more than one, the market has planted events.
   * Default 1.
   */
  readonly days?: number | undefined
  /** How many stocks are listed. Default 8. */
  readonly stocks?: number | undefined
  /** The streams. Default: all built-in ones. Those of your own need a `sample` at each endpoint. */
  readonly streams?: readonly StreamDefinition[] | undefined
  /** What can go wrong; of these, each seed leaves out some. Default: everything. */
  readonly faults?: readonly SimulatedFault[] | undefined
  /** A check of your own: returns what is wrong with a daily run, if anything. */
  readonly check?: ((dailyRun: DailyRun) => readonly string[]) | undefined
  /** Receives a line about each run. */
  readonly log?: ((line: string) => void) | undefined
}

/** What a simulation did. */
export interface SimulationResult {
  readonly seeds: number
  readonly runs: number
  readonly kills: number
  readonly requests: number
  /** How many faults of each kind there were. */
  readonly faults: Readonly<Record<string, number>>
  /** How many items and streams failed with each code. */
  readonly codes: Readonly<Record<string, number>>
  /** How often each invariant was checked. */
  readonly checks: Readonly<Record<string, number>>
  /** The events of the market. */
  readonly planted: readonly PlantedEvent[]
  readonly virtualMs: number
  /** Of every request with its instant: two simulations with the same options have the same one. */
  readonly digest: string
}

/** State of the module on purpose: what a simulation replaces belongs to the process. */
let isSimulating = false

const rejectSecond = (): void => {
  if (isSimulating)
    throw new UsageError(
      'a simulation is already running in this process: start the next one when it has ended',
    )
}

/**
 * Runs whole daily runs of the command on virtual time: requests, retries, limits, storage, kills and the
 * clock are real code on a simulated network, disk and process. After each daily run it checks every
 * invariant. While it runs, the timers, the clock and the disk of this process are replaced: run one
 * simulation at a time, and nothing beside it.
 *
 * @throws SimulationError if an invariant does not hold; its `seed` alone repeats it
 * @throws UsageError while another simulation is running, or while a test runner has faked the timers
 * @example
 * // A stream of your own survives a hundred daily runs with everything that can go wrong.
 * await simulate({ seed: 1, seeds: 100, streams: [masterData, optionChains] })
 */
export const simulate = async (options: SimulationOptions): Promise<SimulationResult> => {
  const {
    seed,
    seeds = 1,
    days = 1,
    stocks = 8,
    streams = allStreams,
    faults = SIMULATED_FAULTS,
    check,
    log,
  } = options
  rejectSecond()
  await rejectFakeTimers()
  // Virtual time would not wait for it.
  await import('../storage/history/record-day.js')
  rejectSecond()
  isSimulating = true
  const time = startVirtualTime(FIRST_INSTANT)
  const totals = createTotals()
  const { stackTraceLimit } = Error
  // The stack of an error costs more than a request. A simulation with a log is there to look for the reason
  // of one.
  if (log === undefined) Error.stackTraceLimit = 0
  try {
    const scenario = createScenario({ time, streams, days, stocks })
    for (let one = seed; one < seed + seeds; one += 1)
      await simulateDailyRuns(one, { scenario, faults, totals, check, log })
    const { hash, ...counts } = totals
    return {
      ...counts,
      seeds,
      planted: scenario.planted,
      virtualMs: time.elapsed(),
      digest: hash.digest('hex'),
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    time.restore()
    isSimulating = false
  }
}
