import { type Stats, statSync } from 'node:fs'

/** What is known of the file at a path; nothing if there is none, or nothing can be known. Several times cheaper than to wait for each. */
export const fileAt = (path: string): Stats | undefined => {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? found : undefined
  } catch {
    return undefined
  }
}
