import { type StreamDefinition, toFilePath } from '../engine/define-stream.js'
import { type FailedItems, parseFailedItems } from '../engine/failed-items.js'
import { isSignificant } from '../model/drift.js'
import { getOrAdd } from '../model/map.js'
import { isRow } from '../model/row.js'
import { type Day, toDay, toInstant } from '../model/trading-day.js'
import type { Files, SimulatedRun } from './world.js'

/** A daily run after which nothing runs any more. */
export interface DailyRun {
  readonly day: Day
  /** The files before its last start, */
  readonly before: Files
  /** now, */
  readonly after: Files
  /**
   * and after the same daily run without any fault; of a run that passes midnight, also those of one that
   * begins after it.
   */
  readonly expected: readonly Files[]
  /** All starts of the command, in order. */
  readonly runs: readonly SimulatedRun[]
  /** How runs before this one were killed. */
  readonly kills: readonly ('process' | 'power' | undefined)[]
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** What the network saw that no run may do. */
  readonly violations: readonly string[]
}

const outputsIn = (files: Files): readonly string[] =>
  [...files.keys()].filter((file) => !file.startsWith('.scripstream/'))
export const haveSameBytes = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
  one && other ? one.equals(other) : one === other

export const listChangedFiles = (before: Files, after: Files): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => !haveSameBytes(before.get(file), after.get(file)),
  )

/** The failed items as the folder itself lists them. */
const readFailed = (files: Files): FailedItems => {
  const text = files.get('.scripstream/failed.json')
  return text === undefined ? {} : parseFailedItems(JSON.parse(text.toString()))
}

/** The stream and the name of the item that a file belongs to; the name is empty for a file of many items. */
const findOwner = (
  file: string,
  { streams, exchange }: DailyRun,
): { readonly stream: string; readonly item: string } | undefined => {
  for (const { name, outputs } of streams)
    for (const output of outputs) {
      const [head = '', tail] = toFilePath(output, exchange, { fileName: '\0' }).split('\0')
      if (
        tail === undefined
          ? file === head
          : file.startsWith(head) && file.endsWith(tail) && !file.slice(head.length).includes('/')
      )
        return {
          stream: name,
          item: tail === undefined ? '' : file.slice(head.length, file.length - tail.length),
        }
    }
  return undefined
}

/** Whether the folder says that what this file holds is missing. */
const isNamed = (file: string, failed: FailedItems, dailyRun: DailyRun): boolean => {
  const owner = findOwner(file, dailyRun)
  const items = owner && failed[owner.stream]
  if (owner === undefined || items === undefined) return false
  // The file of an item whose symbol is not unique has its id behind a tilde.
  return (
    items === 'all' ||
    owner.item === '' ||
    items.some((item) => owner.item.split('~')[0] === item.replace(/[^\w .&-]/g, '_'))
  )
}

/** The outputs that are not as expected. */
const findWrongOutputs = ({ after, expected }: DailyRun): readonly string[] =>
  [...new Set([after, ...expected].flatMap(outputsIn))].filter(
    (file) => !expected.some((files) => haveSameBytes(after.get(file), files.get(file))),
  )

const endsComplete = ({ runs }: DailyRun): boolean => runs.at(-1)?.report?.outcome === 'complete'

/**
 * What must be true of every daily run, in the order in which it is checked: a name, and a check that returns
 * what is wrong.
 */
