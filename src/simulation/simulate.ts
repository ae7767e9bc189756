import { createHash } from 'node:crypto'
import { streams as allStreams } from '../../streams/registry.js'
import type { PlantedEvent } from '../model/market.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { SIMULATED_FAULTS, type SimulatedFault, simulateEvenings } from './evening.js'
import type { Evening } from './invariants.js'
import { createStage, FIRST_EVENING } from './stage.js'
import { startVirtualTime } from './virtual-time.js'
import type { RunEnd } from './world.js'

export interface SimulationOptions {
  /** Everything that happens follows from it: latencies, order, faults, kills. The market is the same for all seeds. */
  readonly seed: number
  /** How many seeds, from `seed` on. Default 1. */
  readonly seeds?: number | undefined
  /** How many sessions in a row, one evening each. With more than one, the market has planted events. Default 1. */
  readonly days?: number | undefined
  /** How many stocks are listed. Default 12. */
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

/** What a simulation did. */
export interface SimulationResult {
  readonly seeds: number
  readonly runs: number
  readonly kills: number
  readonly requests: number
  /** How many faults of each kind there were. */
  readonly faults: Readonly<Record<string, number>>
  /** How often each invariant was checked. */
  readonly checks: Readonly<Record<string, number>>
  /** The events of the market. */
  readonly planted: readonly PlantedEvent[]
  readonly virtualMs: number
  /** Of every request with its instant: two simulations with the same options have the same one. */
  readonly digest: string
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
  const { seed, seeds = 1, days = 1, stocks = 12, streams = allStreams, faults = SIMULATED_FAULTS, check, log } = options
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

/** What a simulation counts. */
export type Totals = ReturnType<typeof createTotals>

const createTotals = () => {
  const [faults, checks] = [new Map<string, number>(), new Map<string, number>()]
  const hash = createHash('sha256')
  let [runs, kills, requests] = [0, 0, 0]
  const increase = (counts: Map<string, number>, name: string, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by)
  return {
    countFault: (kind: string, by?: number) => increase(faults, kind, by),
    countCheck: (name: string) => increase(checks, name),
    countRun: (run: RunEnd) => {
      runs += 1
      kills += run.end === 'killed' ? 1 : 0
      requests += run.requests
    },
    digest: (text: string) => void hash.update(text),
    result: (more: Pick<SimulationResult, 'seeds' | 'virtualMs' | 'planted'>): SimulationResult => ({
      ...{ ...more, runs, kills, requests },
      faults: Object.fromEntries(faults),
      checks: Object.fromEntries(checks),
      digest: hash.digest('hex'),
    }),
  }
}
