import { randomUUID } from 'node:crypto'
import * as files from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { candlesIn } from '../model/candle.js'
import type { RowList } from '../model/outcome.js'

// A file of some hundred bytes costs a third of what it does with handles.
const readLater = promisify(files.readFile)
const writeLater = promisify(files.writeFile)
const renameLater = promisify(files.rename)

/** So many first reads and writes show whether the folder is near. */
const LOOKS = 8
const NEAR_MS = 1

/**
 * Does something at once where the folder is on a disk of this machine: to hand it to another thread costs ten times as much. One across a
 * network is not waited for. The quickest of the first few tells: the others may have been held up.
 */
const nearOrFar = () => {
  let looks = 0
  let quickest = Number.POSITIVE_INFINITY
  return async <T>(now: () => T, later: () => Promise<T>): Promise<T> => {
    if (looks >= LOOKS) return quickest < NEAR_MS ? now() : later()
    const from = performance.now()
    const result = now()
    looks += 1
    quickest = Math.min(quickest, performance.now() - from)
    return result
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
  const act = nearOrFar()
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
            await writeLater(temporary, bytes, { flag: 'wx', mode })
            await renameLater(temporary, path)
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
        () => readLater(path),
      )
    },
    drop: (run) => rm(join(root, run), { recursive: true, force: true }),
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
