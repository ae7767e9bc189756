import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { CollectError, formatError, StorageError } from '../model/errors.js'
import { asBuffer, repairJson } from '../model/text.js'
import { disk, type FileStats, type OpenFlags } from './disk.js'

/**
 * Lets the event loop serve others. Looks the global up at the call, so that a simulation can replace it; so
 * does `pause`.
 */
export const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A chunk of a file: text or bytes. */
export type FileChunk = string | Uint8Array

/** Codes of Windows for a target that another program, such as a virus scanner, has open for a moment. */
const SHARING_CODES = ['EPERM', 'EACCES', 'EBUSY']
const MAX_RENAMES = 8

/**
 * Renames a file over another one, synchronously. On Windows a rename fails while another program has the
 * target open, so it is tried again for about 2.5 s. Elsewhere these codes mean a lack of permission, and
 * fail at once.
 */
export const renameOver = async (
  from: string,
  to: string,
  platform: NodeJS.Platform = process.platform,
): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return disk.renameSync(from, to)
    } catch (error) {
      if (platform !== 'win32' || attempt === MAX_RENAMES || !hasErrorCode(error, ...SHARING_CODES))
        throw error
      await pause(10 * 2 ** attempt)
    }
  }
}

/** NFS, SMB2, CIFS, FUSE, 9P, Ceph: a call on them may take as long as the network does. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0x00c36400,
])

/** Whether a folder is on a network file system; undefined while it cannot be read, or does not exist. */
export const isRemoteFolder = (folder: string): boolean | undefined => {
  try {
    return NETWORK_FILE_SYSTEMS.has(disk.statfsSync(folder).type)
  } catch {
    return undefined
  }
}

export const writeWhole = (fd: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; ) at += disk.writeSync(fd, bytes, at)
}

/** Returns the system's error code, such as `ENOENT`. */
export const getErrorCode = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

export const hasErrorCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes(getErrorCode(error) ?? '')

/** For a file or folder that may be missing: returns nothing then. @throws any other error */
export const ignoreMissing = (error: unknown): undefined => {
  if (getErrorCode(error) !== 'ENOENT') throw error
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'its folder does not exist or cannot be created',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'a directory has that name',
  ENOTEMPTY: 'a directory has that name',
  ENOTDIR: 'a file has the name of its folder',
  EEXIST: 'a file has the name of its folder',
  EMFILE: 'too many open files (ulimit -n)',
  ENFILE: 'too many open files',
  ENAMETOOLONG: 'its name is too long',
  EIO: 'the disk reports an error',
}

/** Causes in other words where a file is read. */
const READ_CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EISDIR: 'it is a directory',
}

export const describeFileError = (error: unknown, what: 'read' | 'written' = 'written'): string => {
  const code = getErrorCode(error) ?? ''
  return (what === 'read' ? READ_CAUSES[code] : undefined) ?? CAUSES[code] ?? formatError(error)
}

/**
 * Turns a file system error into a `StorageError` with path and cause, which ends the run. Returns any other
 * error (a bug) unchanged.
 */
export const toStorageError = (error: unknown, what: 'read' | 'written', path: string): unknown => {
  if (getErrorCode(error) === undefined || error instanceof CollectError) return error
  return new StorageError(`${path} cannot be ${what}: ${describeFileError(error, what)}`, { cause: error })
}

/**
 * Returns the stats of a file; `undefined` if it is missing or unreadable. Synchronous: several times faster
 * than awaiting each file.
 */
export const statFile = (path: string): FileStats | undefined => {
  try {
    const found = disk.statSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? found : undefined
  } catch {
    return undefined
  }
}

/** The size of a file in bytes and its modification time, epoch milliseconds. */
export type FileStamp = readonly [bytes: number, modifiedAt: number]

/**
 * Whether a file still has its stamp. An archive such as tar restores its time without the fraction of a
 * second.
 */
export const hasStamp = (found: FileStamp | undefined, [bytes, modifiedAt]: FileStamp): boolean =>
  found?.[0] === bytes && (found[1] === modifiedAt || found[1] === Math.floor(modifiedAt / 1_000) * 1_000)

const toStamp = (found: FileStats | undefined): FileStamp | undefined => found && [found.size, found.mtimeMs]
const NO_STAMP: FileStamp = [0, 0]

export const readStamp = (path: string): FileStamp | undefined => toStamp(statFile(path))

/** The stats of a path; `undefined` if it does not exist. @throws StorageError if it is not accessible */
export const statPath = (path: string): Promise<FileStats | undefined> =>
  disk.stat(path).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw toStorageError(error, 'read', path)
  })

/**
 * Whether two paths name one file, or none. The previous version of an unchanged output is a hard link to it.
 */
export const isSameFile = (one: string, other: string): boolean => {
  const [found, otherFound] = [statFile(one), statFile(other)]
  return found?.ino === otherFound?.ino && found?.dev === otherFound?.dev
}

/** The text of a file; `undefined` if it is missing. @throws StorageError if it cannot be read */
export const readTextFile = (path: string): Promise<string | undefined> =>
  disk.readFile(path, 'utf8').catch((error: unknown) => {
    if (getErrorCode(error) !== 'ENOENT') throw toStorageError(error, 'read', path)
    return undefined
  })

/** Reads a JSON document about the runs in a folder; `undefined` if it is missing or damaged. */
export const readStateDocument = async (path: string): Promise<unknown> => {
  const text = await readTextFile(path)
  try {
    return text === undefined ? undefined : JSON.parse(repairJson(text))
  } catch {
    return undefined
  }
}

export const withFileSync = <T>(path: string, use: (fd: number) => T): T => {
  const fd = disk.openSync(path, 'r')
  try {
    return use(fd)
  } finally {
    disk.closeSync(fd)
  }
}

