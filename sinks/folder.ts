import { resolve, sep } from 'node:path'
import { catchError, defer, EMPTY, from, map, mergeAll, Observable, of, throwError } from 'rxjs'
import { PREVIOUS_FOLDER, type Storage, type Tail } from '../src/engine/storage.js'
import { StorageError } from '../src/model/errors.js'
import type { Row } from '../src/model/row.js'
import { disk } from '../src/storage/disk.js'
import {
  appendLine,
  type FileChunk,
  getErrorCode,
  isRemoteFolder,
  renameOver,
  statFile,
  toStorageError,
  withFileSync,
  writeFileAtomically,
} from '../src/storage/file-system.js'
import { openFolderSession } from '../src/storage/folder-session.js'
import { createDigestLog } from '../src/storage/output-files.js'
import { createTail, parseOwners, readRecords } from '../src/storage/record-file.js'
import { readSessionDays } from '../src/storage/session-days.js'
import { createStorage } from './create-storage.js'

const TAIL_BYTES = 1_024

/**
 * Stores outputs as files in a folder, which is created with the first file.
 *
 * @example createCollector({ settings, storage: folder('./data') })
 */
export const folder = (out: string): Storage => {
  const root = resolve(out)
  const pathOf = (file: string): string => {
    const path = resolve(root, file)
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep))
      throw new StorageError(`${JSON.stringify(file)} is outside ${root}`)
    return path
  }
  const digests = createDigestLog(root)
  let isRemote: boolean | undefined
  const read = <T>(file: string, act: (path: string) => T): Observable<T | undefined> =>
    defer(() => of(readIfPresent(pathOf(file), act)))
  // Unsubscribing aborts the write, which then leaves the file unchanged.
  const write = (
    file: string,
    parts: Iterable<FileChunk>,
    asOf?: number,
    base?: Uint8Array,
  ): Observable<number> =>
    new Observable((subscriber) => {
      const path = pathOf(file)
      const isAborted = (): boolean => subscriber.closed
      isRemote ??= isRemoteFolder(root)
      const writing = { asOf, watcher: digests.watch(file, base), isAborted, isRemote: isRemote ?? false }
      writeFileAtomically(path, parts, writing).then(
        (bytes) => {
          subscriber.next(bytes)
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(toStorageError(error, 'written', path)),
      )
    })
  const records = (file: string, parse?: typeof parseOwners): Observable<Row> =>
    defer(() => from(readRecords(pathOf(file), file, parse))).pipe(
      mergeAll(),
      catchError((error: unknown) =>
        getErrorCode(error) === 'ENOENT'
          ? EMPTY
          : throwError(() => toStorageError(error, 'read', pathOf(file))),
      ),
    )
  const storage = createStorage({
    read: (file) => read(file, (path) => disk.readFileSync(path)),
    exists: (file) => read(file, () => true).pipe(map((found) => found !== undefined)),
    list: (path) => read(path, (place) => disk.readdirSync(place)).pipe(map((names = []) => names)),
    records: (file) => records(file),
    owners: (file) => records(file, parseOwners),
    tail: (file) => read(file, readTail),
    write,
    keep: digests.renew,
    move: moveFile(pathOf, digests.renew),
    append: (file, line) => defer(() => from(appendLine(pathOf(file), line))),
    openSession: (request) => openFolderSession(root, digests, request),
  })
  return { ...storage, readSessionDays: (evidence) => defer(() => readSessionDays(root, evidence)) }
}

/** Moves the saved output too: `diff` and the days on which records were first seen go by the name. */
const moveFile =
  (pathOf: (file: string) => string, renew: (file: string) => void) =>
  (from: string, to: string): Observable<void> =>
    defer(async () => {
      for (const place of ['.', PREVIOUS_FOLDER]) {
        const [path, target] = [from, to].map((file) => pathOf(`${place}/${file}`))
        if (path && target && statFile(path)) await renameOver(path, target)
      }
      renew(to)
    }).pipe(catchError((error: unknown) => throwError(() => toStorageError(error, 'written', pathOf(to)))))

/**
 * Reads a file; `undefined` if it is missing. Synchronous: a file of the previous daily run in the page cache
 * takes a few microseconds this way and ten times as long in another thread. An uncached file takes less time
 * than the sync of the file that replaces it.
 */
const readIfPresent = <T>(path: string, read: (path: string) => T): T | undefined => {
  try {
    return disk.statSync(path, { throwIfNoEntry: false }) && read(path)
  } catch (error) {
    throw toStorageError(error, 'read', path)
  }
}

const readTail = (path: string): Tail =>
  withFileSync(path, (fd) => {
    const { size, mtimeMs } = disk.fstatSync(fd)
    const readFrom = (position: number): string => {
      const buffer = Buffer.alloc(TAIL_BYTES)
      return buffer.toString('utf8', 0, disk.readSync(fd, buffer, 0, TAIL_BYTES, position))
    }
    const head = readFrom(0)
    return createTail({
      head,
      end: size > TAIL_BYTES ? readFrom(size - TAIL_BYTES) : head,
      asOf: Math.round(mtimeMs),
    })
  })