export const invariants: readonly (readonly [
  name: string,
  check: (dailyRun: DailyRun) => readonly string[],
])[] = [
  [
    'every run ends',
    ({ runs }) =>
      runs.flatMap(({ end }) =>
        end === 'stalled' || end === 'late' ? [`a run ended neither well nor badly: ${end}`] : [],
      ),
  ],
  [
    'only the disk ends a run early',
    ({ runs }) =>
      runs.flatMap(({ error }, index) => {
        const isOfDisk = isRow(error) && error.code === 'storage' && !hasDisk(runs.slice(0, index + 1))
        return error === undefined || isOfDisk ? [] : [String(error)]
      }),
  ],
  [
    'each item of a run that ends has one outcome',
    ({ runs }) =>
      runs.flatMap(({ end, report, events }) => (end === 'finished' && report ? countOutcomes(events) : [])),
  ],
  [
    'each output is that of a run without faults, or named as missing',
    (dailyRun) => {
      const drifted = dailyRun.runs.at(-1)?.report?.drift?.filter(isSignificant) ?? []
      const named = {
        ...readFailed(dailyRun.after),
        ...Object.fromEntries(drifted.map(({ stream }) => [stream, 'all' as const])),
      }
      const failed = endsComplete(dailyRun) ? {} : named
      return findWrongOutputs(dailyRun).filter((file) => !isNamed(file, failed, dailyRun))
    },
  ],
  [
    'what was stored before a kill is not requested again',
    ({ runs, kills, streams }) =>
      runs
        .slice(1)
        .flatMap((run, index) =>
          kills[index] === 'process' && hasDisk(runs.slice(0, index + 2)) && !isAsCut(index, { runs, kills })
            ? listRepeated(runs[index] as SimulatedRun, run, streams)
            : [],
        ),
  ],
  [
    'a second pass is announced as soon as its items are deferred',
    ({ runs }) => runs.flatMap(({ events }) => listUnannounced(events)),
  ],
  ['a record of the history is never changed', ({ runs }) => runs.flatMap(({ overwritten }) => overwritten)],
  ['caps and pauses are kept', ({ violations }) => violations],
  [
    'no timer, lock, descriptor or temporary file is left',
    (dailyRun) => {
      const held = dailyRun.runs.flatMap(({ left: { timers, descriptors } }) => [
        ...(timers > 0 ? [`${timers} timers`] : []),
        ...(descriptors > 0 ? [`${descriptors} descriptors`] : []),
      ])
      // The temporary lock of a killed process that has the id of a running one, as here, stays until that
      // one ends.
      const names = [...dailyRun.after.keys()].filter((file) =>
        /^(?!.*\.lock-).*\.tmp$|^(?!.*journals\/).*\.next$|\.scripstream\/(lock|live|history\/work-)/.test(
          file,
        ),
      )
      // Journals without a record are ignored, and deleted by the next run.
      const journals = endsComplete(dailyRun)
        ? [...dailyRun.after.keys()].filter((file) => /scripstream\/run\.json$/.test(file))
        : []
      return [...held, ...names, ...journals]
    },
  ],
  [
    'the timers of a run do not grow with the number of stocks',
    ({ runs, streams }) => {
      const workers = streams.reduce((sum, stream) => sum + Math.max(2, stream.workers), 0)
      return runs.flatMap(({ mostTimers }) =>
        mostTimers > 3 * workers + 50 ? [`${mostTimers} timers, ${workers} workers`] : [],
      )
    },
  ],
]

/** What was there before the last start, is right, and is gone. */
export const findLosses = (dailyRun: DailyRun): readonly string[] =>
  findWrongOutputs(dailyRun).flatMap((file) => {
    const lost = dailyRun.expected.every((files) => files.has(file)) ? countLostRecords(file, dailyRun) : 0
    return lost > 0 ? [`${file} lost ${lost}`] : []
  })

/** How many records a file has lost that were there before and are still right. */
const countLostRecords = (file: string, { after, expected, before }: DailyRun): number => {
  const was = before.get(file)
  const now = after.get(file)
  if (was === undefined || haveSameBytes(was, now)) return 0
  const [kept, right] = [readRecordSet(now), expected.map((files) => readRecordSet(files.get(file)))]
  return [...readRecordSet(was)].filter(
    (record) => !kept.has(record) && right.every((records) => records.has(record)),
  ).length
}

/** The same files, of a run without faults or of the start before, are read for many starts. */
const recordsOf = new WeakMap<Buffer, ReadonlySet<string>>()
const NO_RECORDS: ReadonlySet<string> = new Set()
const readRecordSet = (bytes: Buffer | undefined): ReadonlySet<string> => {
  const records = bytes && (recordsOf.get(bytes) ?? new Set(readTexts(bytes)))
  if (bytes && records) recordsOf.set(bytes, records)
  return records ?? NO_RECORDS
}

