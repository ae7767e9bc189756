import { asyncScheduler, type Observable, Subscription } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../collector.js'
import type { StreamDefinition } from '../engine/define-stream.js'
import type { RunEvent } from '../model/event.js'
import { groupBy } from '../model/map.js'
import type { Random } from '../model/market.js'
import { isLost } from '../model/outcome.js'
import type { RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import type { SettingsInput } from '../model/settings.js'
import { replaceDisk } from '../storage/disk.js'
import { createMemoryDisk, type MemoryDisk } from './memory-disk.js'
import type { Network } from './network.js'
import type { VirtualTime } from './virtual-time.js'

/** The files of an output folder, by path relative to it. */
export type Files = ReadonlyMap<string, Buffer>

/** The output folder of every simulated run. */
export const ROOT = '/data'
export const SIMULATED_EXCHANGE = 'NSE'

/** How a start of the command ended. */
export interface SimulatedRun {
  /** `killed` by the simulation; `failed` with an error, such as a full disk. */
  readonly end: 'finished' | 'killed' | 'failed' | 'stalled' | 'late'
  readonly report?: RunReport
  readonly error?: unknown
  readonly events: readonly RunEvent[]
  readonly requests: number
  /**
   * How many items of each stream the journals hold after a kill, or should hold: the next start takes over
   * as many.
   */
  readonly journaled?: ReadonlyMap<string, number>
  /** The files of the history that are gone or differ from those before. */
  readonly overwritten: readonly string[]
  readonly diskFaults: number
  /** What the process still holds after its end; nothing if it was killed. */
  readonly left: { readonly timers: number; readonly descriptors: number }
  /** The most timers that were pending at once. */
  readonly mostTimers: number
}

/**
 * When a run is killed: after this many calls of the disk, or at this instant, milliseconds after its start.
 */
export interface Kill {
  readonly kind: 'process' | 'power'
  readonly afterCalls?: number
  readonly afterMs?: number
}

/** One machine with its disk and its process. */
export type World = ReturnType<typeof createWorld>

export interface StartOptions {
  readonly kill?: Kill | undefined
  /** What happens meanwhile, and when, in milliseconds after the start. */
  readonly interventions?: readonly (readonly [act: () => void, afterMs: number])[] | undefined
  readonly pauseMs?: number
}

interface WorldOptions {
  readonly time: VirtualTime
  readonly random: Random
  readonly streams: readonly StreamDefinition[]
  readonly settings: SettingsInput
  readonly fault?: Parameters<typeof createMemoryDisk>[0]['fault']
  readonly latencyMs?: Parameters<typeof createMemoryDisk>[0]['latencyMs']
}

/** The process of one run, and how it is killed. */
const createLife = (planned?: Kill) => ({
  isKilled: false,
  callsLeft: planned?.afterCalls ?? Number.POSITIVE_INFINITY,
  kind: planned?.kind ?? 'process',
  diskFaults: 0,
})

/** A disk whose process is killed when no calls are left. */
const createMortalDisk = (
  { time, random, fault = () => undefined, latencyMs }: WorldOptions,
  getLife: () => ReturnType<typeof createLife>,
) => {
  const kill = () => {
    const life = getLife()
    if (!life.isKilled) disk.kill(life.kind)
    life.isKilled = true
  }
  const onCall: typeof fault = (call, path) => {
    const life = getLife()
    life.callsLeft -= 1
    if (life.callsLeft >= 0) {
      const failure = fault(call, path)
      if (failure !== undefined) life.diskFaults += 1
      return failure
    }
    kill()
    return 'EIO'
  }
  const disk = createMemoryDisk({
    random: random.next,
    now: time.now,
    fault: onCall,
    ...(latencyMs && { latencyMs }),
  })
  return { disk, kill }
}

/** Longer than any run: the patience with a host that is down is ten minutes. */
const MAX_RUN_MS = 12 * 3_600_000

/**
 * Creates a machine with an empty disk. Its runs use the disk and the timers of this process while they last.
 */
export const createWorld = (options: WorldOptions) => {
  const { time, random, streams, settings } = options
  let life = createLife()
  const { disk, kill } = createMortalDisk(options, () => life)
  /** The command, started in the present process. */
  const open = ({ transport }: Network) =>
    createCollector({ settings, streams, storage: folder(ROOT), transport, random: random.next })
  const countHeld = () => ({ timers: time.pending(), descriptors: disk.openDescriptors() })
  const run = async (
    network: Network,
    { kill: planned, interventions = [], pauseMs = 0 }: StartOptions = {},
  ): Promise<SimulatedRun> => {
    network.connect()
    time.takePeak()
    const restoreDisk = replaceDisk(disk.disk)
    const [before, records] = [network.requests(), listHistoryFiles(disk)]
    life = createLife(planned)
    const running = new Subscription()
    try {
      const seen = follow(open(network).events(), () => life.isKilled, time)
      if (planned?.afterMs !== undefined) running.add(asyncScheduler.schedule(kill, planned.afterMs))
      for (const [act, ms] of interventions) running.add(asyncScheduler.schedule(act, ms))
      running.add(seen.subscription)
      const advanced = await time.advance(() => life.isKilled || seen.end() !== undefined, MAX_RUN_MS)
      const overwritten = listOverwritten(records, listHistoryFiles(disk))
      const mostTimers = time.takePeak()
      const journaled = life.isKilled
        ? countJournaled(disk, life.diskFaults > 0 ? new Map() : seen.countStored())
        : undefined
      // Nothing of a killed process goes on: neither its timers nor what it was waiting for.
      if (life.isKilled) time.clear()
      else running.unsubscribe()
      const atEnd = countHeld()
      life.callsLeft = Number.POSITIVE_INFINITY
      await time.pass(pauseMs)
      // Of a run that fails, the calls of the disk that are under way end later.
      const left = seen.end() === 'finished' ? atEnd : countHeld()
      const counts = {
        events: seen.events,
        diskFaults: life.diskFaults,
        overwritten,
        requests: network.requests() - before,
        left,
        mostTimers,
      }
      if (journaled) return { ...counts, end: 'killed', journaled }
      const end = advanced === 'done' ? (seen.end() ?? 'failed') : advanced
      return { ...counts, end, ...omitUndefined({ report: seen.report(), error: seen.error() }) }
    } finally {
      life.callsLeft = Number.POSITIVE_INFINITY
      restoreDisk()
    }
  }
  return { disk, open, run, read: <T>(reader: () => Promise<T>) => readWith(disk, time, reader) }
}

/** Runs a reader of the folder with a disk; the time that it takes is virtual. */
const readWith = async <T>({ disk }: MemoryDisk, time: VirtualTime, reader: () => Promise<T>): Promise<T> => {
  const restoreDisk = replaceDisk(disk)
  let isDone = false
  const result = reader().finally(() => {
    isDone = true
    restoreDisk()
  })
  await time.advance(() => isDone, MAX_RUN_MS)
  return result
}

/** An item that finished so long before a kill is in the journal. */
const STORED_AFTER_MS = 1_000

/** Collects what a run says until it ends; what a killed process still says is heard by nobody. */
const follow = (event$: Observable<RunEvent>, isKilled: () => boolean, { elapsed }: VirtualTime) => {
  const events: RunEvent[] = []
  const stored: (readonly [stream: string, at: number])[] = []
  let [end, error]: ['finished' | 'failed' | undefined, unknown] = [undefined, undefined]
  const subscription = event$.subscribe({
    next: (event) => {
      if (isKilled()) return
      events.push(event)
      if (event.type === 'item-finished' && !isLost(event) && event.degraded === undefined)
        stored.push([event.stream, elapsed()])
    },
    error: (failure: unknown) => {
      ;[end, error] = ['failed', failure]
    },
    complete: () => {
      end = 'finished'
    },
  })
  const last = () => events.findLast((event) => event.type === 'run-finished')
  const countStored = () =>
    groupBy(
      stored.filter(([, at]) => at <= elapsed() - STORED_AFTER_MS),
      ([stream]) => stream,
    )
  return {
    events,
    subscription,
    countStored,
    end: () => end,
    error: () => error,
    report: () => last()?.report,
  }
}

/** Counts the whole lines of items that need not be fetched again; at least as many as were stored. */
const countJournaled = (
  { files }: MemoryDisk,
  stored: ReadonlyMap<string, readonly unknown[]>,
): ReadonlyMap<string, number> => {
  // A run that has just ended has no record any more: its journals are ignored.
  const state = files('/data/.scripstream')
  if (!state.has('run.json')) return new Map()
  return new Map(
    [...state].flatMap(([path, bytes]) => {
      const stream = /^journals\/(.+)\.ndjson$/.exec(path)?.[1]
      if (stream === undefined) return []
      const items = new Map<string, boolean>()
      for (const line of bytes.toString().split('\n').slice(0, -1)) {
        const { item, degraded } = JSON.parse(line || '{}') as {
          readonly item?: string
          readonly degraded?: string
        }
        if (item !== undefined) items.set(item, degraded === undefined)
      }
      return [
        [
          stream,
          Math.max(stored.get(stream)?.length ?? 0, [...items.values()].filter(Boolean).length),
        ] as const,
      ]
    }),
  )
}

const listHistoryFiles = ({ files }: MemoryDisk): Files =>
  new Map([...files(`${ROOT}/.scripstream/history`)].filter(([path]) => /^\d/.test(path)))

const listOverwritten = (before: Files, after: Files): readonly string[] =>
  [...before].flatMap(([path, bytes]) => (after.get(path)?.equals(bytes) ? [] : [path]))

export const describeRunEnd = ({ error, report, end }: Partial<SimulatedRun> = {}): string => {
  const problems = Object.entries(report?.scripts ?? {}).flatMap(([name, script]) =>
    script.problems.map(({ reason }) => `${name}: ${reason}`),
  )
  return [end, report?.outcome, error === undefined ? undefined : String(error), report?.error, ...problems]
    .filter(Boolean)
    .join(' ')
}
