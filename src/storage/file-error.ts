import { formatError, StorageError } from '../model/errors.js'

/** Returns the system's error code, such as `ENOENT`. */
export const getErrorCode = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
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

/** Describes why the file system failed. */
export const describeFileError = (error: unknown): string => CAUSES[getErrorCode(error) ?? ''] ?? formatError(error)

/** Turns a file system error into a `StorageError` with path and cause, which ends the run. Returns any other error (a bug) unchanged. */
export const toStorageError = (error: unknown, what: 'read' | 'written', path: string): unknown => {
  if (getErrorCode(error) === undefined || error instanceof StorageError) return error
  return new StorageError(`${path} cannot be ${what}: ${describeFileError(error)}`, { cause: error })
}
