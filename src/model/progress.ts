import { getOrAdd } from './map.js'
import { hasEnded, isSelected, type RunStatsReading, type StreamStats } from './run-stats.js'

export interface StreamForecast {
  readonly name: string
  /** Streams of the first phase run one after the other, all others in parallel. */
  readonly isSequential: boolean
  readonly workers: number
  /** Its number of items, or `stocks` if there is one for each; undefined if another list decides. */
  readonly items: number | 'stocks' | undefined
}

interface StreamEstimate {
  /** The finished share, from 0 to 1; it never decreases. */
  readonly share: number
  /** Items fetched per second of late; undefined while unknown. */
  readonly perSecond: number | undefined
  /** Remaining time at that rate; undefined while unknown. */
  readonly leftMs: number | undefined
  /** When a paused host of the stream gets its next request, epoch milliseconds; undefined if no host is paused. */
  readonly pausedUntil: number | undefined
}

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

/** Estimates the progress of a run from samples of its statistics. */
export type RunProgress = ReturnType<typeof createRunProgress>

/** The rate of the items is measured over this time. */
const RATE_WINDOW_MS = 20_000
/** The rate of the bytes is measured over this time. */
const BYTES_WINDOW_MS = 5_000
/** Only this much of a pause, or of the time that the process was stopped, counts, so that the rate from before stays usable. */
const MAX_COUNTED_PAUSE_MS = 5_000
/** A sample is taken about this often. */
export const SAMPLE_MS = 500
const MIN_SAMPLE = { ms: 1_000, items: 3 } as const
/** A change of the expected end below this is ignored: the remaining time counts down and does not jump. */
const END_TOLERANCE = { ms: 1_500, share: 0.15 } as const

class Track {
  share = 0
  /** Time with long pauses shortened, milliseconds. */
  time = 0
  sampledAt = 0
  pausedMs = 0
  readonly samples: { readonly time: number; readonly done: number }[] = []
  perSecond: number | undefined
  endsAt: number | undefined
}

export const createRunProgress = (stats: RunStatsReading, forecasts: readonly StreamForecast[]) => {
  const tracks = new Map<string, Track>()
  const forecastOf = new Map(forecasts.map((forecast) => [forecast.name, forecast]))
  const measureBytes = createByteMeter()
  let [share, endsAt]: [number, number | undefined] = [0, undefined]

  const estimate = (stream: StreamStats): StreamEstimate => {
    const track = tracks.get(stream.name) ?? new Track()
    const untils = stats.pausesOf(stream).map(({ until }) => until)
    return {
      share: Math.max(track.share, computeShare(stream)),
      perSecond: track.perSecond,
      leftMs: track.endsAt === undefined ? undefined : Math.max(0, track.endsAt - track.sampledAt),
      pausedUntil: untils.length > 0 ? Math.max(...untils) : undefined,
    }
  }
  return {
    stats,
    estimate,
    /** Takes a sample, and returns the progress of the whole run. A rate needs several samples. */
    sample(now: number): OverallProgress {
      const streams = stats.streams()
      for (const stream of streams) {
        const track = getOrAdd(tracks, stream.name, () => new Track())
        track.share = Math.max(track.share, computeShare(stream))
        if (stream.state === 'running') updateTrack(track, stream, { now, isPaused: stats.pausesOf(stream).length > 0 })
      }
      const rows = streams.filter(isSelected).map((stream) => toRow(stream, forecastOf.get(stream.name), stats.stocks()))
      const done = rows.reduce((sum, { stream }) => sum + stream.finished, 0)
      const total = rows.some(({ items }) => items === undefined) ? undefined : rows.reduce((sum, { items = 0 }) => sum + items, 0)
      share = Math.max(share, total === undefined || total === 0 ? 0 : Math.min(1, done / total))
      const left = estimateLeft(rows, estimate)
      endsAt = left === undefined ? undefined : keepEnd(endsAt, now + left, left)
      const leftMs = endsAt === undefined ? undefined : Math.max(0, endsAt - now)
      const received = streams.reduce((sum, stream) => sum + stream.received, 0)
      return { done, total, share, leftMs, bytesPerSecond: measureBytes(received, now) }
    },
  }
}

