import { failOn } from '../harness/check.js'
import type { Context } from '../harness/figure.js'
import { computeLosses, sumCounts, type TroubledRun } from '../harness/troubled.js'
import { fixed } from '../provider/conditions.js'
import type { Outage, OutageKind } from '../provider/outage.js'
import { countRequests } from '../provider/stats.js'
import type { OutageRow } from '../report/trouble.js'
import { type TroubleBench, withTrouble } from './with-provider.js'

export const outageStarts = ['start', 'phase 1', 'phase 2'] as const
export type OutageStart = (typeof outageStarts)[number]

export interface OutagesOptions {
  readonly stocks: number
  readonly latencyMs: number
  readonly kinds: readonly OutageKind[]
  readonly seconds: readonly number[]
  readonly starts: readonly OutageStart[]
}

/** The outages of phases 1 and 2 start after this share of the answers of one endpoint of the phase. */
const STARTED_SHARE = 0.3
/** Longer than any default timeout: a run that takes longer hangs. */
const MAX_EXTRA_MS = 600_000

const toOutageStart = (start: OutageStart, stocks: number): Outage['after'] => {
  const answers = Math.max(1, Math.round(stocks * STARTED_SHARE))
  return start === 'start' ? undefined : { endpoint: start === 'phase 1' ? 'fundamental' : 'lodr', answers }
}

/** Full runs with an outage of the provider, each compared with an undisturbed run. */
export const measureOutages = (
  context: Context,
  { stocks, latencyMs, kinds, seconds, starts }: OutagesOptions,
  keep: (row: OutageRow) => void,
): Promise<void> =>
  withTrouble(context, { stocks, latency: fixed(latencyMs) }, async (bench) => {
    const calm = await runUndisturbed(bench)
    for (const kind of kinds)
      for (const start of starts)
        for (const length of seconds) {
          const after = toOutageStart(start, stocks)
          const outage: Outage = { kind, ms: length * 1_000, ...(after === undefined ? {} : { after }) }
          keep({ stocks, kind, start, seconds: length, ...(await measureOne(bench, outage, calm)) })
        }
  })

/** The second of two runs; the first one fills the disk cache. */
const runUndisturbed = async (bench: TroubleBench): Promise<TroubledRun> => {
  const runs: TroubledRun[] = []
  for (const what of ['warm-up', 'without trouble']) {
    const out = bench.folder('calm')
    runs.push(await bench.run({ what, out, deadlineMs: MAX_EXTRA_MS }))
    bench.remove(out)
  }
  const [, calm] = runs as [TroubledRun, TroubledRun]
  failOn(
    [...(calm.code === 0 ? [] : [`exit ${calm.code}`]), ...calm.stats.violations],
    'the run without trouble',
  )
  return calm
}

const measureOne = async (bench: TroubleBench, outage: Outage, calm: TroubledRun) => {
  const { kind, ms, after } = outage
  const out = bench.folder('away')
  const isNamed = kind === 'dns'
  const deadlineMs = calm.wallMs * 3 + ms + MAX_EXTRA_MS
  const where = after === undefined ? 'from the start' : `after ${after.answers} answers of ${after.endpoint}`
  try {
    const run = await bench.run({
      what: `${kind} for ${ms / 1_000} s ${where}`,
      trouble: { outage },
      isNamed,
      out,
      deadlineMs,
    })
    failOn(run.stats.outage === undefined ? ['the outage never started'] : run.stats.violations, kind)
    const { lost, degraded, filesDifferent, code, extraRequests } = computeLosses(run, calm)
    const beyondS = (run.wallMs - calm.wallMs - ms) / 1_000
    const row = { lost: sumCounts(lost), degraded, filesDifferent, code, extraRequests, beyondS }
    if (filesDifferent === 0) return row
    const next = await bench.run({ what: '  the same command again', isNamed, out, deadlineMs })
    const left = computeLosses(next, calm)
    return {
      ...row,
      next: { requests: countRequests(next.stats), filesDifferent: left.filesDifferent, code: left.code },
    }
  } finally {
    bench.remove(out)
  }
}
