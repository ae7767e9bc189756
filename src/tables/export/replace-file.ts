import { randomUUID } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { CollectError, StorageError } from '../../model/errors.js'
import { disk } from '../../storage/disk.js'
import { toQueryError } from '../../storage/duckdb.js'
import { createFolder, renameOver, syncFolders, withFile } from '../../storage/file-system.js'

/** The error of a target that cannot be written. Exports are atomic, so its earlier data stays. */
export const createWriteError = (name: string, reason: string, cause?: unknown): StorageError =>
  new StorageError(
    `${name} cannot be written: ${reason.replace(/\s+/g, ' ')}; the earlier data stays; correct this and export again`,
    {
      cause,
    },
  )

/**
 * Writes a file in `workFolder` (default: its own folder), syncs it and renames it to its place, unless the
 * export was stopped.
 */
export const replaceExport = async <T>(
  path: string,
  write: (temporary: string) => Promise<T>,
  {
    isStopped = () => false,
    workFolder,
  }: { readonly isStopped?: () => boolean; readonly workFolder?: string } = {},
): Promise<T> => {
  const target = resolve(path)
  const temporary = join(workFolder ?? dirname(target), `.${basename(target)}.${randomUUID()}.tmp`)
  try {
    await createFolder(dirname(target))
    const written = await write(temporary)
    if (isStopped()) throw new StorageError('the export was stopped')
    await withFile(temporary, 'r+', disk.fdatasync)
    await renameOver(temporary, target)
    await syncFolders([dirname(target)])
    return written
  } catch (error) {
    if (error instanceof CollectError) throw error
    if (error instanceof Error && ('code' in error || /^IO Error.*\.tmp"/.test(error.message)))
      throw createWriteError(path, error.message, error)
    throw toQueryError(error)
  } finally {
    // After a rename there is nothing to remove; after an error, that one is to be reported, not a second
    // one.
    await disk.rm(temporary, { force: true }).catch(() => undefined)
  }
}
