import { createHash, randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, rmSync, unlinkSync } from 'node:fs'
import { link, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { getErrorCode } from './file-error.js'
import { isRunning } from './lock-holder.js'

/** The content of a lock file. */
export interface LockFile {
  readonly path: string
  readonly text: string
  /** The time of the last heartbeat, by the clock of the file system. */
  readonly renewedAt: number
}

/**
 * Reads the lock file and its successors: files of processes that took the lock over and have not renamed theirs to the lock file yet. The
 * last one has the lock. A process killed during a takeover leaves an ordinary dead holder, from which the next process takes over.
 */
export const readLockChain = (path: string): readonly LockFile[] => {
  const chain: LockFile[] = []
  for (let file = readLockFile(path); file !== undefined; file = readLockFile(successorPath(path, file))) chain.push(file)
  return chain
}

/** The path of the file that takes a lock over. It can be created only once, so only one process takes over from a holder. */
export const successorPath = (path: string, last: LockFile): string =>
  `${path}.after-${createHash('sha256').update(basename(last.path)).update('\n').update(last.text).digest('hex').slice(0, 32)}`

/** Deletes the files of earlier takeovers, also of older versions. A process that has just created one sees that the lock has changed. */
export const clearSuccessors = (path: string): void => {
  const isSuccessor = (name: string): boolean => /^\.(after-[\da-f]{32}|takeover)$/.test(name.slice(basename(path).length))
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(basename(path)) && isSuccessor(name)) rmSync(join(dirname(path), name), { force: true })
}

const readLockFile = (path: string): LockFile | undefined => {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    return { path, renewedAt: fstatSync(fd).mtimeMs, text: readFileSync(fd, 'utf8') }
  } finally {
    closeSync(fd)
  }
}

/** Creates a file with its content in one step, so that no one reads a partial file. Resolves to false if the file exists. */
export const createExclusively = async (path: string, content: string): Promise<boolean> => {
  const temporary = createTemporaryPath(path)
  await writeFile(temporary, content, { flag: 'wx' })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    // ENOENT: a holder that cannot see this process has deleted the temporary file.
    if (['EEXIST', 'ENOENT'].includes(getErrorCode(error) ?? '')) return false
    // The file system has no hard links.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(getErrorCode(error) ?? '')) throw error
    return await writeFile(path, content, { flag: 'wx' }).then(
      () => true,
      (failure: unknown) => {
        if (getErrorCode(failure) === 'EEXIST') return false
        throw failure
      },
    )
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Reads the clock of the file system, which may be on another machine: file times can be compared only with this clock. */
export const readFileSystemTime = async (path: string): Promise<number> => {
  const probe = createTemporaryPath(path)
  try {
    await writeFile(probe, '', { flag: 'wx' })
    return (await stat(probe)).mtimeMs
  } catch (error) {
    // Another process has deleted the temporary file, as above.
    if (getErrorCode(error) === 'ENOENT') return Date.now()
    throw error
  } finally {
    await rm(probe, { force: true })
  }
}

const createTemporaryPath = (path: string): string => join(dirname(path), `.lock-${process.pid}.${randomUUID()}.tmp`)

/** Whether a file is the temporary lock of a running process that is acquiring the lock. */
export const isPendingLock = (name: string): boolean => {
  const pid = /^\.lock-(\d+)\./.exec(name)?.[1]
  return pid !== undefined && isRunning(Number(pid))
}

/** Deletes a file if its content is still ours. */
export const removeIfUnchanged = (path: string, content: string): void => {
  try {
    if (readFileSync(path, 'utf8') === content) unlinkSync(path)
  } catch {
    // The file is already gone, so it blocks no other process.
  }
}
