import type { HoldReason, RunEvent } from '../model/event.js'
import type { Host } from '../model/settings.js'
import type { StreamTally } from '../model/tally.js'

/** How one stream moves. */
export interface Movement {
  /** What is done of it, from 0 to 1; it never goes back. */
  readonly share: number
  /** Items that it has lately asked for and settled each second; nothing while that cannot be told. */
  readonly perSecond: number | undefined
  /** Time to go at that pace; nothing while it cannot be told. */
  readonly leftMs: number | undefined
  /** When a host that it asks is asked again, epoch milliseconds; nothing if none is held. */
  readonly heldUntil: number | undefined
}

export interface Held {
  readonly hosts: readonly Host[]
  /** The endpoint that alone is held. */
  readonly endpoint?: string
  readonly why: HoldReason
  readonly since: number
  readonly until: number
  readonly giveUpAt?: number
}

/** How a run moves, as far as it can be seen from outside. */
export interface Course {
  readonly tell: (event: RunEvent) => void
  /** Sees where the streams are at a moment. A pace shows only after several looks. */
  readonly look: (streams: readonly StreamTally[], now: number) => void
  readonly of: (stream: StreamTally) => Movement
  readonly held: () => readonly Held[]
}

/** The pace is that of so much time. */
const LATELY_MS = 20_000
/** So much of a pause counts as time; after a long one, the pace from before it still says something. */
const COUNTED_PAUSE_MS = 5_000
const SAMPLE_MS = 500
const LEAST = { ms: 1_000, items: 3 } as const
/** An end that is expected this much sooner or later is still the same: the time left counts down and does not jump. */
const SAME_END = { ms: 1_500, share: 0.15 } as const

interface Track {
  share: number
  /** The stream's own time, in which long pauses are short. */
  time: number
  lookedAt: number
  pausedMs: number
  samples: { readonly time: number; readonly done: number }[]
  perSecond: number | undefined
  endsAt: number | undefined
}

export const createCourse = (): Course => {
  const tracks = new Map<string, Track>()
  const hostsOf = new Map<string, readonly Host[]>()
  const holds = new Map<string, Held>()
  const keyOf = (host: Host, endpoint?: string): string => (endpoint === undefined ? host : `${host} ${endpoint}`)
  const holdsOf = (name: string): readonly Held[] => (hostsOf.get(name) ?? []).flatMap((host) => holds.get(host) ?? [])
  return {
    tell(event) {
      if (event.type === 'run-started') for (const { name, hosts = [] } of event.streams) hostsOf.set(name, hosts)
      else if (event.type === 'host-held') for (const host of event.hosts) holds.set(keyOf(host, event.endpoint), event)
      else if (event.type === 'host-open') for (const host of event.hosts) holds.delete(keyOf(host, event.endpoint))
    },
    look(streams, now) {
      for (const stream of streams) {
        const track = tracks.get(stream.name) ?? newTrack()
        tracks.set(stream.name, track)
        track.share = Math.max(track.share, shareOf(stream))
        if (stream.state === 'running') follow(track, stream, { now, isHeld: holdsOf(stream.name).length > 0 })
      }
    },
    of(stream) {
      const { share, perSecond, endsAt, lookedAt } = tracks.get(stream.name) ?? newTrack()
      const untils = holdsOf(stream.name).map(({ until }) => until)
      return {
        share: Math.max(share, shareOf(stream)),
        perSecond,
        leftMs: endsAt === undefined ? undefined : Math.max(0, endsAt - lookedAt),
        heldUntil: untils.length > 0 ? Math.max(...untils) : undefined,
      }
    },
    held: () => [...new Set(holds.values())],
  }
}

const newTrack = (): Track => ({
  share: 0,
  time: 0,
  lookedAt: 0,
  pausedMs: 0,
  samples: [],
  perSecond: undefined,
  endsAt: undefined,
})

const shareOf = ({ settled, total, state }: StreamTally): number => {
  if (state === 'success' || state === 'partial') return 1
  return total === undefined || total <= 0 ? 0 : Math.min(1, settled / total)
}

const follow = (track: Track, stream: StreamTally, { now, isHeld }: { readonly now: number; readonly isHeld: boolean }): void => {
  const { samples } = track
  if (samples.length === 0) {
    samples.push({ time: 0, done: 0 })
    track.lookedAt = stream.startedAt ?? now
  }
  const passed = Math.max(0, now - track.lookedAt)
  track.lookedAt += passed
  track.time += isHeld ? Math.max(0, Math.min(passed, COUNTED_PAUSE_MS - track.pausedMs)) : passed
  track.pausedMs = isHeld ? track.pausedMs + passed : 0
  // What an unfinished run had in place was not asked for, and says nothing of the pace.
  const done = stream.settled - stream.takenOver
  const { time } = track
  if (time - (samples.at(-1)?.time ?? 0) >= SAMPLE_MS) samples.push({ time, done })
  while (samples.length > 2 && time - (samples[1]?.time ?? time) >= LATELY_MS) samples.shift()
  track.perSecond = paceOf(track, done)
  track.endsAt = isHeld ? undefined : endOf(track, stream)
}

const paceOf = ({ samples: [first], time }: Track, done: number): number | undefined => {
  if (first === undefined || time - first.time < LEAST.ms || done - first.done < LEAST.items) return undefined
  return ((done - first.done) * 1_000) / (time - first.time)
}

const endOf = ({ perSecond, endsAt, lookedAt }: Track, { settled, total }: StreamTally): number | undefined => {
  if (perSecond === undefined || total === undefined || settled >= total) return undefined
  const left = ((total - settled) * 1_000) / perSecond
  const end = lookedAt + left
  const isSame = endsAt !== undefined && Math.abs(end - endsAt) <= Math.max(SAME_END.ms, SAME_END.share * left)
  return isSame ? endsAt : end
}
