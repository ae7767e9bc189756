import { join } from 'node:path'
import { type MonoTypeOperatorFunction, Observable, tap } from 'rxjs'
import type { SortOrder } from '../engine/define-stream.js'
import type { Journal, JournalFacts, SinkItem } from '../engine/storage.js'
import { runNamed, StorageError } from '../model/errors.js'
import { type ItemOutcome, isLost } from '../model/outcome.js'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import { disk } from './disk.js'
import { type FileChunk, hasStamp, readStamp, renameOver, toStorageError, writeWhole } from './file-system.js'
import { readLines } from './record-file.js'

/** A line of a journal: one item, identified by its file name, which is unique within the stream. */
interface JournalLine {
  readonly item: string
  readonly status: ItemOutcome['status']
  readonly files: SinkItem['files']
  /** Why the item may lack rows; a later run fetches it again. */
  readonly degraded?: string
  readonly remark?: string
  readonly onlyDay?: string
  readonly newest?: string
}

/** Where the lines of a journal are stored. A `Place` locates the records of one line. */
export interface LineStore<Place> {
  /** Appends a line with records, each a JSON text. Calls `done` once it is written, or with the error. */
  readonly append: (
    line: object,
    records: readonly string[] | undefined,
    done: (error?: unknown) => void,
  ) => Place
  /** Reads the records of a line; returns a function that selects one by its index. */
  readonly read: (place: Place) => (index: number) => FileChunk
}

interface LineRecords<Place> {
  readonly place: Place
  readonly count: number
  /** The characters of all records. */
  readonly length: number
  readonly keys: readonly (string | number)[] | undefined
}

/** An item that an unfinished run stored. */
type EarlierItem = Pick<ItemOutcome, 'status' | 'rows' | 'remark' | 'onlyDay' | 'newest'> &
  Pick<SinkItem, 'files'>

/** What a journal has at its start: the items of an unfinished run, and their records by item. */
interface JournalContent<Place> {
  readonly earlier: Map<string, EarlierItem>
  readonly records: Map<string, LineRecords<Place>>
}

