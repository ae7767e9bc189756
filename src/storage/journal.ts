import { type MonoTypeOperatorFunction, Observable, tap } from 'rxjs'
import { runNamed } from '../model/errors.js'
import { type ItemOutcome, isLost } from '../model/outcome.js'
import { omitUndefined, type Row } from '../model/row.js'
import type { SortOrder } from '../pipeline/output.js'
import type { Journal, JournalFacts, SinkItem } from '../pipeline/session.js'
import type { FileChunk } from './file-store.js'
import { RECORD_SEPARATOR } from './record-file.js'

/** A line of a journal: one item, identified by its file name, which is unique within the stream. */
export interface JournalLine {
  readonly item: string
  readonly status: ItemOutcome['status']
  readonly files: SinkItem['files']
  /** Why the item may lack rows; a later run fetches it again. */
  readonly degraded?: string
  readonly remark?: string
  readonly newest?: string
}

/** Where the lines of a journal are stored. A `Place` locates the records of one line. */
export interface LineStore<Place> {
  /** Appends a line with records, each a JSON text. Calls `done` once it is written, or with the error. */
  readonly append: (line: object, records: readonly string[] | undefined, done: (error?: unknown) => void) => Place
  /** Reads a record by its index in its line. */
  readonly read: (place: Place, index: number) => FileChunk
}

/** The records of one line, with their sort keys if they are sorted. */
export interface LineRecords<Place> {
  readonly place: Place
  readonly count: number
  readonly keys: readonly (string | number)[] | undefined
}

/** An item that an unfinished run stored. */
export type EarlierItem = Pick<ItemOutcome, 'status' | 'rows' | 'remark' | 'newest'> & Pick<SinkItem, 'files'>

/** What a journal has at its start: the items of an unfinished run, and their records by item. */
export interface JournalContent<Place> {
  readonly earlier: Map<string, EarlierItem>
  readonly records: Map<string, LineRecords<Place>>
}

/** Creates the journal of a stream. Records stay in the store; only their places and sort keys are in memory. */
export const createJournal = <Place>(
  facts: JournalFacts,
  store: LineStore<Place>,
  { earlier, records }: JournalContent<Place> = { earlier: new Map(), records: new Map() },
): Journal => {
  // Records are stored by item name: the rank of an item may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried: RankedLine<Place>[] = []
  return {
    findStored: (item) => {
      const found = earlier.get(item.fileName)
      if (found === undefined) return undefined
      ranks.set(item.fileName, item.rank)
      const { files, ...outcome } = found
      return { outcome: { item, ...outcome }, files }
    },
    write: appendEach((stored, done) => {
      if (isLost(stored.outcome)) return done()
      const { item, rows } = stored.outcome
      const line = toJournalLine(stored)
      if (!facts.carriesRows) return void store.append(line, undefined, done)
      records.set(item.fileName, appendRecords(line, [...rows], { facts, store, done }))
      ranks.set(item.fileName, item.rank)
    }),
    carryOver: appendEach(({ rank, record }, done) => {
      carried.push({ rank, line: appendRecords({ rank, status: 'carried' }, [record], { facts, store, done }) })
    }),
    takeRecords: () => {
      const noted = [...ranks].flatMap(([item, rank]) => {
        const line = records.get(item)
        return line === undefined ? [] : [{ rank, line }]
      })
      const lines = [...noted, ...carried.splice(0)].sort((one, other) => one.rank - other.rank).map(({ line }) => line)
      for (const known of [ranks, records]) known.clear()
      return readSorted(lines, facts.sortBy, store)
    },
  }
}

interface RankedLine<Place> {
  readonly rank: number
  readonly line: LineRecords<Place>
}

/** Emits each value once `append` has called back for it. */
const appendEach =
  <T>(append: (value: T, done: (error?: unknown) => void) => void): MonoTypeOperatorFunction<T> =>
  (value$) =>
    new Observable((subscriber) => {
      let waiting = 0
      let isComplete = false
      const settle = (): void => {
        if (isComplete && waiting === 0) subscriber.complete()
      }
      const add = (value: T): void => {
        waiting += 1
        append(value, (error) => {
          waiting -= 1
          if (error !== undefined) return subscriber.error(error)
          subscriber.next(value)
          settle()
        })
      }
      const complete = (): void => {
        isComplete = true
        settle()
      }
      return value$.pipe(tap(add)).subscribe({ error: (error) => subscriber.error(error), complete })
    })

interface Appending<Place> {
  readonly facts: JournalFacts
  readonly store: Pick<LineStore<Place>, 'append'>
  readonly done: (error?: unknown) => void
}

/** Appends a line with rows. */
export const appendRecords = <Place>(
  line: object,
  rows: readonly unknown[],
  { facts: { stream, sortBy }, store, done }: Appending<Place>,
): LineRecords<Place> => {
  const { item } = line as Partial<JournalLine>
  const keys = sortBy && runNamed(`sortBy of ${stream}`, item, () => (rows as readonly Row[]).map(sortBy.key))
  const texts = rows.map((row) => JSON.stringify(row))
  return { place: store.append(line, texts, done), count: rows.length, keys }
}

const toJournalLine = ({ outcome: { item, status, degraded, remark, newest }, files }: SinkItem): JournalLine =>
  omitUndefined({ item: item.fileName, status, files, degraded, remark, newest })

/** Reads all records, separated, sorted by key; records with the same key stay in the order of the lines. */
function* readSorted<Place>(
  lines: readonly LineRecords<Place>[],
  sortBy: SortOrder | undefined,
  { read }: LineStore<Place>,
): Generator<FileChunk, undefined> {
  const total = lines.reduce((sum, { count }) => sum + count, 0)
  // Records are numbered, because an object for each would need more memory than anything else in a run.
  const [lineOf, indexOf] = [new Uint32Array(total), new Uint32Array(total)]
  let next = 0
  for (const [number, { count }] of lines.entries())
    for (let index = 0; index < count; index += 1) {
      lineOf[next] = number
      indexOf[next] = index
      next += 1
    }
  const getLine = (record: number): LineRecords<Place> => lines[lineOf[record] as number] as LineRecords<Place>
  const keyOf = (record: number): string | number => getLine(record).keys?.[indexOf[record] as number] ?? ''
  const order = Uint32Array.from(lineOf.keys())
  const sign = sortBy?.direction === 'ascending' ? 1 : -1
  if (sortBy) order.sort((one, other) => sign * compareKeys(keyOf(one), keyOf(other)) || one - other)
  for (const [position, record] of order.entries()) {
    if (position > 0) yield RECORD_SEPARATOR
    yield read(getLine(record).place, indexOf[record] as number)
  }
}

const compareKeys = (one: string | number, other: string | number): number => {
  if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1
  return one < other ? -1 : one > other ? 1 : 0
}
