import { closeSync, openSync, writeSync } from 'node:fs'
import { Observable } from 'rxjs'
import { storageErrorOf } from './file-error.js'
import type { Spool } from './journal-over.js'
import { BETWEEN_RECORDS } from './json-lines.js'
import type { RecordAt } from './lots.js'
import { readSlices, type Slice } from './slices.js'

/** Where the records of a line lie: one behind the other from a place in the file on, a byte between two. */
export interface LinePlace {
  readonly at: number
  /** Where each of them ends, counted from there. */
  readonly ends: readonly number[]
}

export interface FileSpool extends Spool<LinePlace> {
  /** Writes what is waiting. */
  readonly flush: () => void
  /** What is waiting is not written any more. */
  readonly close: () => void
}

interface Waiting {
  readonly text: string
  readonly done: () => void
  readonly fail: (error: unknown) => void
}

/**
 * Lines of JSON in a new file; those of one turn are written together. They go no further than the system's own memory, which takes no
 * longer than to hand them to another thread would. A line is not made by the `ndjson` package, which reads them: where each record lies
 * in it must be known.
 */
export const openSpool = (path: string): FileSpool => {
  const fd = openSync(path, 'w+')
  let end = 0
  const waiting: Waiting[] = []
  let alarm: NodeJS.Immediate | undefined
  let isOpen = true
  const flush = (): void => {
    clearImmediate(alarm)
    alarm = undefined
    // The list is old where little is written: a new one for each batch would leave it, and all that was in it, to a great collection.
    const batch = waiting.splice(0)
    // The number of a closed file may be another file's by now.
    if (isOpen) written(fd, batch, path)
  }
  return {
    append: (line, records) =>
      new Observable((subscriber) => {
        const { text, place, length } = lineOf(line, records, end)
        end += length
        waiting.push({
          text,
          done: () => {
            subscriber.next(place)
            subscriber.complete()
          },
          fail: (error) => subscriber.error(error),
        })
        alarm ??= setImmediate(flush)
      }),
    *read(records) {
      if (!isOpen) throw new Error(`${path} is closed`)
      yield* readSlices({ fd, path }, slicesOf(records), BETWEEN_RECORDS)
    },
    flush,
    close: () => {
      if (!isOpen) return
      isOpen = false
      closeSync(fd)
    },
  }
}

const written = (fd: number, batch: readonly Waiting[], path: string): void => {
  try {
    const bytes = Buffer.from(batch.map(({ text }) => text).join(''))
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  } catch (error) {
    for (const { fail } of batch) fail(storageErrorOf(error, 'written', path))
    return
  }
  for (const { done } of batch) done()
}

function* slicesOf(records: Iterable<RecordAt<LinePlace>>): Generator<Slice, undefined> {
  for (const [{ at, ends }, nth] of records) {
    const start = nth === 0 ? 0 : (ends[nth - 1] as number) + 1
    yield { at: at + start, length: (ends[nth] as number) - start }
  }
}

interface PlacedLine {
  readonly text: string
  /** In bytes. */
  readonly length: number
  readonly place: LinePlace
}

/** The text of a line with its records in it, and where in the file they lie if it begins at `start`. */
const lineOf = (line: object, records: readonly string[] | undefined, start: number): PlacedLine => {
  const head = JSON.stringify(line)
  const before = records === undefined ? head : `${head.slice(0, -1)},"rows":[`
  const text = records === undefined ? `${head}\n` : `${before}${records.join(',')}]}\n`
  const length = Buffer.byteLength(text)
  // Of most lines each character is a byte: then their records need not be counted one by one.
  const lengthOf = length === text.length ? (record: string) => record.length : (record: string) => Buffer.byteLength(record)
  let end = -1
  const ends = (records ?? []).map((record) => (end += lengthOf(record) + 1))
  return { text, length, place: { at: start + Buffer.byteLength(before), ends } }
}
