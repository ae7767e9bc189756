import { hostname, uptime } from 'node:os'
import { basename } from 'node:path'
import { threadId } from 'node:worker_threads'
import { disk } from './disk.js'
import { getErrorCode } from './file-system.js'

export interface LockHolder {
  readonly pid: number
  readonly host: string
  /**
   * When the process started, in clock ticks since boot; distinguishes processes that reuse a pid. Linux
   * only.
   */
  readonly began?: string
  /** The thread of the process: on Linux its id there, and when it started; elsewhere Node's `threadId`. */
  readonly thread?: string
  /** When the lock was taken, ISO 8601. */
  readonly since: string
  /** Random, so that every lock is unique. */
  readonly token: string
  /** The boot id of the kernel, which all containers on it share. Linux only. */
  readonly boot?: string
  /** The PID namespace in which the pid is valid. Linux only. */
  readonly pidNamespace?: string
}

export const HEARTBEAT_MS = 5_000
/**
 * The age at which a lock without heartbeat is stale: far longer than an event loop is busy or a file server
 * hangs.
 */
export const LOCK_EXPIRY_MS = 60_000

const tryRead = (read: () => string): string | undefined => {
  try {
    return read().trim()
  } catch {
    return undefined
  }
}

const processScope = {
  boot: tryRead(() => disk.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  pidNamespace: tryRead(() => disk.readlinkSync('/proc/self/ns/pid')),
}

const describeThisThread = (): string => {
  const task = tryRead(() => disk.readlinkSync('/proc/thread-self'))
  const start = task === undefined ? undefined : readStartTime(task)
  return start === undefined ? String(threadId) : `${basename(String(task))}-${start}`
}

/** Describes this process for its lock files. */
export const describeThisProcess = (): Omit<LockHolder, 'since' | 'token'> =>
  removeUnknownFields({
    pid: process.pid,
    host: hostname(),
    began: readStartTime(String(process.pid)),
    thread: describeThisThread(),
    ...processScope,
  })

export const parseHolder = (text: string): LockHolder | undefined => {
  try {
    const { pid, host, since, began, thread, token, boot, pidNamespace } = JSON.parse(
      text,
    ) as Partial<LockHolder>
    if (!Number.isInteger(pid) || Number(pid) <= 0 || typeof host !== 'string' || typeof token !== 'string')
      return undefined
    return removeUnknownFields({
      pid: Number(pid),
      host,
      since: String(since),
      began,
      thread,
      token,
      boot,
      pidNamespace,
    })
  } catch {
    return undefined
  }
}

const removeUnknownFields = (
  holder: Pick<LockHolder, 'pid' | 'host'> & { readonly [name in keyof LockHolder]?: unknown },
): LockHolder =>
  Object.fromEntries(
    Object.entries(holder).filter(([name, value]) => name === 'pid' || typeof value === 'string'),
  ) as unknown as LockHolder

/** Whether our process table shows the holder: same kernel, same boot and same PID namespace. */
export const isVisible = ({ host, boot, pidNamespace }: LockHolder): boolean =>
  boot === processScope.boot &&
  pidNamespace === processScope.pidNamespace &&
  (boot !== undefined || host === hostname())

/** Whether a holder has ended, given the time since its last heartbeat. */
export const hasHolderEnded = (
  holder: LockHolder,
  silentMs: number,
  bootedForMs = uptime() * 1_000,
): boolean => {
  if (isVisible(holder)) return !isAlive(holder) || hasThreadEnded(holder, silentMs)
  if (silentMs > LOCK_EXPIRY_MS) return true
  // The holder ran on this machine before the last boot. Another machine with this name would have renewed
  // its lock since then.
  return (
    holder.host === hostname() &&
    holder.boot !== processScope.boot &&
    silentMs > Math.max(bootedForMs, 2 * HEARTBEAT_MS)
  )
}

const isAlive = ({ pid, began }: LockHolder): boolean => {
  if (!isProcessRunning(pid)) return false
  const start = readStartTime(String(pid))
  return began === undefined || start === undefined || began === start
}

/** Whether the thread of a running process is gone, or is another one of ours and silent for too long. */
const hasThreadEnded = ({ pid, thread }: LockHolder, silentMs: number): boolean => {
  if (thread === undefined) return false
  const [id, start] = thread.split('-')
  const isReadable = start !== undefined && readStartTime(String(pid)) !== undefined
  if (isReadable && readStartTime(`${pid}/task/${id}`) !== start) return true
  return pid === process.pid && thread !== describeThisThread() && silentMs > LOCK_EXPIRY_MS
}

export const isProcessRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (getErrorCode(error) === 'ESRCH') return false
  }
  // The process table still lists zombies.
  return !['Z', 'X'].includes(readStat(String(pid))[0] ?? '')
}

/** The facts of a process or, with a path below it, of one of its threads. */
const readStat = (task: string): readonly string[] => {
  const stat = tryRead(() => disk.readFileSync(`/proc/${task}/stat`, 'utf8'))
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
}

const readStartTime = (task: string): string | undefined => readStat(task)[19]
