import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The folder itself, or its nearest existing ancestor. */
export const findExistingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : findExistingFolder(dirname(path))

/** Free bytes, for this user, on the file system of an existing folder. Throws if the system does not report them. */
export const readFreeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Free bytes at a folder that may not exist yet; undefined if the system does not report them. */
export const findFreeBytes = (path: string): number | undefined => {
  try {
    return readFreeBytes(findExistingFolder(path))
  } catch {
    return undefined
  }
}
