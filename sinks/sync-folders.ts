import { open } from 'node:fs/promises'
import { codeOf } from './file-error.js'

/** What was moved into place must be there after a power cut too, before the journals that could mend it go. */
export const syncFolders = async (folders: readonly string[]): Promise<void> => {
  for (const folder of folders) await synced(folder)
}

/** What systems say that cannot sync a folder, or of one that no output needed. */
const NOTHING_TO_SYNC: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS']

/** Brings the names in a folder to the disk, where the system knows how to; a disk that fails at it is an error. */
const synced = async (folder: string): Promise<void> => {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (error) {
    if (!NOTHING_TO_SYNC.includes(codeOf(error))) throw error
  }
}
