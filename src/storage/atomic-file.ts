import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { asBuffer } from '../model/text.js'
import type { FileStats } from './disk.js'
import { disk } from './disk.js'
import type { FileChunk } from './file-store.js'
import { createFolder, getErrorCode, listNames, renameOver, statFile, writeWhole } from './file-system.js'
import { isPendingLock } from './lock.js'
import type { FileStamp } from './output-files.js'

/** Files are written and compared in chunks of at least this size. */
const CHUNK_BYTES = 1 << 20

/** Sees the content of a file that is written. */
export interface ContentWatcher {
  readonly add: (chunk: Buffer) => void
  /** Called before the rename, with the size and the time that the file will have. */
  readonly end: (stamp: FileStamp) => void
}

export interface WriteOptions {
  /** The modification time of the file, epoch milliseconds: the instant for which its content is valid. */
  readonly asOf?: number | undefined
  /** Called before the rename; `true` leaves the target unchanged. */
  readonly isAborted?: () => boolean
  readonly watcher?: ContentWatcher | undefined
  /** The folder is on a network file system. */
  readonly isRemote?: boolean
}

/** Whether a name is that of a temporary file. */
export const isTemporaryName = (name: string): boolean => /^\..{1,50}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/s.test(name)

/** Deletes temporary files of interrupted writes. */
export const deleteTemporaryFiles = async (folder: string): Promise<void> => {
  for (const name of await listNames(folder))
    if (isTemporaryName(name) && !isPendingLock(name)) await disk.rm(join(folder, name), { force: true })
}

/**
 * Writes a file atomically: to a temporary file next to the target, checked and synced, then renamed. A failure leaves the target
 * unchanged and no temporary file. A target with the same bytes is not touched. Resolves to the size in bytes.
 */
export const writeFileAtomically = async (path: string, parts: Iterable<FileChunk>, writing: WriteOptions = {}): Promise<number> => {
  const chunks = joinChunks(parts)
  const first = chunks.next().value ?? Buffer.alloc(0)
  if (first.length < CHUNK_BYTES && hasSameBytes(path, first)) {
    writing.watcher?.add(first)
    writing.watcher?.end(toStamp(statFile(path)))
    return first.length
  }
  return writeAndRename(path, prepend(first, chunks), writing)
}

const toStamp = (found: FileStats | undefined): FileStamp => [found?.size ?? 0, found?.mtimeMs ?? 0]

/**
 * Only the sync waits for the disk, and so it alone is handed to another thread: the other calls reach the page cache, which takes less time
 * than a hand-over. Chunks of 1 MiB are written in another thread, because many of them are not written in no time. On a network file system
 * every call is a round trip, so that each is handed over.
 */
const writeAndRename = async (path: string, chunks: Iterable<Buffer>, writing: WriteOptions): Promise<number> => {
  const { isAborted, watcher, isRemote = false } = writing
  const temporary = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.tmp`)
  const fd = await openNewFile(temporary, isRemote)
  try {
    const written = await writeChunks(fd, chunks, writing).finally(() => (isRemote ? disk.close(fd) : disk.closeSync(fd)))
    if (isAborted?.()) throw new Error('the write was aborted')
    // Shorter files were compared before they were written.
    const isUnchanged = written.size >= CHUNK_BYTES && (await haveSameContent(temporary, path))
    watcher?.end(toStamp(isUnchanged ? statFile(path) : written))
    if (isUnchanged) disk.unlinkSync(temporary)
    else await (isRemote ? disk.rename(temporary, path) : renameOver(temporary, path))
    return written.size
  } catch (error) {
    disk.rmSync(temporary, { force: true })
    throw error
  }
}

const openNewFile = async (path: string, isRemote: boolean): Promise<number> => {
  const open = (): number | Promise<number> => (isRemote ? disk.open(path, 'wx') : disk.openSync(path, 'wx'))
  try {
    return await open()
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
    await createFolder(dirname(path))
    return open()
  }
}

const writeChunks = async (fd: number, chunks: Iterable<Buffer>, { asOf, watcher, isRemote }: WriteOptions): Promise<FileStats> => {
  let bytes = 0
  for (const chunk of chunks) {
    watcher?.add(chunk)
    if (chunk.length < CHUNK_BYTES && !isRemote) writeWhole(fd, chunk)
    else await disk.writeFile(fd, chunk)
    bytes += chunk.length
  }
  if (asOf !== undefined) disk.futimesSync(fd, asOf / 1_000, asOf / 1_000)
  const written = disk.fstatSync(fd)
  if (written.size !== bytes) throw Object.assign(new Error(`only ${written.size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  await disk.fdatasync(fd)
  return written
}

/** Joins short chunks, so that all of them have at least 1 MiB except the last one. */
function* joinChunks(parts: Iterable<FileChunk>): Generator<Buffer, undefined> {
  let chunk: Buffer[] = []
  let length = 0
  const flush = (): Buffer => {
    const bytes = chunk.length === 1 ? (chunk[0] as Buffer) : Buffer.concat(chunk)
    chunk = []
    length = 0
    return bytes
  }
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : asBuffer(part)
    chunk.push(bytes)
    length += bytes.length
    if (length >= CHUNK_BYTES) yield flush()
  }
  if (length > 0) yield flush()
}

function* prepend<T>(first: T, others: Iterable<T>): Generator<T> {
  yield first
  yield* others
}

const hasSameBytes = (path: string, bytes: Buffer): boolean =>
  statFile(path)?.size === bytes.length && disk.readFileSync(path).equals(bytes)

const haveSameContent = async (one: string, other: string): Promise<boolean> => {
  if (statFile(one)?.size !== statFile(other)?.size) return false
  const fds = await Promise.all([disk.open(one, 'r'), disk.open(other, 'r')])
  try {
    const buffers = fds.map(() => Buffer.alloc(CHUNK_BYTES))
    for (;;) {
      const [bytesRead, otherBytesRead] = await Promise.all(
        fds.map(async (fd, index) => (await disk.read(fd, buffers[index] as Buffer)).bytesRead),
      )
      if (bytesRead !== otherBytesRead || !buffers[0]?.equals(buffers[1] as Buffer)) return false
      if (bytesRead === 0) return true
    }
  } finally {
    await Promise.all(fds.map((fd) => disk.close(fd)))
  }
}
