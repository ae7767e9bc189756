import { createHash, randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { exhaustMap, filter, fromEventPattern, type Observable, take } from 'rxjs'
import { StorageError } from '../model/errors.js'
import { disk } from './disk.js'
import {
  getErrorCode,
  hasErrorCode,
  ignoreMissing,
  isTemporaryName,
  listNames,
  pause,
  renameOver,
  statFile,
  withFile,
  withFileSync,
} from './file-system.js'
import {
  describeThisProcess,
  HEARTBEAT_MS,
  hasHolderEnded,
  isProcessRunning,
  isVisible,
  LOCK_EXPIRY_MS,
  type LockHolder,
  parseHolder,
} from './lock-holder.js'

interface LockFile {
  readonly path: string
  readonly text: string
  /** The time of the last heartbeat, by the clock of the file system. */
  readonly renewedAt: number
}

/**
 * Reads the lock file and its successors: files of processes that took the lock over and have not renamed
 * theirs to the lock file yet. The last one has the lock. A process killed during a takeover leaves an
 * ordinary dead holder, from which the next process takes over.
 */
export const readLockChain = (path: string): readonly LockFile[] => {
  const chain: LockFile[] = []
  for (let file = readLockFile(path); file !== undefined; file = readLockFile(successorPath(path, file)))
    chain.push(file)
  return chain
}

/**
 * The path of the file that takes a lock over. It can be created only once, so only one process takes over
 * from a holder.
 */
export const successorPath = (path: string, last: LockFile): string =>
  `${path}.after-${createHash('sha256').update(basename(last.path)).update('\n').update(last.text).digest('hex').slice(0, 32)}`

/**
 * Deletes the files of earlier takeovers. A process that has just created one sees that the lock has changed.
 */
const clearSuccessors = (path: string): void => {
  const isSuccessor = (name: string) => /^\.after-[\da-f]{32}$/.test(name.slice(basename(path).length))
  for (const name of disk.readdirSync(dirname(path)))
    if (name.startsWith(basename(path)) && isSuccessor(name))
      disk.rmSync(join(dirname(path), name), { force: true })
}

const readLockFile = (path: string): LockFile | undefined => {
  try {
    return withFileSync(path, (fd) => ({
      path,
      renewedAt: disk.fstatSync(fd).mtimeMs,
      text: disk.readFileSync(fd, 'utf8'),
    }))
  } catch (error) {
    return ignoreMissing(error)
  }
}

/**
 * Creates a file with its content in one step, so that no one reads a partial file. Resolves to false if the
 * file exists.
 */
const createExclusively = async (path: string, content: string): Promise<boolean> => {
  const temporary = createTemporaryPath(path)
  await disk.writeFile(temporary, content, { flag: 'wx' })
  try {
    await disk.link(temporary, path)
    return true
  } catch (error) {
    // ENOENT: a holder that cannot see this process has deleted the temporary file.
    if (hasErrorCode(error, 'EEXIST', 'ENOENT')) return false
    // The file system has no hard links.
    if (!hasErrorCode(error, 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK')) throw error
    return await disk.writeFile(path, content, { flag: 'wx' }).then(
      () => true,
      (failure: unknown) => {
        if (getErrorCode(failure) === 'EEXIST') return false
        throw failure
      },
    )
  } finally {
    await disk.rm(temporary, { force: true })
  }
}

/**
 * Reads the clock of the file system, which may be on another machine: file times can be compared only with
 * this clock.
 */
const readFileSystemTime = async (path: string): Promise<number> => {
  const probe = createTemporaryPath(path)
  try {
    await disk.writeFile(probe, '', { flag: 'wx' })
    return (await disk.stat(probe)).mtimeMs
  } catch (error) {
    // Another process has deleted the temporary file, as above.
    return ignoreMissing(error) ?? Date.now()
  } finally {
    await disk.rm(probe, { force: true })
  }
}

const createTemporaryPath = (path: string): string =>
  join(dirname(path), `.lock-${process.pid}.${randomUUID()}.tmp`)

/** Whether a file is the temporary lock of a running process that is acquiring the lock. */
const isPendingLock = (name: string): boolean => {
  const pid = /^\.lock-(\d+)\./.exec(name)?.[1]
  return pid !== undefined && isProcessRunning(Number(pid))
}

/**
 * Deletes temporary files of interrupted writes. `before`: only older ones, where other processes may write;
 * epoch milliseconds.
 */
export const deleteTemporaryFiles = async (
  folder: string,
  before = Number.POSITIVE_INFINITY,
): Promise<void> => {
  for (const name of await listNames(folder)) {
    const path = join(folder, name)
    if (isTemporaryName(name) && !isPendingLock(name) && (statFile(path)?.mtimeMs ?? 0) < before)
      await disk.rm(path, { force: true })
  }
}

/** Deletes a file if its content is still ours. Returns whether it blocks no other process any more. */
const removeIfUnchanged = (path: string, content: string): boolean => {
  try {
    if (disk.readFileSync(path, 'utf8') === content) disk.unlinkSync(path)
    return true
  } catch (error) {
    return getErrorCode(error) === 'ENOENT'
  }
}

/**
 * Too many open files, for example, are a matter of time; the process, and with it the lock, may live for
 * months.
 */
const removeInTime = (path: string, content: string): void => {
  if (!removeIfUnchanged(path, content)) setTimeout(() => removeInTime(path, content), HEARTBEAT_MS).unref()
}

/** A holder that may still be running, with the time of its last heartbeat. */
export interface LiveHolder extends LockHolder {
  /** What shows that the holder may still be running. */
  readonly known: 'by its process' | 'by its heartbeat'
  /** The last heartbeat, epoch milliseconds by the clock of the file system, and its age. */
  readonly renewedAt: number
  readonly silentMs: number
}

export interface LockOptions {
  /**
   * Called once if another process has taken over the lock, for example while this machine slept. Stop
   * writing then.
   */
  readonly onLost?: (error: StorageError) => void
  /** When to renew the lock. */
  readonly heartbeat$?: Observable<unknown>
}

const MAX_ATTEMPTS = 200
const RETRY_DELAY_MS = 10

/**
 * Acquires a lock file and renews it until the returned function is called. Takes over the lock of a process
 * that has ended. Throws a `StorageError` that names the holder if it is alive. The process table shows
 * whether it is alive; on another machine or in another container, the heartbeat does.
 */
export const acquireLock = async (
  path: string,
  now: number,
  options: LockOptions = {},
): Promise<() => void> => {
  const mine = JSON.stringify({
    ...describeThisProcess(),
    token: randomUUID(),
    since: new Date(now).toISOString(),
  })
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const last = readLockChain(path).at(-1)
    if (last !== undefined) await rejectIfLive(path, last)
    const file = last === undefined ? path : successorPath(path, last)
    try {
      if (await createExclusively(file, mine)) {
        // The lock may have changed since it was read; then the new file is not part of the chain.
        if (readLockChain(path).at(-1)?.text === mine) {
          if (file !== path) await renameOver(file, path)
          clearSuccessors(path)
          return startHeartbeat(path, mine, options)
        }
        removeIfUnchanged(file, mine)
      }
    } catch (error) {
      // The process may go on after a failed run: it must not be the holder of a lock that nobody releases.
      for (const own of new Set([file, path])) removeInTime(own, mine)
      throw error
    }
    await pause(RETRY_DELAY_MS)
  }
  throw new StorageError(`${path} cannot be locked: other processes keep taking the lock; try again`)
}

/**
 * Finds the holder of a lock: a process that may be running, `stale` if its process is gone, `undefined` if
 * there is no lock.
 */
export const findLockHolder = (path: string): LiveHolder | 'stale' | undefined => {
  const last = readLockChain(path).at(-1)
  return last === undefined ? undefined : (toLiveHolder(last, Date.now()) ?? 'stale')
}

const rejectIfLive = async (path: string, last: LockFile): Promise<void> => {
  const parsed = parseHolder(last.text)
  if (parsed === undefined) return
  const isOther = isVisible(parsed) && parsed.pid !== process.pid
  const now = isOther ? last.renewedAt : await readFileSystemTime(path)
  const holder = toLiveHolder(last, now)
  if (holder === undefined) return
  // A heartbeat in the future means that the clock was wrong. Reset it to now; otherwise the lock would not
  // expire before that date. Whether that succeeds or not, the run is rejected.
  if (holder.silentMs < -HEARTBEAT_MS)
    await disk.utimes(last.path, now / 1_000, now / 1_000).catch(() => undefined)
  throw new StorageError(describeLockConflict(holder))
}

const toLiveHolder = ({ text, renewedAt }: LockFile, now: number): LiveHolder | undefined => {
  const holder = parseHolder(text)
  const silentMs = now - renewedAt
  if (holder === undefined || hasHolderEnded(holder, silentMs)) return undefined
  return { ...holder, known: isVisible(holder) ? 'by its process' : 'by its heartbeat', renewedAt, silentMs }
}

const startHeartbeat = (path: string, mine: string, options: LockOptions): (() => void) => {
  const { heartbeat$: beat$ = defaultHeartbeat$, onLost = () => undefined } = options
  const heartbeat = beat$
    .pipe(
      exhaustMap(() => renewLock(path, mine)),
      filter((isOurs) => !isOurs),
      take(1),
    )
    .subscribe(() =>
      onLost(
        new StorageError(
          `another run has taken over this folder: ${path} is no longer locked by process ${process.pid}`,
        ),
      ),
    )
  return () => {
    heartbeat.unsubscribe()
    removeInTime(path, mine)
  }
}

/** Does not keep the process alive. */
const defaultHeartbeat$ = fromEventPattern<void>(
  (beat) => setInterval(beat, HEARTBEAT_MS).unref(),
  (_, timer: NodeJS.Timeout) => clearInterval(timer),
)

/**
 * Renews the lock; resolves to false if it is no longer ours. Rewrites the file instead of touching it: so
 * its time comes from the clock of the file server. A disk error does not mean that another process has the
 * lock.
 */
const renewLock = async (path: string, mine: string): Promise<boolean> => {
  try {
    return await withFile(path, 'r+', async (fd) => {
      const found = Buffer.alloc(Buffer.byteLength(mine) + 1)
      const { bytesRead } = await disk.read(fd, found, { position: 0 })
      if (found.toString('utf8', 0, bytesRead) !== mine) return false
      await disk.writeFile(fd, mine)
      return true
    })
  } catch (error) {
    return getErrorCode(error) !== 'ENOENT'
  }
}

const describeLockConflict = (holder: LiveHolder): string => {
  const expiry = `. If it was killed, the lock expires ${LOCK_EXPIRY_MS / 1_000} s after it was last seen`
  const advice = `Wait until it ends, or choose another folder${holder.known === 'by its process' ? '' : expiry}`
  return `another run is using this folder: ${describeHolder(holder)}. ${advice}`
}

/** Describes the process, the start of its lock, and when it was last seen. */
export const describeHolder = ({ pid, host, since, known, renewedAt, silentMs }: LiveHolder): string => {
  const lastSeen = `last seen at ${new Date(renewedAt).toISOString()}, ${Math.max(0, Math.round(silentMs / 1_000))} s ago`
  return `process ${pid} on ${host}, since ${since}, ${known === 'by its process' ? 'still running' : lastSeen}`
}
