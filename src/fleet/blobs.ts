import { randomUUID } from 'node:crypto'
import * as files from 'node:fs'
import { lstat, mkdir, opendir, rm, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileCalls } from '../../sinks/file-calls.js'
import { candlesIn } from '../model/candle.js'
import type { RowList } from '../model/outcome.js'

/** File systems of other machines, or of other programs, by the numbers that Linux has for them: NFS, SMB, CIFS, FUSE, 9P, Ceph. */
const FAR = new Set([0x6969, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0x00c36400])

/**
 * Does something at once where the folder is on a disk of this machine: to hand it to another thread costs ten times as much. What is
 * across a network is never waited for: it may be away.
 */
const nearOrFar = (root: string) => {
  let isNear: boolean | undefined
  return async <T>(now: () => T, later: () => Promise<T>): Promise<T> => {
    isNear ??= await statfs(root).then(
      ({ type }) => !FAR.has(type),
      () => undefined,
    )
    return isNear ? now() : later()
  }
}

/** Where a fleet leaves what is too large for its queue: a folder that all its machines share. */
export interface Blobs {
  readonly folderOf: (run: string) => string
  /** Puts a file in its place at once as a whole, over an earlier one; other machines see it before the promise resolves. */
  readonly write: (file: string, bytes: Uint8Array, mode?: number) => Promise<void>
  readonly read: (file: string) => Promise<Buffer>
  /** Takes away a run and all that lies with it. */
  readonly drop: (run: string) => Promise<void>
}

export const blobsIn = (folder: string): Blobs => {
  const root = resolve(folder)
  const made = new Set<string>()
  const act = nearOrFar(root)
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
        // Someone may have cleared the folder away meanwhile.
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
      // Which run there was before is a word of the server's: nothing beside the folder is taken away for it.
      if (dirname(path) === root) await emptied(path)
    },
  }
}

/** In which way rows lie in a blob. */
export type Form = 'csv' | 'json'

/** Rows as bytes: lines of CSV where they are such already. */
export const packed = (rows: RowList): { readonly form: Form; readonly bytes: Uint8Array } =>
  rows.csv ? { form: 'csv', bytes: rows.csv } : { form: 'json', bytes: Buffer.from(JSON.stringify([...rows])) }

/** The rows in a blob; errors if there are not as many as there must be. */
export const unpacked = (bytes: Buffer, form: Form, length: number): RowList => {
  const rows = form === 'csv' ? candlesIn(bytes, length) : (JSON.parse(bytes.toString()) as readonly unknown[])
  if (rows.length !== length) throw new Error(`it holds ${rows.length} rows instead of ${length}`)
  return rows
}

const DROPPED_AT_ONCE = 64
/** What another machine has open, or has just written, may stand in the way for a moment. */
const PATIENTLY = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const

/** Takes away a folder with all that is in it, some files at a time: what takes it as a whole holds the names of all of them. */
const emptied = async (folder: string): Promise<void> => {
  // What cannot be looked at, the removal at the end tells of.
  if ((await lstat(folder).catch(() => undefined))?.isDirectory()) {
    const some: (() => Promise<void>)[] = []
    const drop = (): Promise<unknown> => Promise.all(some.splice(0).map((remove) => remove()))
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      some.push(() => (entry.isDirectory() ? emptied(path) : rm(path, { force: true })))
      if (some.length === DROPPED_AT_ONCE) await drop()
    }
    await drop()
  }
  await rm(folder, PATIENTLY)
}
