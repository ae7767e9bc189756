import { defer, from, of } from 'rxjs'
import type { Storage } from '../src/pipeline/storage.js'
import { memorySession } from './memory-session.js'
import { storageOver } from './storage-over.js'
import { recordsOf } from './stored-records.js'
import { tailFrom } from './tail-from.js'

/** What was written: the text of every file by its path, and the instant as of which it was written (epoch milliseconds). */
export type MemoryFiles = Map<string, { readonly text: string; readonly asOf?: number }>

/** Outputs in memory, all at once and without a promise: for tests on virtual time and for embedding. */
export const memory = (files: MemoryFiles = new Map()): Storage =>
  storageOver({
    read: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && Buffer.from(stored.text))
      }),
    exists: (file) => defer(() => of(files.has(file))),
    records: (file) => defer(() => from(recordsOf(files.get(file)?.text ?? '[]', file))),
    tail: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && tailFrom({ head: stored.text, end: stored.text, asOf: stored.asOf ?? 0 }))
      }),
    write: (file, parts, asOf) =>
      defer(() => {
        const text = Buffer.concat([...parts].map((part) => (typeof part === 'string' ? Buffer.from(part) : part))).toString()
        if (files.get(file)?.text !== text) files.set(file, { text, ...(asOf === undefined ? {} : { asOf }) })
        return of(Buffer.byteLength(text))
      }),
    begin: memorySession,
  })
