import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { Observable } from 'rxjs'
import { toStorageError } from './file-system.js'
import type { LineStore } from './journal.js'

/** Where the records of a line are in the file: consecutive, with one byte between two. */
export interface RecordsPlace {
  readonly at: number
  /** The end of each record, relative to `at`. */
  readonly ends: readonly number[]
}

export interface JournalFile extends LineStore<RecordsPlace> {
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
  const fd = openSync(path, 'w+')
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
      if (readSync(fd, record, 0, record.length, at + start) < record.length) throw new Error(`${path} is shorter than it was when written`)
      return record
    },
    flush,
    close: () => {
      if (!isOpen) return
      isOpen = false
      closeSync(fd)
    },
  }
}

const writeBatch = (fd: number, batch: readonly PendingLine[], path: string): void => {
  try {
    const bytes = Buffer.from(batch.map(({ text }) => text).join(''))
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  } catch (error) {
    for (const { fail } of batch) fail(toStorageError(error, 'written', path))
    return
  }
  for (const { done } of batch) done()
}

interface FormattedLine {
  readonly text: string
  /** In bytes. */
  readonly length: number
  readonly place: RecordsPlace
}

/** Formats a line with its records, and computes their positions in the file if the line starts at `start`. */
const formatLine = (line: object, records: readonly string[] | undefined, start: number): FormattedLine => {
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
