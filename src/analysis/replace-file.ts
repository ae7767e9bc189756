import { randomUUID } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { createWriteError } from '../../sinks/define-export.js'
import { CollectError, StorageError } from '../model/errors.js'
import { disk } from '../storage/disk.js'
import { toQueryError } from '../storage/duckdb.js'

/** Writes a file beside its place and renames it, unless the export was stopped. */
export const replaceFile = async (
  path: string,
  write: (temporary: string) => Promise<number>,
  isStopped: () => boolean,
): Promise<number> => {
  const target = resolve(path)
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`)
  try {
    await disk.mkdir(dirname(target), { recursive: true })
    const count = await write(temporary)
    if (isStopped()) throw new StorageError('the export was stopped')
    await disk.rename(temporary, target)
    return count
  } catch (error) {
    if (error instanceof CollectError) throw error
    if (error instanceof Error && ('code' in error || /^IO Error.*\.tmp"/.test(error.message)))
      throw createWriteError(path, error.message, error)
    throw toQueryError(error)
  } finally {
    // After a rename there is nothing to remove; after an error, that one is to be reported, not a second one.
    await disk.rm(temporary, { force: true }).catch(() => undefined)
  }
}
