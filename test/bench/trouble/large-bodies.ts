import type { Context } from '../harness/figure.js'
import { computeLosses, sumCounts } from '../harness/troubled.js'
import { fixed } from '../provider/conditions.js'
import type { TroubleRow } from '../report/trouble.js'
import { withTrouble } from './with-provider.js'

const DEADLINE_MS = 900_000
const WORKERS = 50
const MEGABYTES = 31
const ENDPOINT = 'news'
const STREAM = 'market-news'

/** Valid answers just below the size limit, to many workers at once. */
export const measureLargeBodies = (
  context: Context,
  { stocks }: { readonly stocks: number },
  keep: (row: TroubleRow) => void,
): Promise<void> =>
  withTrouble(context, { stocks, latency: fixed(20) }, async ({ run }) => {
    // The padding is a new field, which would count as drift.
    const options = {
      more: ['--only', STREAM, '--accept', 'fields'],
      env: { SCRIPSTREAM_WORKERS: `${STREAM}=${WORKERS}` },
      deadlineMs: DEADLINE_MS,
    }
    const calm = await run({ what: 'usual bodies', ...options })
    const padding = { endpoint: ENDPOINT, bytes: MEGABYTES * 1_000_000 }
    const large = await run({ what: `bodies of ${MEGABYTES} MB`, trouble: { padding }, ...options })
    const { lost, degraded, filesDifferent, code, extraRequests } = computeLosses(large, calm)
    const peakMb = Math.round((large.peakRssBytes ?? 0) / 1e6)
    const what = `${stocks} stocks, ${WORKERS} workers, bodies of ${MEGABYTES} MB; peak RSS ${peakMb} MB`
    keep({
      what,
      lost: sumCounts(lost),
      degraded,
      filesDifferent,
      code,
      extraRequests,
      wallS: large.wallMs / 1_000,
    })
  })
