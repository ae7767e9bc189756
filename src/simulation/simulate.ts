import { streams as allStreams } from '../../streams/registry.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { SIMULATED_FAULTS, type SimulatedFault, simulateEvenings } from './evening.js'
import type { Evening } from './invariants.js'
import { createStage, FIRST_EVENING } from './stage.js'
import { createTotals, type SimulationResult } from './totals.js'
import { startVirtualTime } from './virtual-time.js'

/** What is simulated, and how often. Only `seed` is required. */
export interface SimulationOptions {
  /** Everything that happens follows from it: latencies, order, faults, kills. The market is the same for all seeds. */
  readonly seed: number
  /** How many seeds, from `seed` on. Default 1. */
  readonly seeds?: number | undefined
  /** How many sessions in a row, one evening each. With more than one, the market has planted events. Default 1. */
  readonly days?: number | undefined
  /** How many stocks are listed. Default 8. */
  readonly stocks?: number | undefined
  /** The streams. Default: all built-in ones. Those of your own need a `sample` at each endpoint. */
  readonly streams?: readonly StreamDefinition[] | undefined
  /** What can go wrong; of these, each seed leaves out some. Default: everything. */
  readonly faults?: readonly SimulatedFault[] | undefined
  /** A check of your own: returns what is wrong with an evening, if anything. */
  readonly check?: ((evening: Evening) => readonly string[]) | undefined
  /** Receives a line about each run. */
  readonly log?: ((line: string) => void) | undefined
}

/**
 * Runs whole evenings of the command on virtual time: requests, retries, limits, storage, kills and the clock are real code on a simulated
 * network, disk and process. After each evening it checks every invariant. While it runs, the timers, the clock and the disk of this process
 * are replaced: run one simulation at a time, and nothing beside it.
 *
 * @throws SimulationError if an invariant does not hold; its `seed` alone repeats it
 * @example
 * // A stream of your own survives a hundred evenings with everything that can go wrong.
 * await simulate({ seed: 1, seeds: 100, streams: [masterData, optionChains] })
 */
export const simulate = async (options: SimulationOptions): Promise<SimulationResult> => {
  const { seed, seeds = 1, days = 1, stocks = 8, streams = allStreams, faults = SIMULATED_FAULTS, check, log } = options
  // A package that is loaded while time is virtual would take a moment of real time.
  await import('ndjson')
  const time = startVirtualTime(FIRST_EVENING)
  const totals = createTotals()
  try {
    const stage = createStage({ time, streams, days, stocks })
    for (let one = seed; one < seed + seeds; one += 1) await simulateEvenings(one, { stage, faults, totals, check, log })
    return totals.result({ seeds, virtualMs: time.elapsed(), planted: stage.planted })
  } finally {
    time.restore()
  }
}