export const withFile = async <T>(
  path: string,
  flags: OpenFlags,
  use: (fd: number) => Promise<T>,
): Promise<T> => {
  const fd = await disk.open(path, flags)
  try {
    return await use(fd)
  } finally {
    await disk.close(fd)
  }
}

export const listNames = async (folder: string): Promise<readonly string[]> => {
  try {
    return await disk.readdir(folder)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}

/** Error codes of systems that cannot sync a folder, and of folders that no output needed. */
const IGNORED_CODES = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS']

/**
 * Syncs the names in folders, where the system supports it, so that renames survive a power cut. Call before
 * deleting the journals, from which a lost file could be restored. A disk failure is an error.
 */
export const syncFolders = async (folders: readonly string[]): Promise<void> => {
  for (const folder of folders)
    await withFile(folder, 'r', disk.fsync).catch((error: unknown) => {
      if (!hasErrorCode(error, ...IGNORED_CODES)) throw error
    })
}

/** Adds a line to a file. A line that a kill has cut is ended first, so that it spoils no other. */
export const appendLine = async (path: string, line: string): Promise<void> => {
  try {
    await withFile(path, 'a+', async (fd) => {
      const last = Buffer.from('\n')
      await disk.read(fd, last, { position: Math.max(0, disk.fstatSync(fd).size - 1) })
      await disk.writeFile(fd, `${last.toString() === '\n' ? '' : '\n'}${line}\n`)
      await disk.fdatasync(fd)
    })
  } catch (error) {
    throw toStorageError(error, 'written', path)
  }
}

/**
 * Creates a folder and those above it. Not Node's recursive `mkdir`, which never ends where the system
 * forbids folders, as in `/proc`.
 */
export const createFolder = async (path: string): Promise<void> => {
  try {
    await disk.mkdir(path)
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT' && dirname(path) !== path) {
      await createFolder(dirname(path))
      await disk.mkdir(path).catch((again: unknown) => acceptFolder(path, again))
    } else await acceptFolder(path, error)
  }
}

/** Another process may have created the folder. */
const acceptFolder = async (path: string, error: unknown): Promise<void> => {
  if (getErrorCode(error) !== 'EEXIST' || !(await disk.stat(path)).isDirectory()) throw error
}

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

export const isTemporaryName = (name: string): boolean =>
  /^\..{1,50}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/s.test(name)

/**
 * Writes a file atomically: to a temporary file next to the target, checked and synced, then renamed. A
 * failure leaves the target unchanged and no temporary file. A target with the same bytes is not touched.
 * Resolves to the size in bytes.
 */
export const writeFileAtomically = async (
  path: string,
  parts: Iterable<FileChunk>,
  writing: WriteOptions = {},
): Promise<number> => {
  const chunks = joinChunks(parts)
  const first = chunks.next().value ?? Buffer.alloc(0)
  if (first.length < CHUNK_BYTES && hasSameBytes(path, first)) {
    writing.watcher?.add(first)
    writing.watcher?.end(readStamp(path) ?? NO_STAMP)
    return first.length
  }
  return writeAndRename(path, prepend(first, chunks), writing)
}

/**
 * Only the sync waits for the disk, and so it alone is handed to another thread: the other calls reach the
 * page cache, which takes less time than a hand-over. Chunks of 1 MiB are written in another thread, because
 * many of them are not written in no time. On a network file system every call is a round trip, so that each
 * is handed over.
 */
const writeAndRename = async (
  path: string,
  chunks: Iterable<Buffer>,
  writing: WriteOptions,
): Promise<number> => {
  const { isAborted, watcher, isRemote = false } = writing
  const temporary = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.tmp`)
  const fd = await openNewFile(temporary, isRemote)
  try {
    const written = await writeChunks({ fd, path: temporary }, chunks, writing).finally(() =>
      isRemote ? disk.close(fd) : disk.closeSync(fd),
    )
    if (isAborted?.()) throw new Error('the write was aborted')
    // Shorter files were compared before they were written.
    const isUnchanged = written.size >= CHUNK_BYTES && (await haveSameContent(temporary, path))
    watcher?.end((isUnchanged ? readStamp(path) : toStamp(written)) ?? NO_STAMP)
    if (isUnchanged) disk.unlinkSync(temporary)
    else await (isRemote ? disk.rename(temporary, path) : renameOver(temporary, path))
    return written.size
  } catch (error) {
    disk.rmSync(temporary, { force: true })
    throw error
  }
}

const openNewFile = async (path: string, isRemote: boolean): Promise<number> => {
  const open = () => (isRemote ? disk.open(path, 'wx') : disk.openSync(path, 'wx'))
  try {
    return await open()
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
    await createFolder(dirname(path))
    return open()
  }
}

const writeChunks = async (
  { fd, path }: { readonly fd: number; readonly path: string },
  chunks: Iterable<Buffer>,
  { asOf, watcher, isRemote }: WriteOptions,
): Promise<FileStats> => {
  let bytes = 0
  for (const chunk of chunks) {
    watcher?.add(chunk)
    if (chunk.length < CHUNK_BYTES && !isRemote) writeWhole(fd, chunk)
    else await disk.writeFile(fd, chunk)
    bytes += chunk.length
  }
  if (asOf !== undefined) disk.utimesSync(path, asOf / 1_000, asOf / 1_000)
  const written = disk.fstatSync(fd)
  if (written.size !== bytes)
    throw Object.assign(new Error(`only ${written.size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  await disk.fdatasync(fd)
  return written
}

/** Joins short chunks, so that all of them have at least 1 MiB except the last one. */
function* joinChunks(parts: Iterable<FileChunk>): Generator<Buffer, undefined> {
  let chunk: Buffer[] = []
  let length = 0
  const flush = () => {
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
