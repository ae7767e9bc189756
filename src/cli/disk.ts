import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The folder itself, or the nearest above it that exists. */
export const nearestExisting = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

/** Bytes that are free for us on the file system of a folder that exists. Throws where the system does not tell. */
export const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
