import { failOn } from '../harness/check.js'
import type { Context } from '../harness/figure.js'
import { computeLosses, sumCounts } from '../harness/troubled.js'
import { fixed } from '../provider/conditions.js'
import type { TroubleRow } from '../report/trouble.js'
import { withTrouble } from './with-provider.js'

const LATENCY_MS = 20
const JITTER_MS = 400
const DEADLINE_MS = 1_800_000

/** Full runs with a few stocks over a slow line with pauses. */
export const measureSlowLines = (
  context: Context,
  { stocks, megabits }: { readonly stocks: number; readonly megabits: readonly number[] },
  keep: (row: TroubleRow) => void,
): Promise<void> =>
  withTrouble(context, { stocks, latency: fixed(LATENCY_MS) }, async ({ run }) => {
    const calm = await run({ what: 'fast line', deadlineMs: DEADLINE_MS })
    failOn(calm.code === 0 ? [] : [`exit ${calm.code}`], 'the run over a fast line')
    for (const speed of megabits) {
      const line = { bitsPerSecond: speed * 1e6, jitterMs: JITTER_MS }
      const slow = await run({ what: `${speed} Mbit/s`, trouble: { line }, deadlineMs: DEADLINE_MS })
      const { lost, degraded, filesDifferent, code, extraRequests } = computeLosses(slow, calm)
      const counts = { lost: sumCounts(lost), degraded, filesDifferent, code, extraRequests }
      keep({
        what: `${stocks} stocks over ${speed} Mbit/s, pauses up to ${JITTER_MS} ms`,
        ...counts,
        wallS: slow.wallMs / 1_000,
      })
    }
  })
