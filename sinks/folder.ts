import { access, open, readFile } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { catchError, defer, EMPTY, from, Observable, of, tap, throwError } from 'rxjs'
import { StorageError } from '../src/model/errors.js'
import type { Storage, Tail } from '../src/pipeline/storage.js'
import { type Aborted, writeWhole } from './atomic-file.js'
import { codeOf, storageErrorOf } from './file-error.js'
import type { Part } from './files.js'
import { folderSession } from './folder-session.js'
import { knownNames } from './known-names.js'
import { storageOver } from './storage-over.js'
import { recordsIn } from './stored-records.js'
import { tailFrom } from './tail-from.js'

const TAIL_BYTES = 1_024

/** Outputs as files below a folder, which is made when the first one is written. */
export const folder = (out: string): Storage => {
  const root = resolve(out)
  const pathOf = (file: string): string => {
    const path = resolve(root, file)
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) throw new StorageError(`${JSON.stringify(file)} lies outside ${root}`)
    return path
  }
  const names = knownNames()
  const reading = <T>(file: string, act: (path: string) => Promise<T>, missing: T): Observable<T> =>
    defer(() => {
      const path = pathOf(file)
      return names.lack(path) ? of(missing) : unlessMissing(guarded('read', path, act), missing)
    })
  const writing = (file: string, parts: Iterable<Part>, asOf: number | undefined): Observable<number> =>
    defer(() => {
      const path = pathOf(file)
      return guarded('written', path, (_, signal) => writeWhole(path, parts, { asOf, signal, isNew: names.lack(path) })).pipe(
        tap(() => names.add(path)),
      )
    })
  return storageOver({
    read: (file) => reading(file, (path) => readFile(path, 'utf8'), undefined),
    exists: (file) => reading(file, (path) => access(path).then(() => true), false),
    records: (file) =>
      defer(() => from(recordsIn(pathOf(file), file))).pipe(
        catchError((error: unknown) =>
          codeOf(error) === 'ENOENT' ? EMPTY : throwError(() => storageErrorOf(error, 'read', pathOf(file))),
        ),
      ),
    tail: (file) => reading(file, tailOf, undefined),
    write: writing,
    begin: (beginning) => folderSession(root, names, beginning),
  })
}

type Act<T> = (path: string, signal: Aborted) => Promise<T>

/** Acts on subscription; unsubscribing tells the act, which then leaves things as they were. */
const guarded = <T>(what: 'read' | 'written', path: string, act: Act<T>): Observable<T> =>
  new Observable((subscriber) => {
    act(path, {
      get aborted() {
        return subscriber.closed
      },
    }).then(
      (value) => {
        subscriber.next(value)
        subscriber.complete()
      },
      (error: unknown) => subscriber.error(storageErrorOf(error, what, path)),
    )
  })

const unlessMissing = <T>(read$: Observable<T>, missing: T): Observable<T> =>
  read$.pipe(catchError((error: unknown) => (codeOf((error as Error).cause) === 'ENOENT' ? of(missing) : throwError(() => error))))

const tailOf = async (path: string): Promise<Tail> => {
  const handle = await open(path, 'r')
  try {
    const { size, mtimeMs } = await handle.stat()
    const part = async (from: number): Promise<string> => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from)
      return buffer.toString('utf8', 0, bytesRead)
    }
    const head = await part(0)
    return tailFrom({ head, end: size > TAIL_BYTES ? await part(size - TAIL_BYTES) : head, asOf: Math.round(mtimeMs) })
  } finally {
    await handle.close()
  }
}
