/** A measured quantity, with one value per run. */
export interface Figure {
  /** The name in the README's table and in `results.json`. */
  readonly name: string
  readonly unit: '×' | 'ms' | 's' | 'MB' | 'µs' | 'bytes'
  readonly values: readonly number[]
  /** The maximum, or with `atLeast` the minimum; absent if the figure has no goal. */
  readonly goal?: number
  readonly atLeast?: boolean
  /** The conditions of the measurement. */
  readonly remark?: string
  /** Machine and date, of stored figures. */
  readonly machine?: string
}

export interface Context {
  readonly quick: boolean
  readonly runs: number
  /** The measured checkout. */
  readonly product: string
  /** An empty folder for outputs. */
  readonly scratch: string
  /** Prints progress. */
  readonly say: (text: string) => void
}

export interface Measurement {
  readonly name: string
  readonly summary: string
  readonly run: (context: Context) => Promise<readonly Figure[]>
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

export const isMet = ({ goal, atLeast = false, values }: Figure): boolean | undefined => {
  if (goal === undefined) return undefined
  return atLeast ? median(values) >= goal : median(values) <= goal
}
