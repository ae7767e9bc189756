import { basename, dirname, join } from 'node:path'
import { isTemporaryName } from './atomic-file.js'
import { disk } from './disk.js'
import { listNames } from './file-system.js'
import { isPendingLock } from './lock.js'
import type { DigestLog } from './output-digests.js'

/**
 * The file names in the folders that a run has locked. They save the lookup of missing files, which are all files in a first run: a lookup
 * waits for every rename in progress in the same folder.
 */
export interface KnownNames {
  readonly list: (folder: string, names: readonly string[]) => void
  readonly add: (path: string) => void
  readonly lacks: (path: string) => boolean
  readonly forget: () => void
}

/** What the outputs of a folder and its sessions share. */
export interface FolderContext {
  readonly names: KnownNames
  readonly digests: DigestLog
}

export const createKnownNames = (): KnownNames => {
  const folders = new Map<string, Set<string>>()
  const namesBeside = (path: string): Set<string> | undefined => folders.get(dirname(path))
  return {
    list: (folder, names) => void folders.set(folder, new Set(names)),
    add: (path) => void namesBeside(path)?.add(basename(path)),
    lacks: (path) => namesBeside(path)?.has(basename(path)) === false,
    forget: () => folders.clear(),
  }
}

/** Deletes temporary files of interrupted writes. Returns the names in the folder. */
export const deleteTemporaryFiles = async (folder: string): Promise<readonly string[]> => {
  const names = await listNames(folder)
  for (const name of names) if (isTemporaryName(name) && !isPendingLock(name)) await disk.rm(join(folder, name), { force: true })
  return names
}
