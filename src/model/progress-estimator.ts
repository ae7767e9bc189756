import type { RunEvent } from './event.js'
import { getOrAdd } from './map.js'
import type { StreamStats } from './run-stats.js'
import type { Host } from './settings.js'

/** Estimated progress of one stream. */
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

/** Hosts that are paused now; `endpoint` is absent if all their endpoints are. */
export type PausedHosts = Omit<Extract<RunEvent, { readonly type: 'host-paused' }>, 'type' | 'at'>

/** Estimates the progress of a run from its events and counts. */
export type ProgressEstimator = ReturnType<typeof createProgressEstimator>

/** The rate is measured over this time. */
const RATE_WINDOW_MS = 20_000
/** Only this much of a pause, or of the time that the process was stopped, counts, so that the rate from before stays usable. */
const MAX_COUNTED_PAUSE_MS = 5_000
const SAMPLE_MS = 500
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

export const createProgressEstimator = () => {
  const tracks = new Map<string, Track>()
  const hostsByStream = new Map<string, readonly Host[]>()
  const pauses = new Map<string, PausedHosts>()
  const ended = new Set<string>()
  const toPauseKey = (host: Host, endpoint?: string): string => (endpoint === undefined ? host : `${host} ${endpoint}`)
  const findPauses = (name: string): readonly PausedHosts[] => (hostsByStream.get(name) ?? []).flatMap((host) => pauses.get(host) ?? [])
  /** Nothing is requested any more from a host whose streams have all ended, so that its pause would never end. */
  const isNeeded = (host: Host): boolean => {
    const users = [...hostsByStream].filter(([, hosts]) => hosts.includes(host))
    return users.length === 0 || users.some(([name]) => !ended.has(name))
  }
  return {
    record(event: RunEvent): void {
      if (event.type === 'run-started') for (const { name, hosts = [] } of event.streams) hostsByStream.set(name, hosts)
      else if (event.type === 'host-paused') for (const host of event.hosts) pauses.set(toPauseKey(host, event.endpoint), event)
      else if (event.type === 'stream-finished') ended.add(event.stream)
      else if (event.type === 'host-resumed') for (const host of event.hosts) pauses.delete(toPauseKey(host, event.endpoint))
    },
    /** Takes a sample of all streams. A rate needs several samples. */
    sample(streams: readonly StreamStats[], now: number): void {
      for (const stream of streams) {
        const track = getOrAdd(tracks, stream.name, () => new Track())
        track.share = Math.max(track.share, computeShare(stream))
        if (stream.state === 'running') updateTrack(track, stream, { now, isPaused: findPauses(stream.name).length > 0 })
      }
    },
    estimate(stream: StreamStats): StreamEstimate {
      const { share, perSecond, endsAt, sampledAt } = tracks.get(stream.name) ?? new Track()
      const untils = findPauses(stream.name).map(({ until }) => until)
      return {
        share: Math.max(share, computeShare(stream)),
        perSecond,
        leftMs: endsAt === undefined ? undefined : Math.max(0, endsAt - sampledAt),
        pausedUntil: untils.length > 0 ? Math.max(...untils) : undefined,
      }
    },
    pausedHosts: (): readonly PausedHosts[] => [...new Set(pauses.values())].filter(({ hosts }) => hosts.some(isNeeded)),
  }
}

const computeShare = ({ finished: settled, total, state }: StreamStats): number => {
  if (state === 'success' || state === 'partial') return 1
  return total === undefined || total <= 0 ? 0 : Math.min(1, settled / total)
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
  track.perSecond = computeRate(track, done)
  track.endsAt = isPaused ? undefined : estimateEnd(track, stream)
}

const computeRate = ({ samples: [first], time }: Track, done: number): number | undefined => {
  if (first === undefined || time - first.time < MIN_SAMPLE.ms || done - first.done < MIN_SAMPLE.items) return undefined
  return ((done - first.done) * 1_000) / (time - first.time)
}

const estimateEnd = ({ perSecond, endsAt, sampledAt }: Track, { finished: settled, total }: StreamStats): number | undefined => {
  if (perSecond === undefined || total === undefined || settled >= total) return undefined
  const left = ((total - settled) * 1_000) / perSecond
  return keepEnd(endsAt, sampledAt + left, left)
}

/** The expected end, changed only if it is clearly another one. */
export const keepEnd = (endsAt: number | undefined, end: number, left: number): number => {
  const isSame = endsAt !== undefined && Math.abs(end - endsAt) <= Math.max(END_TOLERANCE.ms, END_TOLERANCE.share * left)
  return isSame ? endsAt : end
}
