import { type Stats, statSync } from 'node:fs'

/** Returns the stats of a file; `undefined` if it is missing or unreadable. Synchronous: several times faster than awaiting each file. */
export const statFile = (path: string): Stats | undefined => {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? found : undefined
  } catch {
    return undefined
  }
}
