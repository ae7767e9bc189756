import { messageOf, StorageError } from '../src/model/errors.js'

/** The system's name of a failure, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'a directory is in the way',
  ENOTEMPTY: 'a directory is in the way',
  ENOTDIR: 'a file is in the way of its folder',
  EEXIST: 'a file is in the way of its folder',
  EMFILE: 'too many open files (ulimit -n)',
  ENFILE: 'too many open files',
  ENAMETOOLONG: 'its name is too long',
  EIO: 'the disk reports an error',
}

/** Why the file system failed, in words. */
export const causeOf = (error: unknown): string => CAUSES[codeOf(error) ?? ''] ?? messageOf(error)

/** A failure of the file system as one that ends the run, with the path and the cause; anything else, a bug, as it is. */
export const storageErrorOf = (error: unknown, what: 'read' | 'written', path: string): unknown => {
  if (codeOf(error) === undefined || error instanceof StorageError) return error
  return new StorageError(`${path} cannot be ${what}: ${causeOf(error)}`, { cause: error })
}
