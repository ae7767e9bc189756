import { open } from 'node:fs/promises'
import { getErrorCode } from './file-error.js'

/** Syncs folders, so that renames survive a power cut. Call before deleting the journals, from which a lost file could be restored. */
export const syncFolders = async (folders: readonly string[]): Promise<void> => {
  for (const folder of folders) await syncFolder(folder)
}

/** Error codes of systems that cannot sync a folder, and of folders that no output needed. */
const IGNORED_CODES: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS']

/** Syncs the names in a folder to the disk, if the system supports it. A disk failure is an error. */
const syncFolder = async (folder: string): Promise<void> => {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (error) {
    if (!IGNORED_CODES.includes(getErrorCode(error))) throw error
  }
}
