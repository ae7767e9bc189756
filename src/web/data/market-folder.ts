import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { StreamDefinition } from '../../pipeline/define-stream.js'

/** Where the data comes from. */
export interface DataSource {
  /** The output folder. */
  readonly root: string
  readonly exchange: string
  readonly streams: readonly StreamDefinition[]
}

/** An output folder whose content is read when it is asked for, and kept until its files change. */
export interface MarketFolder extends DataSource {
  /** What `load` made of some files or folders, relative to the root; loads again once one of them has changed. */
  readonly remember: <T>(key: string, paths: readonly string[], load: () => Promise<T>) => Promise<T>
}

export const openMarketFolder = (source: DataSource): MarketFolder => {
  const known = new Map<string, { readonly stamp: string; readonly value: Promise<unknown> }>()
  return {
    ...source,
    remember: <T>(key: string, paths: readonly string[], load: () => Promise<T>): Promise<T> => {
      const stamp = paths.map((path) => stampOf(join(source.root, path))).join('\n')
      const entry = known.get(key)
      if (entry?.stamp === stamp) return entry.value as Promise<T>
      const value = load()
      known.set(key, { stamp, value })
      value.catch(() => known.get(key)?.value === value && known.delete(key))
      return value
    },
  }
}

/** Changes when a file is replaced, and a folder when a file in it is. */
const stampOf = (path: string): string => {
  try {
    const { mtimeMs, size, ino } = statSync(path)
    return `${mtimeMs} ${size} ${ino}`
  } catch {
    return ''
  }
}
