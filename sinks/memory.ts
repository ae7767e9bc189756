import { defer, from, type Observable, of } from 'rxjs'
import type { Row } from '../src/model/row.js'
import type { Storage } from '../src/pipeline/storage.js'
import { createTail } from '../src/storage/create-tail.js'
import { memorySession } from '../src/storage/memory-session.js'
import { parseRecords } from '../src/storage/stored-records.js'
import { createStorage } from './create-storage.js'

/** The written files by path: text, and the instant for which it is valid (epoch milliseconds). */
export type MemoryFiles = Map<string, { readonly text: string; readonly asOf?: number }>

/** Stores outputs in memory, synchronously: for tests on virtual time and for embedding. */
export const memory = (files: MemoryFiles = new Map()): Storage => {
  const records = (file: string): Observable<Row> => defer(() => from(parseRecords(files.get(file)?.text ?? '[]', file)))
  return createStorage({
    read: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && Buffer.from(stored.text))
      }),
    exists: (file) => defer(() => of(files.has(file))),
    records,
    owners: records,
    tail: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && createTail({ head: stored.text, end: stored.text, asOf: stored.asOf ?? 0 }))
      }),
    write: (file, parts, asOf) =>
      defer(() => {
        // Copy each chunk at once: the buffer of a large one may be reused for the next.
        const text = Buffer.concat(
          Array.from(parts, (part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
        ).toString()
        if (files.get(file)?.text !== text) files.set(file, { text, ...(asOf === undefined ? {} : { asOf }) })
        return of(Buffer.byteLength(text))
      }),
    begin: memorySession,
  })
}
