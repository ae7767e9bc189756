import { randomUUID } from 'node:crypto'
import * as files from 'node:fs'
import { lstat, mkdir, opendir, rm, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileCalls } from '../../sinks/file-calls.js'
import { candlesIn } from '../model/candle.js'
import type { RowList } from '../model/outcome.js'

/** Magic numbers (statfs(2)) of network file systems and FUSE: NFS, SMB2, CIFS, FUSE, 9P, Ceph. */
const FAR = new Set([0x6969, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0x00c36400])

/** Whether a folder is on a network file system; undefined if it cannot be read. */
const isNetworkFileSystem = (folder: string): Promise<boolean | undefined> =>
  statfs(folder).then(
    ({ type }) => FAR.has(type),
    () => undefined,
  )

/** The shared folder of a fleet, for data that is too large for Redis. */
export interface Blobs {
  readonly folderOf: (run: string) => string
  /** Writes or replaces a file atomically; other machines see it before the promise resolves. */
  readonly write: (file: string, bytes: Uint8Array, mode?: number) => Promise<void>
  readonly read: (file: string) => Promise<Buffer>
  /** Removes a run with all its files. */
  readonly drop: (run: string) => Promise<void>
}

export const blobsIn = (folder: string): Blobs => {
  const root = resolve(folder)
  const made = new Set<string>()
  let isNetwork: boolean | undefined
  // A synchronous call costs a tenth of one in the thread pool. On a network file system it could block the event loop.
  const act = async <T>(runSync: () => T, runAsync: () => Promise<T>): Promise<T> => {
    isNetwork ??= await isNetworkFileSystem(root)
    return isNetwork === false ? runSync() : runAsync()
  }
  return {
    folderOf: (run) => join(root, run),
    write: async (file, bytes, mode = 0o666) => {
      const path = join(root, file)
      if (!made.has(dirname(path))) await mkdir(dirname(path), { recursive: true })
      made.add(dirname(path))
      const temporary = join(dirname(path), `.${randomUUID()}.tmp`)
      try {
        await act(
          () => {
            files.writeFileSync(temporary, bytes, { flag: 'wx', mode })
            files.renameSync(temporary, path)
          },
          async () => {
            await fileCalls.write(temporary, bytes, { flag: 'wx', mode })
            await fileCalls.rename(temporary, path)
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
      return act(
        () => files.readFileSync(path),
        () => fileCalls.read(path),
      )
    },
    drop: async (run) => {
      const path = join(root, run)
      // The run id comes from Redis: a wrong one must not remove anything outside of the shared folder.
      if (dirname(path) === root) await emptied(path)
    },
  }
}

/** The format of the rows in a blob. */
export type Form = 'csv' | 'json'

/** Encodes rows: as CSV lines if they have them already, else as JSON. */
export const packed = (rows: RowList): { readonly form: Form; readonly bytes: Uint8Array } =>
  rows.csv ? { form: 'csv', bytes: rows.csv } : { form: 'json', bytes: Buffer.from(JSON.stringify([...rows])) }

/**
 * Decodes the rows of a blob.
 * @throws Error if their number is not `length`
 */
export const unpacked = (bytes: Buffer, form: Form, length: number): RowList => {
  const rows = form === 'csv' ? candlesIn(bytes, length) : (JSON.parse(bytes.toString()) as readonly unknown[])
  if (rows.length !== length) throw new Error(`the file has ${rows.length} rows instead of ${length}`)
  return rows
}

const DROPPED_AT_ONCE = 64
/** A file that another machine has open or has just written can make a removal fail for a moment. */
const PATIENTLY = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const

/** Removes a folder, a batch of files at a time: a recursive `rm` alone keeps the names of all files in memory. */
const emptied = async (folder: string): Promise<void> => {
  // If `lstat` fails, the removal at the end reports the error.
  if ((await lstat(folder).catch(() => undefined))?.isDirectory()) {
    const batch: (() => Promise<void>)[] = []
    const removeBatch = (): Promise<unknown> => Promise.all(batch.splice(0).map((remove) => remove()))
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      batch.push(() => (entry.isDirectory() ? emptied(path) : rm(path, { force: true })))
      if (batch.length === DROPPED_AT_ONCE) await removeBatch()
    }
    await removeBatch()
  }
  await rm(folder, PATIENTLY)
}
