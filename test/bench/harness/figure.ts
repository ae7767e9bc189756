/** What was measured, once for each run. */
export interface Figure {
  /** As the README's table and `results.json` name it. */
  readonly name: string
  readonly unit: '×' | 'ms' | 's' | 'MB' | 'µs' | 'bytes'
  readonly values: readonly number[]
  /** What must not be passed, or with `atLeast` what must be reached; nothing where it only tells. */
  readonly goal?: number
  readonly atLeast?: boolean
  /** Under what conditions, against what. */
  readonly remark?: string
  /** On which machine and when, once it is kept. */
  readonly machine?: string
}

export interface Context {
  readonly quick: boolean
  readonly runs: number
  /** Folder of the checkout that is measured. */
  readonly product: string
  /** An empty folder for outputs. */
  readonly scratch: string
  /** Tells what goes on. */
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
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

export const isMet = ({ goal, atLeast = false, values }: Figure): boolean | undefined => {
  if (goal === undefined) return undefined
  return atLeast ? median(values) >= goal : median(values) <= goal
}
