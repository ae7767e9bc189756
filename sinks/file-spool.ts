import { closeSync, openSync, writeSync } from 'node:fs'
import { Observable } from 'rxjs'
import { storageErrorOf } from './file-error.js'
import type { Spool, Written } from './journal-over.js'
import { readSlices, type Slice } from './slices.js'

/** Where a record lies, and what it is sorted by. */
export interface Place extends Slice {
  readonly newest: string
}

export interface FileSpool extends Spool<Place> {
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
  let waiting: Waiting[] = []
  let alarm: NodeJS.Immediate | undefined
  let isOpen = true
  const flush = (): void => {
    clearImmediate(alarm)
    alarm = undefined
    const batch = waiting
    waiting = []
    // The number of a closed file may be another file's by now.
    if (isOpen) written(fd, batch, path)
  }
  return {
    append: (line, records) =>
      new Observable((subscriber) => {
        const { text, places, length } = lineOf(line, records, end)
        end += length
        waiting.push({
          text,
          done: () => {
            subscriber.next(places)
            subscriber.complete()
          },
          fail: (error) => subscriber.error(error),
        })
        alarm ??= setImmediate(flush)
      }),
    *read(places) {
      if (!isOpen) throw new Error(`${path} is closed`)
      yield* readSlices({ fd, path }, places)
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

interface PlacedLine {
  readonly text: string
  /** In bytes. */
  readonly length: number
  readonly places: readonly Place[]
}

/** The text of a line with its records in it, and where in the file they lie if it begins at `start`. */
const lineOf = (line: object, records: readonly Written[] | undefined, start: number): PlacedLine => {
  const head = JSON.stringify(line)
  if (records === undefined) return { text: `${head}\n`, length: Buffer.byteLength(head) + 1, places: [] }
  const before = `${head.slice(0, -1)},"rows":[`
  let at = start + Buffer.byteLength(before)
  const places = records.map(({ text, newest }) => {
    const place = { at, length: Buffer.byteLength(text), newest }
    at += place.length + 1
    return place
  })
  const last = records.length === 0 ? at : at - 1
  return { text: `${before}${records.map(({ text }) => text).join(',')}]}\n`, length: last + 3 - start, places }
}
