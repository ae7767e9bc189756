import { createHash, randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, rmSync, unlinkSync } from 'node:fs'
import { link, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from './file-error.js'
import { isRunning } from './lock-holder.js'

/** A lock file as it was read. */
export interface Link {
  readonly path: string
  readonly text: string
  /** When it was last renewed, by the clock of the file system. */
  readonly renewedAt: number
}

/**
 * The lock file, and after it the files of those who took over one from the other and have not moved their own into its place yet. The
 * last one holds the lock. A process that is killed on its way leaves a holder like any other, which the next one takes over.
 */
export const chainAt = (path: string): readonly Link[] => {
  const chain: Link[] = []
  for (let one = linkAt(path); one !== undefined; one = linkAt(successorOf(path, one))) chain.push(one)
  return chain
}

/** The file by which a lock is taken over: as it can be made only once, only one process takes over from a holder. */
export const successorOf = (path: string, last: Link): string =>
  `${path}.after-${createHash('sha256').update(basename(last.path)).update('\n').update(last.text).digest('hex').slice(0, 32)}`

/** Deletes what earlier take-overs have left, also those of earlier versions. Who has just made such a file sees that the lock has changed. */
export const clearSuccessors = (path: string): void => {
  const isLeft = (name: string): boolean => /^\.(after-[\da-f]{32}|takeover)$/.test(name.slice(basename(path).length))
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(basename(path)) && isLeft(name)) rmSync(join(dirname(path), name), { force: true })
}

const linkAt = (path: string): Link | undefined => {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    return { path, renewedAt: fstatSync(fd).mtimeMs, text: readFileSync(fd, 'utf8') }
  } finally {
    closeSync(fd)
  }
}

/** Makes a file in one step with its content, so that nobody ever reads half of it; false if there is one. */
export const isMade = async (path: string, content: string): Promise<boolean> => {
  const temporary = besides(path)
  await writeFile(temporary, content, { flag: 'wx' })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    // A holder that cannot see this process has swept the temporary file away.
    if (['EEXIST', 'ENOENT'].includes(codeOf(error) ?? '')) return false
    // A file system without links.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(codeOf(error) ?? '')) throw error
    return await writeFile(path, content, { flag: 'wx' }).then(
      () => true,
      (failure: unknown) => {
        if (codeOf(failure) === 'EEXIST') return false
        throw failure
      },
    )
  } finally {
    await rm(temporary, { force: true })
  }
}

/** The time of the file system, which may be another machine's: only with it can the time of a file be compared. */
export const fileSystemTime = async (path: string): Promise<number> => {
  const probe = besides(path)
  try {
    await writeFile(probe, '', { flag: 'wx' })
    return (await stat(probe)).mtimeMs
  } catch (error) {
    // Swept away, as above.
    if (codeOf(error) === 'ENOENT') return Date.now()
    throw error
  } finally {
    await rm(probe, { force: true })
  }
}

const besides = (path: string): string => join(dirname(path), `.lock-${process.pid}.${randomUUID()}.tmp`)

/** Whether a file is a lock that a living process is about to take. */
export const isLockOnItsWay = (name: string): boolean => {
  const pid = /^\.lock-(\d+)\./.exec(name)?.[1]
  return pid !== undefined && isRunning(Number(pid))
}

/** Deletes a file if it still says what we wrote. */
export const removeOurs = (path: string, content: string): void => {
  try {
    if (readFileSync(path, 'utf8') === content) unlinkSync(path)
  } catch {
    // Gone already, with its folder perhaps: nobody is kept out.
  }
}
