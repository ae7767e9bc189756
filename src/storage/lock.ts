import { randomUUID } from 'node:crypto'
import { open, utimes } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { exhaustMap, filter, fromEventPattern, type Observable, take } from 'rxjs'
import { StorageError } from '../model/errors.js'
import { getErrorCode, renameOver } from './file-system.js'
import {
  clearSuccessors,
  createExclusively,
  describeThisProcess,
  HEARTBEAT_MS,
  hasEnded,
  isVisible,
  LOCK_EXPIRY_MS,
  type LockFile,
  type LockHolder,
  parseHolder,
  readFileSystemTime,
  readLockChain,
  removeIfUnchanged,
  successorPath,
} from './lock-files.js'

/** A holder that may still be running, with the time of its last heartbeat. */
export interface LiveHolder extends LockHolder {
  /** What shows that the holder may still be running. */
  readonly known: 'by its process' | 'by its heartbeat'
  /** The last heartbeat, epoch milliseconds by the clock of the file system, and its age. */
  readonly renewedAt: number
  readonly silentMs: number
}

export interface LockOptions {
  /** Called once if another process has taken over the lock, for example while this machine slept. Stop writing then. */
  readonly onLost?: (error: StorageError) => void
  /** When to renew the lock. */
  readonly heartbeat$?: Observable<unknown>
}

const MAX_ATTEMPTS = 200
const RETRY_DELAY_MS = 10

/**
 * Acquires a lock file and renews it until the returned function is called. Takes over the lock of a process that has ended. Throws a
 * `StorageError` that names the holder if it is alive. The process table shows whether it is alive; on another machine or in another
 * container, the heartbeat does.
 */
export const acquireLock = async (path: string, now: number, options: LockOptions = {}): Promise<() => void> => {
  const mine = JSON.stringify({ ...describeThisProcess(), token: randomUUID(), since: new Date(now).toISOString() })
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const last = readLockChain(path).at(-1)
    if (last !== undefined) await rejectIfLive(path, last)
    const file = last === undefined ? path : successorPath(path, last)
    if (await createExclusively(file, mine)) {
      // The lock may have changed since it was read; then the new file is not part of the chain.
      if (readLockChain(path).at(-1)?.text === mine) return await startHeartbeat(path, { file, mine }, options)
      removeIfUnchanged(file, mine)
    }
    await pause(RETRY_DELAY_MS)
  }
  throw new StorageError(`${path} cannot be locked: other processes keep taking the lock; try again`)
}

/** Finds the holder of a lock: a process that may be running, `stale` if its process is gone, `undefined` if there is no lock. */
export const findLockHolder = (path: string): LiveHolder | 'stale' | undefined => {
  const last = readLockChain(path).at(-1)
  return last === undefined ? undefined : (toLiveHolder(last, Date.now()) ?? 'stale')
}

const rejectIfLive = async (path: string, last: LockFile): Promise<void> => {
  const parsed = parseHolder(last.text)
  if (parsed === undefined) return
  const now = isVisible(parsed) ? last.renewedAt : await readFileSystemTime(path)
  const holder = toLiveHolder(last, now)
  if (holder === undefined) return
  // A heartbeat in the future means that the clock was wrong. Reset it to now; otherwise the lock would not expire before that date.
  // Whether that succeeds or not, the run is rejected.
  if (holder.silentMs < -HEARTBEAT_MS) await utimes(last.path, now / 1_000, now / 1_000).catch(() => undefined)
  throw new StorageError(describeLockConflict(holder))
}

const toLiveHolder = ({ text, renewedAt }: LockFile, now: number): LiveHolder | undefined => {
  const holder = parseHolder(text)
  const silentMs = now - renewedAt
  if (holder === undefined || hasEnded(holder, silentMs)) return undefined
  return { ...holder, known: isVisible(holder) ? 'by its process' : 'by its heartbeat', renewedAt, silentMs }
}

interface OwnLock {
  /** The file with which this process acquired the lock. */
  readonly file: string
  readonly mine: string
}

const startHeartbeat = async (path: string, { file, mine }: OwnLock, options: LockOptions): Promise<() => void> => {
  const { heartbeat$: beat$ = defaultHeartbeat$, onLost = () => undefined } = options
  if (file !== path) await renameOver(file, path)
  clearSuccessors(path)
  const heartbeat = beat$
    .pipe(
      exhaustMap(() => renewLock(path, mine)),
      filter((isOurs) => !isOurs),
      take(1),
    )
    .subscribe(() =>
      onLost(new StorageError(`another run has taken over this folder: ${path} is no longer locked by process ${process.pid}`)),
    )
  return () => {
    heartbeat.unsubscribe()
    removeIfUnchanged(path, mine)
  }
}

/** Does not keep the process alive. */
const defaultHeartbeat$ = fromEventPattern<void>(
  (beat) => setInterval(beat, HEARTBEAT_MS).unref(),
  (_, timer: NodeJS.Timeout) => clearInterval(timer),
)

/**
 * Renews the lock; resolves to false if it is no longer ours. Rewrites the file instead of touching it: so its time comes from the clock of
 * the file server. A disk error does not mean that another process has the lock.
 */
const renewLock = async (path: string, mine: string): Promise<boolean> => {
  try {
    const file = await open(path, 'r+')
    try {
      if ((await file.readFile('utf8')) !== mine) return false
      await file.write(mine, 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    return getErrorCode(error) !== 'ENOENT'
  }
  return true
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
