import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { lstat, mkdir, opendir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createCsvCandles } from '../market/candle-file.js'
import type { Item, ItemOutcome, RowList } from '../model/outcome.js'
import type { Drift } from '../model/report.js'
import { isRemoteFolder } from '../storage/file-system.js'
import { ignoreError } from './ignore-error.js'

/** The shared folder of a fleet, for data that is too large for Redis. */
export type BlobStore = ReturnType<typeof createBlobStore>

export const createBlobStore = (folder: string) => {
  const root = resolve(folder)
  const made = new Set<string>()
  /** Undefined while the folder cannot be read, for example because it does not exist yet. */
  let isNetwork: boolean | undefined
  // A synchronous call costs a tenth of one in the thread pool. On a network file system it could block the
  // event loop.
  const runSyncIfLocal = async <T>(runSync: () => T, runAsync: () => Promise<T>): Promise<T> => {
    isNetwork ??= isRemoteFolder(root)
    return isNetwork === false ? runSync() : runAsync()
  }
  return {
    toFolder: (run: string) => join(root, run),
    /** Writes or replaces a file atomically; other machines see it before the promise resolves. */
    write: async (file: string, bytes: Uint8Array, mode = 0o666) => {
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
    read: (file: string) => {
      const path = join(root, file)
      return runSyncIfLocal(
        () => readFileSync(path),
        () => readFile(path),
      )
    },
    removeRun: async (run: string) => {
      const path = join(root, run)
      // The run id comes from Redis: a wrong one must not remove anything outside of the shared folder.
      if (dirname(path) === root) await removeFolder(path)
    },
  }
}

const MAX_PARALLEL_REMOVALS = 64
/** A file that another machine has open or has just written can make a removal fail for a moment. */
const REMOVE_OPTIONS = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const

/**
 * Removes a folder, a batch of files at a time: a recursive `rm` alone keeps the names of all files in
 * memory.
 */
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

export interface ItemJobData {
  readonly run: string
  readonly item: Item
  /** The item failed for a temporary reason before, in this run. */
  readonly isSecondPass?: boolean
}

/** The requests of a worker since its last report: all requests, retries, and answers with 429. */
export type RequestCounts = readonly [requests: number, retries: number, rateLimited: number]

export const NO_REQUESTS: RequestCounts = [0, 0, 0]

export interface BlobFacts {
  readonly length: number
  readonly bytes: number
  readonly form: 'csv' | 'json'
}

/**
 * The outcome of an item as a worker reports it: its rows are in a blob, its error is left out, because it is
 * not data.
 */
export interface WorkerOutcome extends Omit<ItemOutcome, 'item' | 'rows' | 'error'> {
  /** The name of the worker. */
  readonly by: string
  readonly rows?: BlobFacts
  /** Absent if no request was made. */
  readonly requestCounts?: RequestCounts
  readonly warnings?: readonly string[]
  /** All drift that the worker has seen in the stream so far; absent if unchanged since its last report. */
  readonly drift?: readonly Drift[]
}

/**
 * The job id of an item. BullMQ refuses ids that are numbers or contain a colon. The second pass has
 * different ids, because the queue still stores the finished jobs and events of the first pass.
 */
export const toJobId = ({ item, isSecondPass }: Omit<ItemJobData, 'run'>): string =>
  `${isSecondPass ? 'again-' : 'i'}${encodeURIComponent(item.fileName)}`

/**
 * The name contains length and size: a worker that was stalled may write late, and must not overwrite
 * different rows of another worker.
 */
const toBlobFile = (stream: string, { run, item }: ItemJobData, { length, bytes }: BlobFacts): string =>
  `${run}/${stream}/${encodeURIComponent(item.fileName)}-${length}-${bytes}`

/** Writes the rows to a blob; returns the outcome without them. */
export const storeRows = async (
  stream: string,
  work: ItemJobData,
  { item: _, rows, error: __, ...rest }: ItemOutcome,
  blobs: BlobStore,
): Promise<Omit<WorkerOutcome, 'by' | 'requestCounts'>> => {
  if (rows.length === 0) return rest
  const { form, bytes } = encodeRows(rows)
  const facts: BlobFacts = { length: rows.length, bytes: bytes.length, form }
  await blobs.write(toBlobFile(stream, work, facts), bytes)
  return { ...rest, rows: facts }
}

/** The outcome of the item, with its rows from the blob. Missing or damaged rows make it an error. */
export const loadRows = async (
  stream: string,
  work: ItemJobData,
  outcome: WorkerOutcome,
  blobs: BlobStore,
): Promise<ItemOutcome> => {
  const { by: _, requestCounts: __, warnings: ___, drift: ____, rows, ...rest } = outcome
  const { item } = work
  if (rows === undefined) return { ...rest, item, rows: [] }
  try {
    const bytes = await blobs.read(toBlobFile(stream, work, rows))
    if (bytes.length !== rows.bytes)
      throw new Error(`the file has ${bytes.length} bytes instead of ${rows.bytes}`)
    return { ...rest, item, rows: decodeRows(bytes, rows.form, rows.length) }
  } catch (error) {
    return {
      item,
      status: 'error',
      rows: [],
      code: 'storage',
      reason: `cannot read the rows of worker ${outcome.by} from the shared folder: ${(error as Error).message}`,
    }
  }
}

/** Encodes rows: as CSV lines if they have them already, else as JSON. */
export const encodeRows = (
  rows: RowList,
): { readonly form: BlobFacts['form']; readonly bytes: Uint8Array } =>
  rows.csv
    ? { form: 'csv', bytes: rows.csv }
    : { form: 'json', bytes: Buffer.from(JSON.stringify([...rows])) }

/**
 * Decodes the rows of a blob.
 * @throws Error if their number is not `length`
 */
export const decodeRows = (bytes: Buffer, form: BlobFacts['form'], length: number): RowList => {
  const rows =
    form === 'csv' ? createCsvCandles(bytes, length) : (JSON.parse(bytes.toString()) as readonly unknown[])
  if (rows.length !== length) throw new Error(`the file has ${rows.length} rows instead of ${length}`)
  return rows
}
