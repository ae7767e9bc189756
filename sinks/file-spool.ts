import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Observable } from 'rxjs'
import { storageErrorOf } from './file-error.js'
import type { Spool } from './journal-over.js'

/** Where a record lies in its file, in bytes. */
export interface Slice {
  readonly at: number
  readonly length: number
}

export interface FileSpool extends Spool<Slice> {
  readonly close: () => Promise<void>
}

interface Waiting {
  readonly bytes: Buffer
  readonly done: () => void
  readonly fail: (error: unknown) => void
}

/**
 * Lines of JSON in a new file. Lines that come while others are being written are written together. A line is not made by the `ndjson`
 * package, which reads them: where each record lies in it must be known.
 */
export const openSpool = async (path: string): Promise<FileSpool> => {
  const handle = await open(path, 'w+')
  let end = 0
  let waiting: Waiting[] = []
  let isWriting = false
  const write = async (): Promise<void> => {
    isWriting = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await written(handle, batch, path)
    }
    isWriting = false
  }
  return {
    append: (line, records) =>
      new Observable((subscriber) => {
        const { text, slices } = lineOf(line, records)
        const start = end
        const bytes = Buffer.from(text)
        end += bytes.length
        waiting.push({
          bytes,
          done: () => {
            subscriber.next(slices.map(({ at, length }) => ({ at: start + at, length })))
            subscriber.complete()
          },
          fail: (error) => subscriber.error(error),
        })
        if (!isWriting) void write()
      }),
    textAt: ({ at, length }) => {
      const buffer = Buffer.allocUnsafe(length)
      for (let read = 0; read < length; ) {
        const more = readSync(handle.fd, buffer, read, length - read, at + read)
        if (more === 0) throw new Error(`${path} is shorter than what was written to it`)
        read += more
      }
      return buffer.toString('utf8')
    },
    close: () => handle.close(),
  }
}

const written = async (handle: FileHandle, batch: readonly Waiting[], path: string): Promise<void> => {
  try {
    await handle.appendFile(Buffer.concat(batch.map(({ bytes }) => bytes)))
    for (const { done } of batch) done()
  } catch (error) {
    for (const { fail } of batch) fail(storageErrorOf(error, 'written', path))
  }
}

/** The text of a line with its records in it, and where in it they lie. */
const lineOf = (line: object, records: readonly string[] | undefined): { readonly text: string; readonly slices: readonly Slice[] } => {
  const head = JSON.stringify(line)
  if (records === undefined) return { text: `${head}\n`, slices: [] }
  const before = `${head.slice(0, -1)},"rows":[`
  let at = Buffer.byteLength(before)
  const slices = records.map((record) => {
    const slice = { at, length: Buffer.byteLength(record) }
    at += slice.length + 1
    return slice
  })
  return { text: `${before}${records.join(',')}]}\n`, slices }
}
