import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { catchError, defer, EMPTY, from, map, mergeAll, Observable, of, tap, throwError } from 'rxjs'
import { StorageError } from '../src/model/errors.js'
import type { Row } from '../src/model/row.js'
import type { Storage, Tail } from '../src/pipeline/storage.js'
import { writeWhole } from './atomic-file.js'
import { codeOf, storageErrorOf } from './file-error.js'
import type { Part } from './files.js'
import { folderSession } from './folder-session.js'
import { knownNames } from './known-names.js'
import { storageOver } from './storage-over.js'
import { ownerIn, recordsIn } from './stored-records.js'
import { tailFrom } from './tail-from.js'

const TAIL_BYTES = 1_024

/** Stores outputs as files in a folder, which is created with the first file. */
export const folder = (out: string): Storage => {
  const root = resolve(out)
  const pathOf = (file: string): string => {
    const path = resolve(root, file)
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) throw new StorageError(`${JSON.stringify(file)} is outside ${root}`)
    return path
  }
  const names = knownNames()
  const read = <T>(file: string, act: (path: string) => T): Observable<T | undefined> =>
    defer(() => {
      const path = pathOf(file)
      return of(names.lack(path) ? undefined : unlessMissing(path, act))
    })
  const write = (file: string, parts: Iterable<Part>, asOf: number | undefined): Observable<number> =>
    defer(() => {
      const path = pathOf(file)
      return writingTo(path, (isAborted) => writeWhole(path, parts, { asOf, isAborted, isNew: names.lack(path) })).pipe(
        tap(() => names.add(path)),
      )
    })
  const records = (file: string, readLine?: typeof ownerIn): Observable<Row> =>
    defer(() => from(recordsIn(pathOf(file), file, readLine))).pipe(
      mergeAll(),
      catchError((error: unknown) => (codeOf(error) === 'ENOENT' ? EMPTY : throwError(() => storageErrorOf(error, 'read', pathOf(file))))),
    )
  return storageOver({
    read: (file) => read(file, (path) => readFileSync(path)),
    exists: (file) => read(file, statSync).pipe(map((found) => found !== undefined)),
    records: (file) => records(file),
    owners: (file) => records(file, ownerIn),
    tail: (file) => read(file, tailOf),
    write,
    begin: (request) => folderSession(root, names, request),
  })
}

/** Writes on subscription. Unsubscribing aborts the write, which then leaves the file unchanged. */
const writingTo = (path: string, write: (isAborted: () => boolean) => Promise<number>): Observable<number> =>
  new Observable((subscriber) => {
    write(() => subscriber.closed).then(
      (bytes) => {
        subscriber.next(bytes)
        subscriber.complete()
      },
      (error: unknown) => subscriber.error(storageErrorOf(error, 'written', path)),
    )
  })

/**
 * Reads a file; `undefined` if it is missing. Synchronous: a file of the previous daily run in the page cache takes a few microseconds this
 * way and ten times as long in another thread. An uncached file takes less time than the sync of the file that replaces it.
 */
const unlessMissing = <T>(path: string, read: (path: string) => T): T | undefined => {
  try {
    return read(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw storageErrorOf(error, 'read', path)
  }
}

const tailOf = (path: string): Tail => {
  const fd = openSync(path, 'r')
  try {
    const { size, mtimeMs } = fstatSync(fd)
    const readFrom = (position: number): string => {
      const buffer = Buffer.alloc(TAIL_BYTES)
      return buffer.toString('utf8', 0, readSync(fd, buffer, 0, TAIL_BYTES, position))
    }
    const head = readFrom(0)
    return tailFrom({ head, end: size > TAIL_BYTES ? readFrom(size - TAIL_BYTES) : head, asOf: Math.round(mtimeMs) })
  } finally {
    closeSync(fd)
  }
}