/** The records of a file of JSON, whatever is around them, or its lines. */
const readTexts = (bytes: Buffer): readonly string[] => {
  const text = bytes.toString()
  // A file that is not whole is a finding of its own: what is whole in it counts.
  const document = /^[[{]/.test(text) ? parseWhole(text) : undefined
  if (document === undefined) return text.split('\n')
  const lists = [document, ...Object.values(document as object)].filter((value) => Array.isArray(value))
  return (lists[0] ?? [document]).map((record: unknown) => JSON.stringify(record))
}

const parseWhole = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The streams of candles that lack those of a session. */
export const listLateCandles = (
  run: SimulatedRun | undefined,
  day: Day,
  streams: readonly StreamDefinition[],
): readonly string[] =>
  streams.flatMap(({ name, outputs }) => {
    const newest = run?.report?.newest?.[name]
    // Too few series tell nothing.
    return outputs[0].shape !== 'candles-per-item' || (newest ?? day) === day
      ? []
      : [`${name} ends with ${newest}`]
  })

const countOutcomes = (events: SimulatedRun['events']): readonly string[] => {
  const [known, finished] = [new Map<string, number>(), new Map<string, Set<string>>()]
  const repeated: string[] = []
  for (const event of events) {
    if (event.type === 'items-known') known.set(event.stream, event.total)
    if (event.type !== 'item-finished') continue
    const items = getOrAdd(finished, event.stream, () => new Set<string>())
    if (items.has(event.item)) repeated.push(`${event.stream}: two outcomes of ${event.item}`)
    items.add(event.item)
  }
  const missing = [...known].flatMap(([stream, total]) => {
    const count = finished.get(stream)?.size ?? 0
    return count === total ? [] : [`${stream}: ${count} outcomes of ${total} items`]
  })
  return [...repeated, ...missing]
}

const listUnannounced = (events: SimulatedRun['events']): readonly string[] => {
  const deferred = new Map<string, number>()
  return events.flatMap((event) => {
    if (event.type === 'items-deferred') deferred.set(event.stream, event.items)
    const isUnannounced = event.type === 'second-pass' && deferred.get(event.stream) !== event.items
    return isUnannounced ? [`${event.stream}: ${event.items} items`] : []
  })
}

/** Whether a run was killed before it had read what a power cut had left: lines of files that are lost. */
const isAsCut = (index: number, { runs, kills }: Pick<DailyRun, 'runs' | 'kills'>): boolean =>
  index > 0 && kills[index - 1] !== 'process' && runs[index]?.requests === 0

/** A file that cannot be looked at counts as changed: its item is requested again. */
const hasDisk = (runs: readonly SimulatedRun[]): boolean => runs.every(({ diskFaults }) => diskFaults === 0)

const listRepeated = (
  { journaled = new Map() }: SimulatedRun,
  { events, end }: SimulatedRun,
  streams: readonly StreamDefinition[],
): readonly string[] => {
  const started = events.find((event) => event.type === 'run-started')
  const isContinued = started?.isContinued
  // What was stored before it was published is requested again.
  const isOutdated = ({ publishedAt }: StreamDefinition) => {
    const published =
      publishedAt === undefined ? Number.NaN : toInstant(toDay(started?.asOf ?? 0), publishedAt)
    return started !== undefined && started.asOf < published && published <= started.at
  }
  const outdated = streams.filter(isOutdated).map(({ name }) => name)
  // That of a session that has ended since is given up.
  if (end !== 'finished' || started?.givenUp?.reason === 'session') return []
  if (!isContinued)
    return [...journaled.values()].some((count) => count > 0) ? ['the run was not resumed'] : []
  return [...journaled].flatMap(([stream, stored]) => {
    const own = events.filter((event) => 'stream' in event && event.stream === stream)
    // Without the master list, a stream has no items to take over.
    if (outdated.includes(stream) || own.every(({ type }) => type !== 'items-known')) return []
    const taken = own.filter((event) => event.type === 'item-finished' && event.isTakenOver).length
    return taken === stored ? [] : [`${stream}: ${stored} stored, ${taken} taken over`]
  })
}
