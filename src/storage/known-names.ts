import { basename, dirname } from 'node:path'

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
