import { join } from 'node:path'
import type { StreamDefinition } from '../engine/define-stream.js'
import { DamagedFileError, StorageError } from '../model/errors.js'
import type { Row } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { describeFileError, getErrorCode, statFile } from '../storage/file-system.js'
import { parseRecords } from '../storage/record-file.js'

export interface DataSource {
  readonly root: string
  readonly exchange: string
  readonly streams: readonly StreamDefinition[]
  /** The day as of which all is shown, as it was known then; now if absent. */
  readonly day?: Day | undefined
}

/** An output folder whose content is read when it is asked for, and kept until its files change. */
export interface MarketFolder extends DataSource {
  /**
   * What `load` made of some files or folders, relative to the root; loads again once one of them has
   * changed.
   */
  readonly remember: <T>(key: string, paths: readonly string[], load: () => Promise<T>) => Promise<T>
}

export const openMarketFolder = (source: DataSource): MarketFolder => {
  const known = new Map<string, { readonly stamp: string; readonly value: Promise<unknown> }>()
  return {
    ...source,
    remember: (key, paths, load) => {
      const stamp = paths.map((path) => stampOf(join(source.root, path))).join('\n')
      const entry = known.get(key)
      if (entry?.stamp === stamp) return entry.value as ReturnType<typeof load>
      const value = load()
      known.set(key, { stamp, value })
      value.catch(() => known.get(key)?.value === value && known.delete(key))
      return value
    },
  }
}

/** Changes when a file is replaced or written again, and for a folder when a file in it is replaced. */
const stampOf = (path: string): string => {
  const found = statFile(path)
  return found === undefined ? '' : `${found.mtimeMs} ${found.ctimeMs} ${found.size}`
}

/** The rows of a list; none if it is missing or damaged. */
export interface StoredList<R = Row> {
  readonly rows: readonly R[]
  readonly isMissing: boolean
  /** Why it cannot be read, as a sentence. */
  readonly damage?: string
}

/**
 * Reads a list of the output folder and keeps what `reduce` makes of its rows. One that is missing or damaged
 * is empty, and says so.
 */
export const readStoredList = <R = Row>(
  folder: MarketFolder,
  file: string,
  reduce: (rows: readonly Row[]) => readonly R[],
): Promise<StoredList<R>> =>
  folder.remember(`list ${file}`, [file], async (): Promise<StoredList<R>> => {
    try {
      return {
        rows: reduce(parseRecords(await disk.readFile(join(folder.root, file), 'utf8'), file)),
        isMissing: false,
      }
    } catch (error) {
      if (getErrorCode(error) === 'ENOENT') return { rows: [], isMissing: true }
      if (error instanceof DamagedFileError || error instanceof SyntaxError)
        return { rows: [], isMissing: false, damage: `${file} is damaged; move it away and run again` }
      if (getErrorCode(error) === undefined) throw error
      return {
        rows: [],
        isMissing: false,
        damage: `${file} cannot be read: ${describeFileError(error, 'read')}`,
      }
    }
  })

/** A file that cannot be read is a problem for the page to show; any other error is ours. */
export const tellUnreadable = <T>(
  read: Promise<T>,
): Promise<{ readonly value?: T; readonly problems: readonly string[] }> =>
  read.then(
    (value) => ({ value, problems: [] }),
    (error: unknown) => {
      if (error instanceof StorageError) return { problems: [error.message] }
      throw error
    },
  )