/**
 * Creates the journal of a stream. Records stay in the store; only their places and sort keys are in memory,
 * and the rows that other streams need of the items taken over.
 */
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
      if (found === undefined || facts.isOutdated) return undefined
      ranks.set(item.fileName, item.rank)
      const { files, ...outcome } = found
      return { outcome: { item, ...outcome }, files }
    },
    write: appendEach((stored, done) => {
      if (isLost(stored.outcome)) return done()
      const { item, rows, status, degraded, remark, onlyDay, newest } = stored.outcome
      const line = { item: item.fileName, status, files: stored.files, degraded, remark, onlyDay, newest }
      if (!facts.carriesRows) return void store.append(line, undefined, done)
      records.set(item.fileName, appendRecords(line, [...rows], { facts, store, done }))
      ranks.set(item.fileName, item.rank)
    }),
    carryOver: appendEach(({ rank, record }, done) => {
      carried.push({
        rank,
        line: appendRecords({ rank, status: 'carried' }, [record], { facts, store, done }),
      })
    }),
    takeRecords: () => {
      const noted = [...ranks].flatMap(([item, rank]) => {
        const line = records.get(item)
        return line === undefined ? [] : [{ rank, line }]
      })
      const lines = [...noted, ...carried.splice(0)]
        .sort((one, other) => one.rank - other.rank)
        .map(({ line }) => line)
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
      const settle = () => {
        if (isComplete && waiting === 0) subscriber.complete()
      }
      const add = (value: T) => {
        waiting += 1
        append(value, (error) => {
          waiting -= 1
          if (error !== undefined) return subscriber.error(error)
          subscriber.next(value)
          settle()
        })
      }
      const complete = () => {
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

const appendRecords = <Place>(
  line: object,
  rows: readonly unknown[],
  { facts: { stream, sortBy }, store, done }: Appending<Place>,
): LineRecords<Place> => {
  const { item } = line as Partial<JournalLine>
  const keys = sortBy && runNamed(`sortBy of ${stream}`, item, () => (rows as readonly Row[]).map(sortBy.key))
  const texts = rows.map((row) => JSON.stringify(row))
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return { place: store.append(line, texts, done), count: rows.length, length, keys }
}

/** Reading a line for each of its records takes three times as long. More than this is not held at a time. */
const MAX_HELD = 1 << 24

const RECORD_SEPARATOR = Buffer.from(',\n')

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
  const getLine = (record: number) => lines[lineOf[record] as number] as LineRecords<Place>
  const keyOf = (record: number) => getLine(record).keys?.[indexOf[record] as number] ?? ''
  const order = Uint32Array.from(lineOf.keys())
  const sign = sortBy?.direction === 'ascending' ? 1 : -1
  if (sortBy) order.sort((one, other) => sign * compareKeys(keyOf(one), keyOf(other)) || one - other)
  const held = new Map<LineRecords<Place>, (index: number) => FileChunk>()
  let length = 0
  for (const [position, record] of order.entries()) {
    if (position > 0) yield RECORD_SEPARATOR
    const line = getLine(record)
    const records = held.get(line) ?? read(line.place)
    if (!held.has(line)) {
      length += line.length
      // In the order of the lines, only one is needed.
      if (length > MAX_HELD || sortBy === undefined) {
        held.clear()
        length = line.length
      }
      held.set(line, records)
    }
    yield records(indexOf[record] as number)
  }
}

const compareKeys = (one: string | number, other: string | number): number => {
  if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1
  return one < other ? -1 : one > other ? 1 : 0
}

/** The journal of a stream in a file. Until it is opened it has no items, and takes none. */
export interface FolderJournal {
  readonly journal: Journal
  /** The files of the items that it had when it was opened. */
  readonly files: ReadonlySet<string>
  readonly open: () => Promise<void>
  readonly close: () => void
}

interface JournalPlace {
  readonly path: string
  readonly root: string
  /** When a written output was last modified, epoch milliseconds. */
  readonly timeOf: (file: string) => number | undefined
}

/**
 * Creates the journal of a stream. Opening it rewrites an existing one first, and drops a torn last line,
 * items whose files have changed, and carried-over records. The old journal stays until the new one is
 * complete.
 */
export const createFolderJournal = (
  facts: JournalFacts,
  { path, root, timeOf }: JournalPlace,
): FolderJournal => {
  const temporary = `${path}.next`
  const found: JournalContent<RecordsPlace> = { earlier: new Map(), records: new Map() }
  const kept = new Set<string>()
  let file: JournalFile | undefined
  const opened = () => {
    if (file === undefined) throw new Error('the run has no journals before it is committed')
    return file
  }
  const copyLine = ({ rows = [], ...line }: StoredLine) => {
    const { item, status, files, remark, onlyDay, newest } = line
    if (facts.carriesRows && line.degraded === undefined)
      found.records.set(item, appendRecords(line, rows, { facts, store: opened(), done: throwError }))
    else opened().append(line, undefined, throwError)
    opened().flush()
    for (const name of Object.keys(files)) kept.add(name)
    // An item that may lack rows is fetched again.
    if (line.degraded !== undefined) found.earlier.delete(item)
    else
      found.earlier.set(
        item,
        omitUndefined({ status, files, rows: facts.offersRows ? rows : [], remark, onlyDay, newest }),
      )
  }
  const open = async () => {
    file = createJournalFile(temporary)
    try {
      for await (const line of readJournalLines(path, root)) copyLine(line)
      await renameOver(temporary, path)
    } catch (error) {
      file.close()
      throw toStorageError(error, 'written', path)
    }
  }
  const append: LineStore<RecordsPlace>['append'] = (line, ...more) =>
    opened().append({ ...line, ...listTimes(line, timeOf) }, ...more)
  const journal = createJournal(facts, { append, read: (place) => opened().read(place) }, found)
  return { journal, files: kept, open, close: () => file?.close() }
}

const throwError = (error?: unknown): void => {
  if (error !== undefined) throw error
}

/**
 * `times`: of its files, when they were last modified. A power cut may keep a line and lose the rename of its
 * file: the earlier one may be as long.
 */
type StoredLine = JournalLine & {
  readonly rows?: readonly unknown[]
  readonly times: readonly (number | null)[]
}

/** Reads the whole lines of a journal whose files are unchanged; none if the journal is missing. */
async function* readJournalLines(path: string, root: string): AsyncGenerator<StoredLine> {
  if (!disk.existsSync(path)) return
  for await (const lines of readLines(path))
    for (const text of lines.split('\n')) {
      const line = parseLine(text)
      if (isItemLine(line) && Array.isArray(line.times) && areFilesUnchanged(line, root)) yield line
    }
}

/** Returns nothing for a line that a kill has cut. */
const parseLine = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isItemLine = (line: unknown): line is StoredLine & Row =>
  isRow(line) && typeof line.item === 'string' && isRow(line.files)

const listTimes = (line: object, timeOf: JournalPlace['timeOf']): Partial<Pick<StoredLine, 'times'>> =>
  isItemLine(line) ? { times: Object.keys(line.files).map((file) => timeOf(file) ?? null) } : {}

const areFilesUnchanged = ({ files, times }: StoredLine, root: string): boolean =>
  Object.entries(files).every(([file, bytes], index) =>
    hasStamp(readStamp(join(root, file)), [bytes, times[index] ?? Number.NaN]),
  )

/** Where the records of a line are in the file: consecutive, with one byte between two. */
interface RecordsPlace {
  readonly at: number
  /** The end of each record, relative to `at`. */
  readonly ends: readonly number[]
}

interface JournalFile extends LineStore<RecordsPlace> {
  readonly flush: () => void
  readonly close: () => void
}

interface PendingLine {
  readonly bytes: Buffer
  readonly done: (error?: unknown) => void
}

/**
 * Lines of JSON in a new file. All lines of one turn of the event loop are written together and
 * synchronously: they reach only the page cache, which takes no longer than a hand-over to another thread.
 * The position of each record in its line is known, so that it can be read alone.
 */
export const createJournalFile = (path: string): JournalFile => {
  const fd = disk.openSync(path, 'w+')
  let end = 0
  const waiting: PendingLine[] = []
  let scheduled: NodeJS.Immediate | undefined
  let isOpen = true
  const flush = () => {
    clearImmediate(scheduled)
    scheduled = undefined
    // Reuse the array: V8 moves it to the old generation, and a new one per batch would keep all its lines
    // until the next major GC.
    const batch = waiting.splice(0)
    // After close, the descriptor number may belong to another file.
    if (isOpen) writeBatch(fd, batch, path)
  }
  return {
    append: (line, records, done) => {
      const { bytes, place } = formatLine(line, records, end)
      end += bytes.length
      waiting.push({ bytes, done })
      scheduled ??= setImmediate(flush)
      return place
    },
    read: ({ at, ends }) => {
      if (!isOpen) throw new Error(`${path} is closed`)
      const records = Buffer.allocUnsafe(ends.at(-1) ?? 0)
      if (disk.readSync(fd, records, 0, records.length, at) < records.length)
        throw new StorageError(`${path} is shorter than it was when written`)
      return (index) => records.subarray(index === 0 ? 0 : (ends[index - 1] as number) + 1, ends[index])
    },
    flush,
    close: () => {
      if (!isOpen) return
      isOpen = false
      disk.closeSync(fd)
    },
  }
}

const writeBatch = (fd: number, batch: readonly PendingLine[], path: string): void => {
  let failure: unknown
  try {
    writeWhole(fd, Buffer.concat(batch.map(({ bytes }) => bytes)))
  } catch (error) {
    failure = toStorageError(error, 'written', path)
  }
  for (const { done } of batch) done(failure)
}

/**
 * Formats a line with its records, and computes their positions in the file if the line starts at `start`.
 */
const formatLine = (line: object, records: readonly string[] | undefined, start: number) => {
  const head = JSON.stringify(line)
  const before = records === undefined ? head : `${head.slice(0, -1)},"rows":[`
  const text = records === undefined ? `${head}\n` : `${before}${records.join(',')}]}\n`
  const bytes = Buffer.from(text)
  // In most lines each character is one byte: then the length of a text is its number of bytes.
  const lengthOf =
    bytes.length === text.length
      ? (record: string) => record.length
      : (record: string) => Buffer.byteLength(record)
  let end = -1
  const ends = (records ?? []).map((record) => (end += lengthOf(record) + 1))
  return { bytes, place: { at: start + Buffer.byteLength(before), ends } }
}
