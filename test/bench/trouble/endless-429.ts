import { streams } from '../../../streams/registry.js'
import { failOn } from '../harness/check.js'
import type { Context } from '../harness/figure.js'
import { computeLosses, sumCounts } from '../harness/troubled.js'
import { fixed } from '../provider/conditions.js'
import type { TroubleRow } from '../report/trouble.js'
import { withTrouble } from './with-provider.js'

const LATENCY_MS = 20
const DEADLINE_MS = 900_000

/** One endpoint always answers 429: the losses of the other streams are measured. */
export const measureEndless429 = (
  context: Context,
  { stocks, endpoints }: { readonly stocks: number; readonly endpoints: readonly string[] },
  keep: (row: TroubleRow) => void,
): Promise<void> =>
  withTrouble(context, { stocks, latency: fixed(LATENCY_MS) }, async ({ run }) => {
    const calm = await run({ what: 'without trouble', deadlineMs: DEADLINE_MS })
    failOn(calm.code === 0 ? [] : [`exit ${calm.code}`], 'the run without trouble')
    for (const refuse of endpoints) {
      const refused = await run({ what: `429 from ${refuse}`, trouble: { refuse }, deadlineMs: DEADLINE_MS })
      const { lost, degraded, filesDifferent, code, extraRequests } = computeLosses(refused, calm)
      const isOwn = (name: string): boolean =>
        streams.some((stream) => stream.name === name && stream.endpoints.some((one) => one.name === refuse))
      const others = Object.fromEntries(Object.entries(lost).filter(([name]) => !isOwn(name)))
      const named = Object.entries(others).map(([name, count]) => `${name} ${count}`)
      const what = `${stocks} stocks, ${refuse} answers 429 for ever; other streams lost ${named.join(', ') || 'nothing'}`
      keep({
        what,
        lost: sumCounts(lost),
        degraded,
        filesDifferent,
        code,
        extraRequests,
        wallS: refused.wallMs / 1_000,
      })
    }
  })