const createByteMeter = () => {
  const samples: { readonly at: number; readonly bytes: number }[] = []
  return (bytes: number, now: number): number | undefined => {
    if (now - (samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= SAMPLE_MS) samples.push({ at: now, bytes })
    while (samples.length > 1 && now - (samples[0]?.at ?? now) > BYTES_WINDOW_MS) samples.shift()
    const [first] = samples
    if (first === undefined || now - first.at < SAMPLE_MS || bytes === first.bytes) return undefined
    return ((bytes - first.bytes) * 1_000) / (now - first.at)
  }
}

const computeShare = ({ finished, total, state }: StreamStats): number => {
  if (state === 'success' || state === 'partial') return 1
  return total === undefined || total <= 0 ? 0 : Math.min(1, finished / total)
}

const updateTrack = (track: Track, stream: StreamStats, { now, isPaused }: { readonly now: number; readonly isPaused: boolean }): void => {
  const { samples } = track
  if (samples.length === 0) {
    samples.push({ time: 0, done: 0 })
    track.sampledAt = stream.startedAt ?? now
  }
  const passed = Math.max(0, now - track.sampledAt)
  track.sampledAt += passed
  track.time += isPaused ? Math.max(0, Math.min(passed, MAX_COUNTED_PAUSE_MS - track.pausedMs)) : Math.min(passed, MAX_COUNTED_PAUSE_MS)
  track.pausedMs = isPaused ? track.pausedMs + passed : 0
  // Items of the resumed run were not fetched now, so they do not count for the rate.
  const done = stream.finished - stream.takenOver
  const { time } = track
  if (time - (samples.at(-1)?.time ?? 0) >= SAMPLE_MS) samples.push({ time, done })
  while (samples.length > 2 && time - (samples[1]?.time ?? time) >= RATE_WINDOW_MS) samples.shift()
  track.perSecond = measureItemRate(track, done)
  track.endsAt = isPaused ? undefined : estimateEnd(track, stream)
}

const measureItemRate = ({ samples: [first], time }: Track, done: number): number | undefined => {
  if (first === undefined || time - first.time < MIN_SAMPLE.ms || done - first.done < MIN_SAMPLE.items) return undefined
  return ((done - first.done) * 1_000) / (time - first.time)
}

const estimateEnd = ({ perSecond, endsAt, sampledAt }: Track, { finished, total }: StreamStats): number | undefined => {
  if (perSecond === undefined || total === undefined || finished >= total) return undefined
  const left = ((total - finished) * 1_000) / perSecond
  return keepEnd(endsAt, sampledAt + left, left)
}

/** The expected end, changed only if it is clearly another one. */
const keepEnd = (endsAt: number | undefined, end: number, left: number): number => {
  const isSame = endsAt !== undefined && Math.abs(end - endsAt) <= Math.max(END_TOLERANCE.ms, END_TOLERANCE.share * left)
  return isSame ? endsAt : end
}

const toRow = (stream: StreamStats, forecast: StreamForecast | undefined, stocks: number) => {
  const expected = forecast?.items === 'stocks' ? stocks || undefined : (forecast?.items ?? 0)
  return { stream, forecast, items: hasEnded(stream) ? stream.finished : (stream.total ?? expected) }
}

/**
 * The sequential streams one after the other, then the slowest of the others. A stream that has no rate yet is assumed to take as long for
 * an item as the others. Unknown while a host of a running stream is paused, and once only files are left to write.
 */
const estimateLeft = (rows: readonly ReturnType<typeof toRow>[], estimate: (stream: StreamStats) => StreamEstimate): number | undefined => {
  const known = rows.flatMap(({ stream, forecast }) => {
    const { perSecond } = estimate(stream)
    return perSecond === undefined ? [] : [((forecast?.workers ?? 1) * 1_000) / perSecond]
  })
  if (known.length === 0) return undefined
  const itemMs = known.reduce((sum, ms) => sum + ms, 0) / known.length
  let [before, after] = [0, 0]
  for (const { stream, forecast, items } of rows) {
    if (hasEnded(stream)) continue
    const { leftMs, pausedUntil } = estimate(stream)
    if (items === undefined || (stream.state === 'running' && pausedUntil !== undefined)) return undefined
    const left = leftMs ?? (Math.max(0, items - stream.finished) * itemMs) / (forecast?.workers ?? 1)
    if (forecast?.isSequential) before += left
    else after = Math.max(after, left)
  }
  return before + after || undefined
}
