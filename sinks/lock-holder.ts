import { readFileSync, readlinkSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { codeOf } from './file-error.js'

/** The process that holds a lock, as its file says. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process started, in clock ticks since boot: a pid that was given out again has another start. Linux only. */
  readonly began?: string
  /** When the lock was taken, ISO 8601. */
  readonly since: string
  /** Random, so that no two locks are alike; only a lock that has one is renewed. */
  readonly token?: string
  /** The boot of the kernel, which all containers on it share. Linux only. */
  readonly boot?: string
  /** The PID namespace, outside which the pid means nothing. Linux only. */
  readonly pidNamespace?: string
}

export const HEARTBEAT_MS = 5_000
/** A lock that was not renewed for so long belongs to nobody: far longer than an event loop is busy or a file server hangs. */
export const STALE_MS = 60_000

const textAt = (read: () => string): string | undefined => {
  try {
    return read().trim()
  } catch {
    return undefined
  }
}

const place = {
  boot: textAt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  pidNamespace: textAt(() => readlinkSync('/proc/self/ns/pid')),
}

/** What this process writes into the locks that it takes. */
export const ourselves = (): Omit<Holder, 'since' | 'token'> =>
  without({ pid: process.pid, host: hostname(), began: startOf(process.pid), ...place })

/** The holder that a lock file names; nothing if the file is damaged. */
export const holderIn = (text: string): Holder | undefined => {
  try {
    const { pid, host, since, ...more } = JSON.parse(text) as Partial<Holder>
    if (!Number.isInteger(pid) || Number(pid) <= 0 || typeof host !== 'string') return undefined
    const { began, token, boot, pidNamespace } = more
    return without({ pid: Number(pid), host, since: String(since), began, token, boot, pidNamespace })
  } catch {
    return undefined
  }
}

/** Without what is unknown, or no text where a text is due. */
const without = (holder: Pick<Holder, 'pid' | 'host'> & { readonly [name in keyof Holder]?: unknown }): Holder =>
  Object.fromEntries(Object.entries(holder).filter(([name, value]) => name === 'pid' || typeof value === 'string')) as unknown as Holder

/** Whether our process table tells of the holder: it runs on this kernel, since its last boot, and in our PID namespace. */
export const isInSight = ({ host, token, boot, pidNamespace }: Holder): boolean => {
  // Before locks were renewed, a file told no more than the host.
  if (token === undefined) return host === hostname()
  return boot === place.boot && pidNamespace === place.pidNamespace && (boot !== undefined || host === hostname())
}

/** Whether a holder has ended, of which the last sign of life is so old. */
export const hasEnded = (holder: Holder, silentMs: number, bootedForMs = uptime() * 1_000): boolean => {
  if (isInSight(holder)) return !isAlive(holder)
  if (holder.token === undefined) return false
  if (silentMs > STALE_MS) return true
  // It ran on this machine before the last boot. Another machine of the same name would have renewed its lock since then.
  return holder.host === hostname() && holder.boot !== place.boot && silentMs > Math.max(bootedForMs, 2 * HEARTBEAT_MS)
}

const isAlive = ({ pid, began }: Holder): boolean => {
  if (!isRunning(pid)) return false
  const start = startOf(pid)
  return began === undefined || start === undefined || began === start
}

export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false
  }
  // One that has ended and that nobody has asked after yet is still counted.
  return !['Z', 'X'].includes(factsOf(pid)[0] ?? '')
}

/** What the system tells of a process, from its state on; nothing where it does not. */
const factsOf = (pid: number): readonly string[] => {
  try {
    const facts = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return facts.slice(facts.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

const startOf = (pid: number): string | undefined => factsOf(pid)[19]
