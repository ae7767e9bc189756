import { join } from 'node:path'
import { firstValueFrom, map, Observable } from 'rxjs'
import { StorageError } from '../model/errors.js'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import type { Journal, JournalFacts } from '../pipeline/session.js'
import { disk } from './disk.js'
import { getErrorCode, renameOver, statFile, toStorageError } from './file-system.js'
import { appendRecords, createJournal, type JournalContent, type JournalLine, type LineStore } from './journal.js'

export interface OpenJournal {
  readonly journal: Journal
  readonly close: () => void
}

/**
 * Opens the journal of a stream in a file. Rewrites an existing one first and drops a torn last line, items whose files have changed, and
 * carried-over records. The old journal stays until the new one is complete.
 */
export const openJournal = async (path: string, facts: JournalFacts, root: string): Promise<OpenJournal> => {
  const temporary = `${path}.next`
  const lines = createJournalFile(temporary)
  const found: JournalContent<RecordsPlace> = { earlier: new Map(), records: new Map() }
  const copyLine = async ({ rows = [], ...line }: StoredLine): Promise<void> => {
    const written = firstValueFrom(
      facts.carriesRows ? appendRecords(line, rows, facts, lines) : lines.append(line, undefined).pipe(map(() => undefined)),
    )
    lines.flush()
    const copied = await written
    const { item, status, files, remark, newest } = line
    if (copied) found.records.set(item, copied)
    // An item that may lack rows is fetched again; its records stay valid until then.
    if (line.degraded !== undefined) found.earlier.delete(item)
    else found.earlier.set(item, omitUndefined({ status, files, rows: facts.offersRows ? rows : [], remark, newest }))
  }
  try {
    for await (const line of readJournalLines(path, root)) await copyLine(line)
    await renameOver(temporary, path)
  } catch (error) {
    lines.close()
    throw toStorageError(error, 'written', path)
  }
  const append: typeof lines.append = (line, records) => lines.append({ ...line, ...readTimes(line, root) }, records)
  return { journal: createJournal(facts, { ...lines, append }, found), close: lines.close }
}

/** Reads the items, by file name, that a resumed run would find stored. Read-only: the journal may vanish when its run ends. */
export const readStoredItems = async (path: string, root: string): Promise<ReadonlySet<string>> => {
  const items = new Set<string>()
  try {
    for await (const { item, degraded } of readJournalLines(path, root)) {
      if (degraded === undefined) items.add(item)
      else items.delete(item)
    }
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
  }
  return items
}

/** `times`: of its files, when they were last modified. A power cut may keep a line and lose the rename of its file: the earlier one may be as long. */
type StoredLine = JournalLine & { readonly rows?: readonly unknown[]; readonly times?: readonly (number | null)[] }

/** Reads the whole lines of a journal whose files are unchanged; none if the journal is missing. */
async function* readJournalLines(path: string, root: string): AsyncGenerator<StoredLine> {
  if (!disk.existsSync(path)) return
  // Only a resumed run reads journals; all others start 20 ms sooner without this package and one file stream per journal.
  const { parse } = await import('ndjson')
  const source = disk.createReadStream(path)
  const lines = source.pipe(parse({ strict: false })) as unknown as NodeJS.ReadWriteStream & { destroy: (error: Error) => void }
  source.on('error', (error) => lines.destroy(error))
  for await (const line of lines as AsyncIterable<unknown>) if (isJournalLine(line) && areFilesUnchanged(line, root)) yield line
}

const isJournalLine = (line: unknown): line is StoredLine & Row => isRow(line) && typeof line.item === 'string' && isRow(line.files)

const readTimes = (line: object, root: string) =>
  isJournalLine(line) ? { times: Object.keys(line.files).map((file) => statFile(join(root, file))?.mtimeMs ?? null) } : {}

