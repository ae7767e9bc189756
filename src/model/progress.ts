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
  /** Undefined while unknown. */
  readonly leftMs: number | undefined
  /** When a paused host of the stream gets its next request, epoch milliseconds; undefined if none is. */
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
  /** What is done after the last item, such as `writing files`; undefined before. */
  readonly step: string | undefined
}

/** Estimates the progress of a run from samples of its statistics. */
export type RunProgress = ReturnType<typeof createRunProgress>

/** A stream, or a phase of the run, has a time left once it has this much behind it. */
const MIN_BEHIND = { ms: 10_000, share: 0.1 } as const
/** A rate is that of the newest items: those of this time, and at least this share of all. */
const RATE_WINDOW = { ms: 5_000, share: 0.1 } as const
/** A rate is shown from here on. */
const MIN_SHOWN_RATE = { ms: 1_000, items: 3 } as const
/** The rate of the bytes is measured over this time. */
const BYTES_WINDOW_MS = 5_000
/** A longer pause hides the time left and does not count; of a time without a sample, this much counts. */
const MAX_COUNTED_PAUSE_MS = 5_000
/** A sample is taken about this often. */
export const SAMPLE_MS = 500
/** How often a shown time left is corrected, by how much it may rise, and what is too little to correct. */
const CORRECTION = { everyMs: 5_000, maxRise: 4 / 3, minMs: 1_500, minShare: 0.1 } as const
/** The least time left that is shown while items are missing. */
const MIN_LEFT_MS = 1_000

interface Sample {
  readonly ms: number
  readonly done: number
}

interface Behind extends Sample {
  readonly items: number
}

/** What a stream has fetched in this run. */
class Track {
  share = 0
  sampledAt: number | undefined
  /** Time without long pauses, milliseconds. */
  time = 0
  /** How long a host has been paused without an item. */
  pausedMs = 0
  /** Since its last item. */
  idleMs = 0
  done = 0
  /** Those in the window of the rate, the oldest one first. */
  readonly samples: [Sample, ...Sample[]] = [{ ms: 0, done: 0 }]
  /** The items in that window, and its length. */
  items = 0
  ms = 0
  isKnown = false
  leftMs: number | undefined
  readonly correct = createCountdown()
}

interface Moment {
  readonly stream: StreamStats
  readonly now: number
  readonly isPaused: boolean
}

interface StreamRow {
  readonly stream: StreamStats
  readonly forecast: StreamForecast | undefined
  readonly track: Track
  /** Infinite while unknown. */
  readonly items: number
}

export const createRunProgress = (stats: RunStatsReading, forecasts: readonly StreamForecast[]) => {
  const tracks = new Map<string, Track>()
  const forecastOf = new Map(forecasts.map((forecast) => [forecast.name, forecast]))
  const measureBytes = createByteMeter()
  const correct = createCountdown()
  let share = 0
  let isKnown = false
  let stepAfterRun: string | undefined

  const sampleStream = (stream: StreamStats, now: number): StreamRow => {
    const track = getOrAdd(tracks, stream.name, () => new Track())
    track.share = Math.max(track.share, computeShare(stream))
    if (stream.state === 'running')
      updateTrack(track, { stream, now, isPaused: stats.pausesOf(stream).length > 0 })
    const forecast = forecastOf.get(stream.name)
    return { stream, forecast, track, items: countExpectedItems(stream, forecast, stats.stocks()) }
  }
  const estimateRun = (rows: readonly StreamRow[], now: number): number | undefined => {
    const phases = [rows.filter(isSequential), rows.filter((row) => !isSequential(row))]
    isKnown ||= phases.some((phase) => hasPhaseEnough(phase, now))
    return correct(isKnown ? estimateRunning(rows) : undefined, now)
  }
  return {
    stats,
    estimate(stream: StreamStats): StreamEstimate {
      const track = tracks.get(stream.name)
      const untils = stats.pausesOf(stream).map(({ until }) => until)
      return {
        share: Math.max(track?.share ?? 0, computeShare(stream)),
        perSecond: track && measureRate(track),
        leftMs: track?.leftMs,
        pausedUntil: untils.length > 0 ? Math.max(...untils) : undefined,
      }
    },
    /** Names what follows the run, such as loading its outputs; without a name, nothing does. */
    announce(step?: string): void {
      stepAfterRun = step
    },
    /** Takes a sample, and returns the progress of the whole run. A rate needs several samples. */
    sample(now: number): OverallProgress {
      const streams = stats.streams().filter(isSelected)
      const rows = streams.map((stream) => sampleStream(stream, now))
      const done = rows.reduce((sum, { stream }) => sum + stream.finished, 0)
      const total = rows.reduce((sum, { items }) => sum + items, 0)
      const isWhole = done > 0 && streams.every(isFetched)
      // All known items may be finished while a stream still waits for its list.
      share = Math.max(share, isWhole ? 1 : Math.min(0.99, done / Math.max(1, total)))
      const received = streams.reduce((sum, stream) => sum + stream.received, 0)
      const step = stats.step() ?? (isWhole ? findStep(streams) : undefined)
      return {
        done,
        total: Number.isFinite(total) ? total : undefined,
        share,
        leftMs: estimateRun(rows, now),
        bytesPerSecond: measureBytes(received, now),
        step: stats.finished() ? stepAfterRun : step,
      }
    },
  }
}

