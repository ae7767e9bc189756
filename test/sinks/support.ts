import { firstValueFrom, from, lastValueFrom, map, ReplaySubject, switchMap, toArray } from 'rxjs'
import { expect } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Output } from '../../src/engine/define-stream.js'
import type {
  JournalFacts,
  Session,
  SessionChoice,
  SessionRequest,
  SinkContext,
  SinkItem,
  Storage,
} from '../../src/engine/storage.js'
import type { ItemOutcome, RowList } from '../../src/model/outcome.js'
import { toInstant } from '../../src/model/trading-day.js'
import { filesIn, temporaryFolder } from '../support/folders.js'

export const NOW = toInstant('2026-02-12', '20:00')
export const isinOf = (rank: number): string => `INE${String(rank).padStart(9, '0')}`

/** The outcome of the item at a rank; its value is a stock. */
export const outcomeOf = (
  rank: number,
  rows: RowList,
  status: ItemOutcome['status'] = rows.length > 0 ? 'success' : 'empty',
): ItemOutcome => ({
  item: { key: `S${rank}`, rank, fileName: `S${rank}`, value: { Symbol: `S${rank}`, ISIN: isinOf(rank) } },
  status,
  rows,
  ...(['success', 'empty', 'skipped'].includes(status) ? {} : { reason: 'it failed' }),
})

/** The context of a sink, without journal and `wrote`. */
export type Context = Omit<SinkContext, 'journal' | 'wrote'>

export const contextOf = (listed = 0, asOf = NOW): Context => ({
  stream: 'trial',
  exchange: 'NSE',
  asOf,
  accepts: () => false,
  warn: () => undefined,
  refuse: () => undefined,
  listed: Array.from({ length: listed }, (_, rank) => outcomeOf(rank, []).item),
})

export interface Place {
  readonly name: string
  readonly storage: Storage
  readonly files: () => Readonly<Record<string, string>>
}

export const inMemory = (files: MemoryFiles = new Map()): Place => ({
  name: 'memory',
  storage: memory(files),
  files: () =>
    Object.fromEntries(
      [...files]
        .map(([file, { text }]) => [file, text] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
})

export const inFolder = (path = temporaryFolder()): Place => ({
  name: 'a folder',
  storage: folder(path),
  files: () => filesIn(path),
})

/** The files and bytes that a sink wrote. */
export interface Wrote {
  readonly files: number
  readonly bytes: number
}

const toSinkItem = (outcome: ItemOutcome): SinkItem => ({ outcome, files: {} })

/** Opens the session of a run, which holds its lock until `release`. */
export const openSession = async (
  storage: Pick<Storage, 'openSession'>,
  more: Partial<SessionRequest> = {},
) => {
  const begun = new ReplaySubject<Session>(1)
  const usual = { folders: [], streams: [], outputs: [], session: '2026-02-12' }
  const choice: SessionChoice = {
    record: { run: 'r', asOf: NOW, configuration: '' },
    unfinished: undefined,
    isContinued: false,
    isPartOfEnded: false,
    isPartOfUnfinished: false,
    keepsPrevious: false,
  }
  const holding = storage
    .openSession({ ...usual, ...more })
    .pipe(switchMap(({ begin }) => begin(choice)))
    .subscribe(begun)
  return { session: await firstValueFrom(begun), release: () => holding.unsubscribe() }
}

/** Runs the sink of an output over journalled items; fails unless it emits each of them once. */
export const sink = async (
  place: Place,
  output: Output,
  items: readonly ItemOutcome[],
  context = contextOf(),
): Promise<Wrote> => {
  const isGathered = output.shape === 'rows-in-one-file'
  const sortBy = isGathered ? output.sortBy : undefined
  const facts: JournalFacts = {
    stream: 'any',
    carriesRows: isGathered,
    offersRows: false,
    ...(sortBy ? { sortBy } : {}),
  }
  const { session } = await openSession(memory(), { streams: [facts] })
  const journal = session.journals.get('any')
  if (journal === undefined) throw new Error('no journal')
  const wrote: number[] = []
  const opened = place.storage.open(output, { ...context, journal, wrote: (bytes) => void wrote.push(bytes) })
  const passed = await lastValueFrom(from(items).pipe(map(toSinkItem), journal.write, opened, toArray()))
  const names = (list: readonly ItemOutcome[]): readonly string[] => list.map(({ item }) => item.key).sort()
  expect(names(passed.map(({ outcome }) => outcome))).toEqual(names(items))
  return { files: wrote.length, bytes: wrote.reduce((sum, bytes) => sum + bytes, 0) }
}
