import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Figure } from '../harness/figure.js'

/** Medians of full runs with one market size and latency. */
export interface ScalePoint {
  readonly stocks: number
  readonly latencyMs: number
  readonly runs: number
  readonly wallS: number
  readonly boundS: number
  readonly cpuS: number
  readonly peakRssMb: number
  readonly requests: number
  readonly outputMb: number
}

/** The last measurements, stored in the repository and shown in the README. */
export interface Results {
  readonly figures: readonly Figure[]
  /** The same figures of an earlier version, measured on the machine of most figures. */
  readonly before: readonly Figure[]
  readonly scaleMachine: string
  readonly scale: readonly ScalePoint[]
}

const NOTHING: Results = { figures: [], before: [], scaleMachine: '', scale: [] }

export const readResults = (path: string): Results =>
  existsSync(path) ? { ...NOTHING, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<Results>) } : NOTHING

export const writeResults = (path: string, results: Results): void =>
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)

/** Replaces items that have the same key and appends the others. */
export const mergeByKey = <T>(
  old: readonly T[],
  fresh: readonly T[],
  keyOf: (item: T) => string,
): readonly T[] => [...new Map([...old, ...fresh].map((item) => [keyOf(item), item])).values()]

export const getName = ({ name }: Figure): string => name

/** Adds the machine to the figures. */
export const addMachine = (machine: string, figures: readonly Figure[]): readonly Figure[] =>
  figures.map((figure) => ({ ...figure, machine }))

export const replaceScale = (
  results: Results,
  fresh: readonly ScalePoint[],
  scaleMachine: string,
): Results => ({
  ...results,
  scaleMachine,
  scale: [...mergeByKey(results.scale, fresh, ({ stocks, latencyMs }) => `${stocks} ${latencyMs}`)].sort(
    (one, other) => one.latencyMs - other.latencyMs || one.stocks - other.stocks,
  ),
})