const measureRate = ({ items, ms }: Track): number | undefined =>
  ms >= MIN_SHOWN_RATE.ms && items >= MIN_SHOWN_RATE.items ? (items * 1_000) / ms : undefined

/** Infinite while unknown. */
const countExpectedItems = (
  stream: StreamStats,
  forecast: StreamForecast | undefined,
  stocks: number,
): number => {
  const listed = stocks || Number.POSITIVE_INFINITY
  const expected = forecast?.items === 'stocks' ? listed : (forecast?.items ?? 0)
  return hasEnded(stream) ? stream.finished : (stream.total ?? expected)
}

/** Undefined during a long pause, and while nothing is fetched. */
const estimateRunning = (rows: readonly StreamRow[]): number | undefined => {
  const running = rows.flatMap(({ stream, track }) => (stream.state === 'running' ? [track] : []))
  const isPaused = running.some(({ pausedMs }) => pausedMs > MAX_COUNTED_PAUSE_MS)
  const idleMs = Math.min(...running.map((track) => track.idleMs))
  return isPaused ? undefined : checkLeft(estimateLeft(rows), idleMs)
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

const isFetched = (stream: StreamStats): boolean => {
  const { finished, total = Number.POSITIVE_INFINITY } = stream
  return hasEnded(stream) || finished >= total
}

const findStep = (streams: readonly StreamStats[]): string => {
  const isWriting = streams.some((stream) => !hasEnded(stream))
  return isWriting ? 'writing files' : 'writing the report'
}

const isSequential = ({ forecast }: StreamRow): boolean => forecast?.isSequential === true

const hasPhaseEnough = (rows: readonly StreamRow[], now: number): boolean => {
  const startedAt = Math.min(...rows.map(({ stream }) => stream.startedAt ?? Number.POSITIVE_INFINITY))
  const done = rows.reduce((sum, { stream }) => sum + stream.finished - stream.takenOver, 0)
  const items = rows.reduce((sum, row) => sum + row.items - row.stream.takenOver, 0)
  const isRunning = rows.some(({ stream }) => stream.state === 'running')
  return isRunning && hasEnough({ ms: now - startedAt, done, items }, MIN_BEHIND)
}

const hasEnough = ({ ms, done, items }: Behind, least: typeof MIN_BEHIND | typeof RATE_WINDOW): boolean =>
  ms >= least.ms && done >= Math.max(1, least.share * items)

const updateTrack = (track: Track, { stream, now, isPaused }: Moment): void => {
  const { finished, takenOver, startedAt = now, total = Number.POSITIVE_INFINITY } = stream
  const { sampledAt = startedAt } = track
  const passed = Math.max(0, now - sampledAt)
  track.sampledAt = sampledAt + passed
  // Items of the resumed run were not fetched now.
  const done = finished - takenOver
  const isIdle = done === track.done
  if (isPaused && isIdle) track.pausedMs += passed
  else {
    const pausedMs = track.pausedMs > MAX_COUNTED_PAUSE_MS ? 0 : track.pausedMs
    const counted = Math.min(passed, MAX_COUNTED_PAUSE_MS) + pausedMs
    track.time += counted
    track.idleMs = isIdle ? track.idleMs + counted : 0
    track.pausedMs = 0
  }
  track.done = done
  moveWindow(track, total - takenOver)
  track.isKnown = hasEnough({ ms: track.time, done, items: total - takenOver }, MIN_BEHIND)
  const leftMs = ((total - finished) * track.ms) / track.items
  track.leftMs = track.correct(track.isKnown ? checkLeft(leftMs, track.idleMs) : undefined, now)
}

const moveWindow = (track: Track, items: number): void => {
  const { samples, time, done } = track
  const since = (sample: Sample): Behind => ({ ms: time - sample.ms, done: done - sample.done, items })
  if (time - (samples.at(-1)?.ms ?? 0) >= SAMPLE_MS) samples.push({ ms: time, done })
  while (samples[1] && hasEnough(since(samples[1]), RATE_WINDOW)) samples.shift()
  const window = since(samples[0])
  track.items = window.done
  track.ms = window.ms
}

/** Unknown without items left, and once nothing has been fetched for as long as the rest should take. */
const checkLeft = (leftMs: number, idleMs: number): number | undefined =>
  leftMs > 0 && Number.isFinite(leftMs) && idleMs <= Math.max(MIN_BEHIND.ms, leftMs) ? leftMs : undefined

/**
 * Parallel streams that share what limits them, such as the processor, take as long as all of their items at
 * the rate of all; others as long as the slowest. The truth lies between. With this weight of the slowest,
 * the time left of six recorded and six modelled runs was off by a factor of 1.29 on average.
 */
const WEIGHT_OF_SLOWEST = 2 / 3

/** A stream of fewer items is not the slowest one: how long they take is not known before they end. */
const MIN_ITEMS = 10

/** The sequential streams one after the other, then the others. */
const estimateLeft = (rows: readonly StreamRow[]): number => {
  const pace = measurePace(rows)
  let sequentialMs = 0
  let slowestMs = 0
  let items = 0
  let rate = 0
  for (const row of rows) {
    const left = row.items - row.stream.finished
    if (hasEnded(row.stream) || left <= 0) continue
    const own = estimatePace(row, pace)
    if (isSequential(row)) sequentialMs += left / own
    else {
      if (row.items >= MIN_ITEMS) slowestMs = Math.max(slowestMs, left / own)
      items += left
      rate += own
    }
  }
  const togetherMs = items === 0 ? 0 : items / rate
  const longestMs = Math.max(slowestMs, togetherMs)
  return sequentialMs + longestMs ** WEIGHT_OF_SLOWEST * togetherMs ** (1 - WEIGHT_OF_SLOWEST)
}

/** What one worker fetches in a millisecond, on average over the streams. */
const measurePace = (rows: readonly StreamRow[]): number => {
  const items = rows.reduce((sum, { track }) => sum + track.items, 0)
  return items / rows.reduce((sum, { track, forecast }) => sum + track.ms * (forecast?.workers ?? 1), 0)
}

/**
 * Items in a millisecond. A stream that has not enough behind it counts as if it had fetched one item more,
 * at the pace of the run: that is all before its first item, and less and less after it.
 */
const estimatePace = ({ track, forecast, items }: StreamRow, pace: number): number => {
  const expected = pace * Math.min(forecast?.workers ?? 1, items)
  return track.isKnown ? track.items / track.ms : (track.items + 1) / (track.ms + 1 / expected)
}

/**
 * Shows a time left that counts down, is corrected now and then, and never rises by more than a third at
 * once. One that is too short stands still: if it went on counting down, it would have to rise further.
 */
const createCountdown = () => {
  let shownMs: number | undefined
  let sampledAt = 0
  let correctedAt = 0
  return (estimateMs: number | undefined, now: number): number | undefined => {
    const passed = Math.min(MAX_COUNTED_PAUSE_MS, Math.max(0, now - sampledAt))
    sampledAt = now
    if (estimateMs === undefined) return undefined
    const estimate = Math.max(MIN_LEFT_MS, estimateMs)
    if (shownMs === undefined) correctedAt = now
    const before = shownMs ?? estimate
    shownMs = estimate >= before ? before : Math.max(MIN_LEFT_MS, before - passed)
    if (now - correctedAt >= CORRECTION.everyMs) {
      correctedAt = now
      const least = Math.max(CORRECTION.minMs, CORRECTION.minShare * shownMs)
      if (Math.abs(estimate - shownMs) > least) shownMs = Math.min(estimate, shownMs * CORRECTION.maxRise)
    }
    return shownMs
  }
}
