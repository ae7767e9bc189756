import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

export const findExistingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : findExistingFolder(dirname(path))

/** Free bytes, for this user, at a folder that may not exist yet; undefined if the system does not report them. */
export const findFreeBytes = (path: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(findExistingFolder(path))
    return bavail * bsize
  } catch {
    return undefined
  }
}
