import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { measureStockPath } from '../../support/stock-path.js'
import { type CheckedRun, runInTurns, withBench } from '../harness/bench.js'
import { type Context, type Figure, median } from '../harness/figure.js'
import { readDigests } from '../harness/outputs.js'
import type { ProbeResult } from '../harness/probe.js'
import { fixed } from '../provider/conditions.js'
import { startProvider } from '../provider/process.js'
import { countRequests } from '../provider/stats.js'
import { FLOOR_STREAMS, JOURNAL, runFloor } from '../references/run-floor.js'

/** The limits that each commit keeps or lowers. */
export interface Budget {
  /** The commit with which a build is compared. */
  readonly reference: string
  readonly heapBytesPerRequest: number
  /** By stream: what one stock passes through. */
  readonly path: Readonly<Record<string, { readonly files: number; readonly calls: number }>>
}

export const readBudget = (path: string): Budget => JSON.parse(readFileSync(path, 'utf8')) as Budget

/** Objects allocated per request may grow by this factor: it depends on the machine a little. */
const HEAP_TOLERANCE = 1.1

/** CPU beyond this factor of the other build is a failure, whatever the load on the machine. */
const MAX_CPU = 1.25

interface Turns {
  readonly stocks: number
  readonly latencyMs: number
  /** The folder of another build. */
  readonly against?: string | undefined
  readonly budget: Budget
}

/**
 * Alternating full runs of two builds and of the floor program: ratios, and what does not depend on the
 * machine.
 */
export const measureTurns = (
  context: Context,
  { stocks, latencyMs, against, budget }: Turns,
): Promise<readonly Figure[]> =>
  withBench(context, { stocks }, async ({ provider, run }) => {
    const latency = fixed(latencyMs)
    const outs: Record<'floor' | 'same', string> = { floor: '', same: '' }
    const openFolder = (name: keyof typeof outs): string => {
      outs[name] = mkdtempSync(join(context.scratch, `${name}-`))
      return outs[name]
    }
    const turns: Readonly<Record<string, () => Promise<ProbeResult>>> = {
      ...(against === undefined ? {} : { theirs: () => run({ latency, product: against }) }),
      ours: () => run({ latency }),
      floor: () => runFloor(provider, latency, openFolder('floor')),
      same: () => run({ latency, only: FLOOR_STREAMS, out: openFolder('same') }),
    }
    // One uncounted run of each fills the disk cache.
    await runInTurns(1, turns)
    const { ours = [], theirs = [], floor = [], same = [] } = await runInTurns(context.runs, turns)
    assertSameBytes(outs)
    const [whole, other] = [ours, theirs] as [readonly CheckedRun[], readonly CheckedRun[]]
    const requests = median(whole.map(({ stats }) => countRequests(stats)))
    const heapLimit = {
      goal: budget.heapBytesPerRequest * HEAP_TOLERANCE,
      remark: `${stocks} stocks, fixed ${latencyMs} ms, ${requests} requests`,
    }
    return [
      ...(against === undefined ? [] : compareRuns(whole, other)),
      { name: 'heap allocated per request', unit: 'bytes', values: whole.map(countHeap), ...heapLimit },
      ...(against === undefined
        ? []
        : [toFigure('heap allocated per request: the other build', 'bytes', other.map(countHeap))]),
      toFigure(
        'work on the stocks ÷ floor program: CPU',
        '×',
        divide(same, floor, ({ cpuMicros }) => cpuMicros),
      ),
    ]
  })

const toFigure = (name: string, unit: Figure['unit'], values: readonly number[]): Figure => ({
  name,
  unit,
  values,
})

const countHeap = ({ allocatedBytes, stats }: CheckedRun): number =>
  Math.round(allocatedBytes / countRequests(stats))

/** The ratios of paired runs. */
const divide = <T>(ones: readonly T[], others: readonly T[], read: (run: T) => number): readonly number[] =>
  ones.map((one, round) => read(one) / read(others[round] as T))

const compareRuns = (ours: readonly CheckedRun[], theirs: readonly CheckedRun[]): readonly Figure[] => [
  toFigure(
    'whole run ÷ the other build: wall',
    '×',
    divide(ours, theirs, ({ wallMs }) => wallMs),
  ),
  {
    ...toFigure(
      'whole run ÷ the other build: CPU',
      '×',
      divide(ours, theirs, ({ cpuMicros }) => cpuMicros),
    ),
    goal: MAX_CPU,
  },
  toFigure(
    'whole run ÷ the other build: peak RSS',
    '×',
    divide(ours, theirs, ({ peakRssBytes }) => peakRssBytes),
  ),
]

/** The floor program must write what the product writes. */
const assertSameBytes = (outs: Readonly<Record<'floor' | 'same', string>>): void => {
  const expected = readDigests(outs.same)
  const different = [...readDigests(outs.floor)].filter(
    ([path, digest]) => path !== JOURNAL && expected.get(path) !== digest,
  )
  if (different.length > 0)
    throw new Error(
      `the floor program wrote other bytes: ${different
        .slice(0, 5)
        .map(([path]) => path)
        .join(', ')}`,
    )
}

/** Functions that one more stock passes through, by stream, in each build. */
export const measurePaths = async (
  streams: readonly string[],
  builds: Readonly<Record<string, string>>,
): Promise<readonly string[]> => {
  const [few, more] = [await startProvider({ stocks: 60 }), await startProvider({ stocks: 120 })]
  const lines: string[] = []
  for (const stream of streams)
    for (const [name, product] of Object.entries(builds)) {
      const { files, functions, calls } = await measureStockPath(product, stream, [few, more])
      lines.push(
        `${stream}, ${name}: a stock passes ${files.size} files, ${functions} functions, ${calls} calls`,
      )
    }
  await Promise.all([few.close(), more.close()])
  return lines
}