const areFilesUnchanged = ({ files, times }: StoredLine, root: string): boolean =>
  Object.entries(files).every(([file, bytes], index) => {
    const found = statFile(join(root, file))
    return found?.size === bytes && (times === undefined || times[index] === found.mtimeMs)
  })

/** Creates a journal that is opened when the run is committed; until then it is empty. */
export const createDeferredJournal = (opened: () => Journal | undefined): Journal => {
  const journal = (): Journal => {
    const found = opened()
    if (found === undefined) throw new Error('the run has no journals before it is committed')
    return found
  }
  return {
    findStored: (item) => opened()?.findStored(item),
    write: (item) => journal().write(item),
    carryOver: (rank, record) => journal().carryOver(rank, record),
    takeRecords: () => journal().takeRecords(),
  }
}

/** Where the records of a line are in the file: consecutive, with one byte between two. */
interface RecordsPlace {
  readonly at: number
  /** The end of each record, relative to `at`. */
  readonly ends: readonly number[]
}

interface JournalFile extends LineStore<RecordsPlace> {
  /** Writes the pending lines. */
  readonly flush: () => void
  /** Discards the pending lines. */
  readonly close: () => void
}

interface PendingLine {
  readonly text: string
  readonly done: () => void
  readonly fail: (error: unknown) => void
}

/**
 * Lines of JSON in a new file. All lines of one turn of the event loop are written together and synchronously: they reach only the page
 * cache, which takes no longer than a hand-over to another thread. The `ndjson` package cannot format them, because the position of each
 * record in its line must be known.
 */
export const createJournalFile = (path: string): JournalFile => {
  const fd = disk.openSync(path, 'w+')
  let end = 0
  const waiting: PendingLine[] = []
  let scheduled: NodeJS.Immediate | undefined
  let isOpen = true
  const flush = (): void => {
    clearImmediate(scheduled)
    scheduled = undefined
    // Reuse the array: V8 moves it to the old generation, and a new one per batch would keep all its lines until the next major GC.
    const batch = waiting.splice(0)
    // After close, the descriptor number may belong to another file.
    if (isOpen) writeBatch(fd, batch, path)
  }
  return {
    append: (line, records) =>
      new Observable((subscriber) => {
        const { text, place, length } = formatLine(line, records, end)
        end += length
        waiting.push({
          text,
          done: () => {
            subscriber.next(place)
            subscriber.complete()
          },
          fail: (error) => subscriber.error(error),
        })
        scheduled ??= setImmediate(flush)
      }),
    read: ({ at, ends }, index) => {
      if (!isOpen) throw new Error(`${path} is closed`)
      const start = index === 0 ? 0 : (ends[index - 1] as number) + 1
      const record = Buffer.allocUnsafe((ends[index] as number) - start)
      if (disk.readSync(fd, record, 0, record.length, at + start) < record.length)
        throw new StorageError(`${path} is shorter than it was when written`)
      return record
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
  try {
    const bytes = Buffer.from(batch.map(({ text }) => text).join(''))
    for (let at = 0; at < bytes.length; ) at += disk.writeSync(fd, bytes, at)
  } catch (error) {
    for (const { fail } of batch) fail(toStorageError(error, 'written', path))
    return
  }
  for (const { done } of batch) done()
}

/** Formats a line with its records, and computes its length in bytes and their positions in the file if the line starts at `start`. */
const formatLine = (line: object, records: readonly string[] | undefined, start: number) => {
  const head = JSON.stringify(line)
  const before = records === undefined ? head : `${head.slice(0, -1)},"rows":[`
  const text = records === undefined ? `${head}\n` : `${before}${records.join(',')}]}\n`
  const length = Buffer.byteLength(text)
  // In most lines each character is one byte: then the length of a text is its number of bytes.
  const lengthOf = length === text.length ? (record: string) => record.length : (record: string) => Buffer.byteLength(record)
  let end = -1
  const ends = (records ?? []).map((record) => (end += lengthOf(record) + 1))
  return { text, length, place: { at: start + Buffer.byteLength(before), ends } }
}
