import { createHash } from 'node:crypto'
import type { PlantedEvent } from '../model/market.js'
import type { SimulatedRun } from './world.js'

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

/** What a simulation counts. */
export type Totals = ReturnType<typeof createTotals>

export const createTotals = () => {
  const [faults, codes, checks] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()]
  const hash = createHash('sha256')
  let [runs, kills, requests] = [0, 0, 0]
  const increase = (counts: Map<string, number>, name: string, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by)
  return {
    countFault: (kind: string, by?: number) => increase(faults, kind, by),
    countCheck: (name: string) => increase(checks, name),
    countRun: (run: SimulatedRun) => {
      runs += 1
      kills += run.end === 'killed' ? 1 : 0
      requests += run.requests
      for (const { problems } of Object.values(run.report?.scripts ?? {})) for (const { code } of problems) increase(codes, code ?? 'none')
    },
    digest: (text: string) => void hash.update(text),
    result: (more: Pick<SimulationResult, 'seeds' | 'virtualMs' | 'planted'>): SimulationResult => ({
      ...{ ...more, runs, kills, requests },
      faults: Object.fromEntries(faults),
      codes: Object.fromEntries(codes),
      checks: Object.fromEntries(checks),
      digest: hash.digest('hex'),
    }),
  }
}
