import { access, open, readFile } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { catchError, defer, EMPTY, from, Observable, of, throwError } from 'rxjs'
import { StorageError } from '../src/model/errors.js'
import type { Storage, Tail } from '../src/pipeline/storage.js'
import { writeWhole } from './atomic-file.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { folderSession } from './folder-session.js'
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
  return storageOver({
    read: (file) => reading(pathOf(file), (path) => readFile(path, 'utf8'), undefined),
    exists: (file) => reading(pathOf(file), (path) => access(path).then(() => true), false),
    records: (file) =>
      defer(() => from(recordsIn(pathOf(file), file))).pipe(
        catchError((error: unknown) =>
          codeOf(error) === 'ENOENT' ? EMPTY : throwError(() => storageErrorOf(error, 'read', pathOf(file))),
        ),
      ),
    tail: (file) => reading(pathOf(file), tailOf, undefined),
    write: (file, parts, asOf) => guarded('written', pathOf(file), (path, signal) => writeWhole(path, parts, { asOf, signal })),
    begin: (beginning) => folderSession(root, beginning),
  })
}

type Act<T> = (path: string, signal: AbortSignal) => Promise<T>

/** Acts on subscription; unsubscribing tells the act, which then leaves things as they were. */
const guarded = <T>(what: 'read' | 'written', path: string, act: Act<T>): Observable<T> =>
  new Observable((subscriber) => {
    const abort = new AbortController()
    let isOver = false
    act(path, abort.signal)
      .finally(() => {
        isOver = true
      })
      .then(
        (value) => {
          subscriber.next(value)
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(storageErrorOf(error, what, path)),
      )
    return () => {
      if (!isOver) abort.abort()
    }
  })

const reading = <T>(path: string, act: (path: string) => Promise<T>, missing: T): Observable<T> =>
  guarded('read', path, act).pipe(
    catchError((error: unknown) => (codeOf((error as Error).cause) === 'ENOENT' ? of(missing) : throwError(() => error))),
  )

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
