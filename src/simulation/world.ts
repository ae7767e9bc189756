import { asyncScheduler, filter, Subscription } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../collector.js'
import type { RunEvent } from '../model/event.js'
import type { Random } from '../model/market.js'
import type { RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import type { SettingsInput } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { replaceDisk } from '../storage/disk.js'
import { countJournaled, follow } from './follow-run.js'
import { createMemoryDisk, type MemoryDisk } from './memory-disk.js'
import type { Network } from './network.js'
import type { VirtualTime } from './virtual-time.js'

type Files = ReadonlyMap<string, Buffer>

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
  /** How many items of each stream the journals hold after a kill, or should hold: the next start takes over as many. */
  readonly journaled?: ReadonlyMap<string, number>
  /** The files of the history that are gone or differ from those before. */
  readonly overwritten: readonly string[]
  /** How many calls of the disk failed. */
  readonly diskFaults: number
  /** What the process still holds after its end; nothing if it was killed. */
  readonly left: { readonly timers: number; readonly descriptors: number }
  /** The most timers that were pending at once. */
  readonly mostTimers: number
}

/** When a run is killed: after this many calls of the disk, or at this instant, milliseconds after its start. */
export interface Kill {
  readonly kind: 'process' | 'power'
  readonly afterCalls?: number
  readonly afterMs?: number
}

/** One machine with its disk and its process. */
export interface World {
  readonly disk: MemoryDisk
  /** Runs the command once, and lets time pass. */
  readonly run: (network: Network, options?: RunOptions) => Promise<SimulatedRun>
  /** Runs a reader of the folder, with this disk. */
  readonly read: <T>(reader: () => Promise<T>) => Promise<T>
  /** Starts the command once more, in the same process; calls back with each request of it. */
  readonly startAgain: (network: Network, requested: () => void) => void
}

export interface RunOptions {
  readonly kill?: Kill | undefined
  /** What happens meanwhile, and when, in milliseconds after the start. */
  readonly interventions?: readonly (readonly [act: () => void, afterMs: number])[] | undefined
  /** The time until the next start. */
  readonly pauseMs?: number
}

export interface WorldOptions {
  readonly time: VirtualTime
  readonly random: Random
  readonly streams: readonly StreamDefinition[]
  readonly settings: SettingsInput
  /** What the disk does to a call. */
  readonly fault?: Parameters<typeof createMemoryDisk>[0]['fault']
  readonly latencyMs?: Parameters<typeof createMemoryDisk>[0]['latencyMs']
}

/** Longer than any run: the patience with a host that is down is ten minutes. */
const MAX_RUN_MS = 12 * 3_600_000

/** Creates a machine with an empty disk. Its runs use the disk and the timers of this process while they last. */
export const createWorld = ({ time, random, streams, settings, fault = () => undefined, latencyMs }: WorldOptions): World => {
  let [killed, callsLeft, kind, diskFaults]: [boolean, number, Kill['kind'], number] = [false, Number.POSITIVE_INFINITY, 'process', 0]
  const kill = (): void => {
    if (!killed) disk.kill(kind)
    killed = true
  }
  const onCall: typeof fault = (call, path) => {
    callsLeft -= 1
    if (callsLeft >= 0) {
      const failure = fault(call, path)
      if (failure !== undefined) diskFaults += 1
      return failure
    }
    kill()
    return 'EIO'
  }
  const disk = createMemoryDisk({ random: random.next, now: time.now, fault: onCall, ...(latencyMs ? { latencyMs } : {}) })
  const open = ({ transport }: Network) => createCollector({ settings, streams, storage: folder(ROOT), transport, random: random.next })
  const countHeld = () => ({ timers: time.pending(), descriptors: disk.openDescriptors() })
  const run: World['run'] = async (network, { kill: planned, interventions = [], pauseMs = 0 } = {}) => {
    network.connect()
    time.takePeak()
    const restoreDisk = replaceDisk(disk.disk)
    const [before, records] = [network.requests(), listRecords(disk)]
    ;[killed, callsLeft, kind, diskFaults] = [false, planned?.afterCalls ?? Number.POSITIVE_INFINITY, planned?.kind ?? 'process', 0]
    const running = new Subscription()
    try {
      const seen = follow(open(network).events(), () => killed, time)
      if (planned?.afterMs !== undefined) running.add(asyncScheduler.schedule(kill, planned.afterMs))
      for (const [act, ms] of interventions) running.add(asyncScheduler.schedule(act, ms))
      running.add(seen.subscription)
      const advanced = await time.advance(() => killed || seen.end() !== undefined, MAX_RUN_MS)
      const overwritten = listOverwritten(records, listRecords(disk))
      const mostTimers = time.takePeak()
      const journaled = killed ? countJournaled(disk, diskFaults > 0 ? new Map() : seen.countStored()) : undefined
      // Nothing of a killed process goes on: neither its timers nor what it was waiting for.
      if (killed) time.clear()
      else running.unsubscribe()
      const atEnd = countHeld()
      callsLeft = Number.POSITIVE_INFINITY
      await time.pass(pauseMs)
      // Of a run that fails, the calls of the disk that are under way end later.
      const left = seen.end() === 'finished' ? atEnd : countHeld()
      const counts = { events: seen.events, diskFaults, overwritten, requests: network.requests() - before, left, mostTimers }
      if (journaled) return { ...counts, end: 'killed', journaled }
      const end = advanced === 'done' ? (seen.end() ?? 'failed') : advanced
      return { ...counts, end, ...omitUndefined({ report: seen.report(), error: seen.error() }) }
    } finally {
      callsLeft = Number.POSITIVE_INFINITY
      restoreDisk()
    }
  }
  const startAgain: World['startAgain'] = (network, requested) =>
    void open(network)
      .events()
      .pipe(filter(({ type }) => type === 'requested'))
      .subscribe({ next: requested, error: () => undefined })
  return { disk, run, startAgain, read: (reader) => readWith(disk, time, reader) }
}

/** Runs a reader with a disk; the time that it takes is virtual. */
const readWith = async <T>({ disk }: MemoryDisk, time: VirtualTime, reader: () => Promise<T>): Promise<T> => {
  const restoreDisk = replaceDisk(disk)
  try {
    let isDone = false
    const result = reader().finally(() => {
      isDone = true
    })
    await time.advance(() => isDone, MAX_RUN_MS)
    return await result
  } finally {
    restoreDisk()
  }
}

/** The files of all records of the history, by path. */
const listRecords = ({ files }: MemoryDisk): Files =>
  new Map([...files(`${ROOT}/.scripstream/history`)].filter(([path]) => /^\d/.test(path)))

const listOverwritten = (before: Files, after: Files): readonly string[] =>
  [...before].flatMap(([path, bytes]) => (after.get(path)?.equals(bytes) ? [] : [path]))

/** Describes how a start ended, with its problems. */
export const describeEnd = ({ error, report, end }: Partial<SimulatedRun> = {}): string => {
  const problems = Object.entries(report?.scripts ?? {}).flatMap(([name, script]) =>
    script.problems.map(({ reason }) => `${name}: ${reason}`),
  )
  return [end, report?.outcome, error === undefined ? undefined : String(error), report?.error, ...problems].filter(Boolean).join(' ')
}
