import { dirname } from 'node:path'
import { CollectError, formatError, StorageError } from '../model/errors.js'
import { repairJson } from '../model/text.js'
import { disk, type FileStats, type OpenFlags } from './disk.js'
import { pause } from './pause.js'

/** Codes of Windows for a target that another program, such as a virus scanner, has open for a moment. */
const SHARING_CODES: readonly (string | undefined)[] = ['EPERM', 'EACCES', 'EBUSY']
const MAX_RENAMES = 8

/**
 * Renames a file over another one, synchronously. On Windows a rename fails while another program has the target open, so it is tried again for
 * about 2.5 s. Elsewhere these codes mean a lack of permission, and fail at once.
 */
export const renameOver = async (from: string, to: string, platform: NodeJS.Platform = process.platform): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return disk.renameSync(from, to)
    } catch (error) {
      if (platform !== 'win32' || attempt === MAX_RENAMES || !SHARING_CODES.includes(getErrorCode(error))) throw error
      await pause(10 * 2 ** attempt)
    }
  }
}

/** NFS, SMB2, CIFS, FUSE, 9P, Ceph: a call on them may take as long as the network does. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0x00c36400])

/** Whether a folder is on a network file system; undefined while it cannot be read, for example because it does not exist yet. */
export const isRemoteFolder = (folder: string): boolean | undefined => {
  try {
    return NETWORK_FILE_SYSTEMS.has(disk.statfsSync(folder).type)
  } catch {
    return undefined
  }
}

/** Writes all bytes at the current position of an open file. */
export const writeWhole = (fd: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; ) at += disk.writeSync(fd, bytes, at)
}

/** Returns the system's error code, such as `ENOENT`. */
export const getErrorCode = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

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

/** Describes why the file system failed. */
export const describeFileError = (error: unknown, what: 'read' | 'written' = 'written'): string => {
  const code = getErrorCode(error) ?? ''
  return (what === 'read' ? READ_CAUSES[code] : undefined) ?? CAUSES[code] ?? formatError(error)
}

/** Turns a file system error into a `StorageError` with path and cause, which ends the run. Returns any other error (a bug) unchanged. */
export const toStorageError = (error: unknown, what: 'read' | 'written', path: string): unknown => {
  if (getErrorCode(error) === undefined || error instanceof CollectError) return error
  return new StorageError(`${path} cannot be ${what}: ${describeFileError(error, what)}`, { cause: error })
}

/** Returns the stats of a file; `undefined` if it is missing or unreadable. Synchronous: several times faster than awaiting each file. */
export const statFile = (path: string): FileStats | undefined => {
  try {
    const found = disk.statSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? found : undefined
  } catch {
    return undefined
  }
}

/** The stats of a path; `undefined` if it does not exist. @throws StorageError if it is not accessible */
export const statPath = (path: string): Promise<FileStats | undefined> =>
  disk.stat(path).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(getErrorCode(error) ?? '')) return undefined
    throw toStorageError(error, 'read', path)
  })

/** Whether two paths name one file, or none. The previous version of an unchanged output is a hard link to it. */
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

/** Opens a file for reading as long as `use` runs. */
export const withFileSync = <T>(path: string, use: (fd: number) => T): T => {
  const fd = disk.openSync(path, 'r')
  try {
    return use(fd)
  } finally {
    disk.closeSync(fd)
  }
}

export const withFile = async <T>(path: string, flags: OpenFlags, use: (fd: number) => Promise<T>): Promise<T> => {
  const fd = await disk.open(path, flags)
  try {
    return await use(fd)
  } finally {
    await disk.close(fd)
  }
}

/** The names in a folder; none if there is no such folder. */
export const listNames = async (folder: string): Promise<readonly string[]> => {
  try {
    return await disk.readdir(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(getErrorCode(error) ?? '')) return []
    throw error
  }
}

/** Syncs folders, so that renames survive a power cut. Call before deleting the journals, from which a lost file could be restored. */
export const syncFolders = async (folders: readonly string[]): Promise<void> => {
  for (const folder of folders) await syncFolder(folder)
}

/** Error codes of systems that cannot sync a folder, and of folders that no output needed. */
const IGNORED_CODES: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS']

/** Syncs the names in a folder to the disk, if the system supports it. A disk failure is an error. */
const syncFolder = async (folder: string): Promise<void> => {
  try {
    await withFile(folder, 'r', disk.fsync)
  } catch (error) {
    if (!IGNORED_CODES.includes(getErrorCode(error))) throw error
  }
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

/** Creates a folder and those above it. Not Node's recursive `mkdir`, which never ends where the system forbids folders, as in `/proc`. */
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
