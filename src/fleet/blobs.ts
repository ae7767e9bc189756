import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { lstat, mkdir, opendir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isRemoteFolder } from '../storage/file-system.js'
import { ignoreError } from './ignore-error.js'

/** The shared folder of a fleet, for data that is too large for Redis. */
export interface BlobStore {
  readonly toFolder: (run: string) => string
  /** Writes or replaces a file atomically; other machines see it before the promise resolves. */
  readonly write: (file: string, bytes: Uint8Array, mode?: number) => Promise<void>
  readonly read: (file: string) => Promise<Buffer>
  /** Removes a run with all its files. */
  readonly removeRun: (run: string) => Promise<void>
}

export const createBlobStore = (folder: string): BlobStore => {
  const root = resolve(folder)
  const made = new Set<string>()
  /** Undefined while the folder cannot be read, for example because it does not exist yet. */
  let isNetwork: boolean | undefined
  // A synchronous call costs a tenth of one in the thread pool. On a network file system it could block the event loop.
  const runSyncIfLocal = async <T>(runSync: () => T, runAsync: () => Promise<T>): Promise<T> => {
    isNetwork ??= isRemoteFolder(root)
    return isNetwork === false ? runSync() : runAsync()
  }
  return {
    toFolder: (run) => join(root, run),
    write: async (file, bytes, mode = 0o666) => {
      const path = join(root, file)
      if (!made.has(dirname(path))) await mkdir(dirname(path), { recursive: true })
      made.add(dirname(path))
      const temporary = join(dirname(path), `.${randomUUID()}.tmp`)
      try {
        await runSyncIfLocal(
          () => {
            writeFileSync(temporary, bytes, { flag: 'wx', mode })
            renameSync(temporary, path)
          },
          async () => {
            await writeFile(temporary, bytes, { flag: 'wx', mode })
            await rename(temporary, path)
          },
        )
      } catch (error) {
        // Another process may have removed the folder meanwhile.
        made.delete(dirname(path))
        await rm(temporary, { force: true })
        throw error
      }
    },
    read: (file) => {
      const path = join(root, file)
      return runSyncIfLocal(
        () => readFileSync(path),
        () => readFile(path),
      )
    },
    removeRun: async (run) => {
      const path = join(root, run)
      // The run id comes from Redis: a wrong one must not remove anything outside of the shared folder.
      if (dirname(path) === root) await removeFolder(path)
    },
  }
}

const MAX_PARALLEL_REMOVALS = 64
/** A file that another machine has open or has just written can make a removal fail for a moment. */
const REMOVE_OPTIONS = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const

/** Removes a folder, a batch of files at a time: a recursive `rm` alone keeps the names of all files in memory. */
const removeFolder = async (folder: string): Promise<void> => {
  // If the folder cannot be read, the removal at the end reports the error.
  if ((await lstat(folder).catch(ignoreError(`look up ${folder}`)))?.isDirectory()) {
    const batch: (() => Promise<void>)[] = []
    const removeBatch = (): Promise<unknown> => Promise.all(batch.splice(0).map((remove) => remove()))
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      batch.push(() => (entry.isDirectory() ? removeFolder(path) : rm(path, { force: true })))
      if (batch.length === MAX_PARALLEL_REMOVALS) await removeBatch()
    }
    await removeBatch()
  }
  await rm(folder, REMOVE_OPTIONS)
}
