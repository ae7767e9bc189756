import { keepEnd, type ProgressEstimator } from './progress-estimator.js'
import type { RunStats, StreamStats } from './run-stats.js'

/** What is known of a stream before it starts. */
export interface StreamForecast {
  readonly name: string
  /** Streams of the first phase run one after the other, all others in parallel. */
  readonly isSequential: boolean
  readonly workers: number
  /** Its number of items, or `stocks` if there is one for each; undefined if another list decides. */
  readonly items: number | 'stocks' | undefined
}

/** The progress of the whole run. */
export interface OverallProgress {
  readonly done: number
  /** Undefined until the stocks are known. */
  readonly total: number | undefined
  /** From 0 to 1; it never decreases. */
  readonly share: number
  /** Undefined while unknown. */
  readonly leftMs: number | undefined
  /** Received bytes, decompressed; undefined while there are none. */
  readonly bytesPerSecond: number | undefined
}

const BYTES_WINDOW_MS = 5_000
const SAMPLE_MS = 500

export const createOverallEstimator = (forecasts: readonly StreamForecast[], estimator: ProgressEstimator) => {
  const byName = new Map(forecasts.map((forecast) => [forecast.name, forecast]))
  const samples: { readonly at: number; readonly bytes: number }[] = []
  let [received, share] = [0, 0]
  let endsAt: number | undefined

  const measureBytes = (now: number): number | undefined => {
    if (now - (samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= SAMPLE_MS) samples.push({ at: now, bytes: received })
    while (samples.length > 1 && now - (samples[0]?.at ?? now) > BYTES_WINDOW_MS) samples.shift()
    const [first] = samples
    if (first === undefined || now - first.at < SAMPLE_MS || received === first.bytes) return undefined
    return ((received - first.bytes) * 1_000) / (now - first.at)
  }
  return {
    /** Counts the body of a reply. */
    addBytes: (bytes: number): void => {
      received += bytes
    },
    /** Takes a sample, after `estimator` has taken one of the same streams. */
    sample: (stats: Pick<RunStats, 'streams' | 'stocks'>, now: number): OverallProgress => {
      const rows = stats
        .streams()
        .filter(isSelected)
        .map((stream) => toRow(stream, byName.get(stream.name), stats.stocks()))
      const done = rows.reduce((sum, { stream }) => sum + stream.finished, 0)
      const total = rows.some(({ items }) => items === undefined) ? undefined : rows.reduce((sum, { items = 0 }) => sum + items, 0)
      share = Math.max(share, total === undefined || total === 0 ? 0 : Math.min(1, done / total))
      const left = estimateLeft(rows, estimator)
      endsAt = left === undefined ? undefined : keepEnd(endsAt, now + left, left)
      const leftMs = endsAt === undefined ? undefined : Math.max(0, endsAt - now)
      return { done, total, share, leftMs, bytesPerSecond: measureBytes(now) }
    },
  }
}

/** Whether the run includes the stream. */
export const isSelected = ({ state, startedAt }: StreamStats): boolean =>
  startedAt !== undefined || (state !== 'skipped' && state !== 'disabled')

const toRow = (stream: StreamStats, forecast: StreamForecast | undefined, stocks: number) => {
  const hasEnded = stream.state !== 'waiting' && stream.state !== 'running'
  const expected = forecast?.items === 'stocks' ? stocks || undefined : (forecast?.items ?? 0)
  return { stream, forecast, hasEnded, items: hasEnded ? stream.finished : (stream.total ?? expected) }
}

/**
 * The sequential streams one after the other, then the slowest of the others. A stream that has no rate yet is assumed to take as long for
 * an item as the others. Unknown while a host of a running stream is paused, and once only files are left to write.
 */
const estimateLeft = (rows: readonly ReturnType<typeof toRow>[], estimator: ProgressEstimator): number | undefined => {
  const known = rows.flatMap(({ stream, forecast }) => {
    const { perSecond } = estimator.estimate(stream)
    return perSecond === undefined ? [] : [((forecast?.workers ?? 1) * 1_000) / perSecond]
  })
  if (known.length === 0) return undefined
  const itemMs = known.reduce((sum, ms) => sum + ms, 0) / known.length
  let [before, after] = [0, 0]
  for (const { stream, forecast, items, hasEnded } of rows) {
    if (hasEnded) continue
    const { leftMs, pausedUntil } = estimator.estimate(stream)
    if (items === undefined || (stream.state === 'running' && pausedUntil !== undefined)) return undefined
    const left = leftMs ?? (Math.max(0, items - stream.finished) * itemMs) / (forecast?.workers ?? 1)
    if (forecast?.isSequential) before += left
    else after = Math.max(after, left)
  }
  return before + after || undefined
}
