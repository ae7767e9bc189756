import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The folder itself, or its nearest existing ancestor. */
export const nearestExisting = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

/** Free bytes, for this user, on the file system of an existing folder. Throws if the system does not report them. */
export const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
