import { basename, dirname } from 'node:path'

/**
 * The names in the folders that a run holds, as far as they were listed. The disk need not be asked for what is not there, which is
 * everything in a first run: looking for a name waits for every file that is just being put beside it.
 */
export interface KnownNames {
  readonly list: (folder: string, names: readonly string[]) => void
  readonly add: (path: string) => void
  readonly lack: (path: string) => boolean
  readonly forget: () => void
}

export const knownNames = (): KnownNames => {
  const folders = new Map<string, Set<string>>()
  const namesBeside = (path: string): Set<string> | undefined => folders.get(dirname(path))
  return {
    list: (folder, names) => void folders.set(folder, new Set(names)),
    add: (path) => void namesBeside(path)?.add(basename(path)),
    lack: (path) => namesBeside(path)?.has(basename(path)) === false,
    forget: () => folders.clear(),
  }
}
