import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Figure } from '../harness/figure.js'

/** One size of market at one latency: whole runs, medians. */
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

/** What was measured last, kept in the repository; the README shows it. */
export interface Results {
  readonly figures: readonly Figure[]
  /** The same figures of an earlier state, measured on the machine that most of them were. */
  readonly before: readonly Figure[]
  readonly scaleMachine: string
  readonly scale: readonly ScalePoint[]
}

const NOTHING: Results = { figures: [], before: [], scaleMachine: '', scale: [] }

export const readResults = (path: string): Results =>
  existsSync(path) ? { ...NOTHING, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<Results>) } : NOTHING

export const writeResults = (path: string, results: Results): void => writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)

/** The list with what was measured anew in the place of what had the same key; the rest stays. New ones come last. */
export const merged = <T>(old: readonly T[], fresh: readonly T[], keyOf: (item: T) => string): readonly T[] => [
  ...new Map([...old, ...fresh].map((item) => [keyOf(item), item])).values(),
]

export const byName = ({ name }: Figure): string => name

/** The figures as they were measured on a machine. */
export const on = (machine: string, figures: readonly Figure[]): readonly Figure[] => figures.map((figure) => ({ ...figure, machine }))

export const withScale = (results: Results, fresh: readonly ScalePoint[], scaleMachine: string): Results => ({
  ...results,
  scaleMachine,
  scale: [...merged(results.scale, fresh, ({ stocks, latencyMs }) => `${stocks} ${latencyMs}`)].sort(
    (one, other) => one.latencyMs - other.latencyMs || one.stocks - other.stocks,
  ),
})
