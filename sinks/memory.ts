import {
  concat,
  concatMap,
  defer,
  EMPTY,
  from,
  identity,
  ignoreElements,
  NEVER,
  type Observable,
  of,
} from 'rxjs'
import type { Output } from '../src/engine/define-stream.js'
import type { Journal, JournalFacts, LockedStorage, Storage } from '../src/engine/storage.js'
import { type PublicOutcome, toPublicOutcome } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import { createJournal, type LineStore } from '../src/storage/journal.js'
import { createTail, parseRecords } from '../src/storage/record-file.js'
import { createStorage } from './create-storage.js'

/** The written files by path: text, and the instant for which it is valid (epoch milliseconds). */
export type MemoryFiles = Map<string, { readonly text: string; readonly asOf?: number }>

/**
 * Stores outputs in memory, synchronously: for tests on virtual time and for embedding.
 *
 * @example
 * const files: MemoryFiles = new Map()
 * createCollector({ settings, storage: memory(files) }).run().subscribe(() => console.log(files.get('all_indices.json')?.text))
 */
export const memory = (files: MemoryFiles = new Map()): Storage => {
  const records = (file: string): Observable<Row> =>
    defer(() => from(parseRecords(files.get(file)?.text ?? '[]', file)))
  return createStorage({
    read: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && Buffer.from(stored.text))
      }),
    exists: (file) => defer(() => of(files.has(file))),
    list: (path) =>
      defer(() => {
        const own = [...files.keys()].filter((file) => file.startsWith(`${path}/`))
        return of(own.map((file) => file.slice(path.length + 1)))
      }),
    records,
    owners: records,
    tail: (file) =>
      defer(() => {
        const stored = files.get(file)
        return of(stored && createTail({ head: stored.text, end: stored.text, asOf: stored.asOf ?? 0 }))
      }),
    write: (file, parts, asOf) =>
      defer(() => {
        const text = Buffer.concat(
          Array.from(parts, (part) => (typeof part === 'string' ? Buffer.from(part) : part)),
        ).toString()
        if (files.get(file)?.text !== text) files.set(file, { text, ...(asOf === undefined ? {} : { asOf }) })
        return of(Buffer.byteLength(text))
      }),
    move: (from, to) =>
      defer(() => {
        const stored = files.get(from)
        if (stored && files.delete(from)) files.set(to, stored)
        return of(undefined)
      }),
    openSession: memorySession,
  })
}

/** Creates sessions that leave nothing, so no run can be resumed. */
const createOpenSession =
  (toJournal: (facts: JournalFacts) => Journal): Storage['openSession'] =>
  ({ streams }) => {
    const begin: LockedStorage['begin'] = ({ record }) =>
      defer(() => {
        const journals = new Map(streams.map((facts) => [facts.stream, toJournal(facts)]))
        return of({ record, isContinued: false, journals, finish: () => of(undefined) })
      })
    return concat(of({ begin }), NEVER)
  }

const linesInMemory: LineStore<readonly string[]> = {
  append: (_, records, done) => {
    done()
    return records ?? []
  },
  read: (records) => (index) => records[index] as string,
}

/** A session whose journals are in memory. */
export const memorySession: Storage['openSession'] = /* @__PURE__ */ createOpenSession((facts) =>
  createJournal(facts, linesInMemory),
)

/**
 * Stores nothing: calls `pass` with the items of one output, one after the other. An item counts as stored
 * when the returned Observable completes, so a slow consumer slows down the requests.
 *
 * @example createCollector({ settings, storage: callbackStorage(marketNews.outputs[0], ({ item, rows }) => defer(() => insert(item.key, rows))) })
 */
export const callbackStorage = (
  wanted: Output | undefined,
  pass: (item: PublicOutcome) => Observable<unknown>,
): Storage => ({
  stored: {
    exists: () => of(false),
    tail: () => of(undefined),
    text: () => of(undefined),
    document: () => of(undefined),
  },
  openSession: createOpenSession(() => noopJournal),
  open: (output) =>
    concatMap((item) => {
      const { outcome } = item
      const passed$ = output === wanted ? pass(toPublicOutcome(outcome)) : EMPTY
      return concat(passed$.pipe(ignoreElements()), of(item))
    }),
  storeDocument: () => of(undefined),
})

/** Records nothing: the records of a whole market would fill the memory. */
const noopJournal: Journal = {
  findStored: () => undefined,
  write: identity,
  carryOver: identity,
  takeRecords: () => [],
}
