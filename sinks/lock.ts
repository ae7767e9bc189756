import { randomUUID } from 'node:crypto'
import { readFileSync, unlinkSync } from 'node:fs'
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { StorageError } from '../src/model/errors.js'
import { codeOf } from './file-error.js'

/** Who holds a lock. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process began, as the system counts it; a number that was given to another process later begins otherwise. */
  readonly began?: string
  /** ISO 8601. */
  readonly since: string
}

const ATTEMPTS = 200
const PAUSE_MS = 10
/** Taking over is a matter of moments: who has not done it in this time was killed at it. */
const TAKEOVER_MS = 5_000

/**
 * Takes a lock file for this process; the returned function gives it back. The lock of a process that is no more is taken over; that of
 * a living one is a `StorageError` that names it.
 */
export const takeLock = async (path: string, now: number): Promise<() => void> => {
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), began: beganOf(process.pid), since: new Date(now).toISOString() })
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await isMade(path, mine)) return () => giveBack(path, mine)
    const held = await readFile(path, 'utf8').catch(unlessGone)
    if (held === undefined) continue
    const holder = holderIn(held)
    if (holder !== undefined && isAlive(holder)) throw new StorageError(refusal(holder, path))
    if (await isTakenOver(path, { dead: held, mine })) return () => giveBack(path, mine)
    await pause(PAUSE_MS)
  }
  throw new StorageError(`${path} changes hands all the time: try again`)
}

/** Who holds a lock file: a process that may still be there, `nobody` where it is left behind; nothing where there is no lock. */
export const holderOf = (path: string): Holder | 'nobody' | undefined => {
  let held: string
  try {
    held = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  const holder = holderIn(held)
  return holder !== undefined && isAlive(holder) ? holder : 'nobody'
}

/** Makes a file in one step with its content, so that nobody ever reads half of it; false if there is one. */
const isMade = async (path: string, content: string): Promise<boolean> => {
  const temporary = besides(path)
  await writeFile(temporary, content, { flag: 'wx' })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
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

/** Puts a lock in the place of a dead one, unless another has; there is a lock all the time. Only one process at a time may try. */
const isTakenOver = async (path: string, { dead, mine }: { readonly dead: string; readonly mine: string }): Promise<boolean> => {
  const turn = `${path}.takeover`
  if (!(await isMade(turn, mine))) {
    const { mtimeMs = Date.now() } = (await stat(turn).catch(unlessGone)) ?? {}
    if (Date.now() - mtimeMs > TAKEOVER_MS) await rm(turn, { force: true })
    return false
  }
  try {
    if ((await readFile(path, 'utf8').catch(unlessGone)) !== dead) return false
    const temporary = besides(path)
    await writeFile(temporary, mine, { flag: 'wx' })
    await rename(temporary, path)
    return true
  } finally {
    await rm(turn, { force: true })
  }
}

const besides = (path: string): string => join(dirname(path), `.lock-${process.pid}.${randomUUID()}.tmp`)

/** Whether a file is a lock that a living process is about to take. */
export const isLockOnItsWay = (name: string): boolean => {
  const pid = /^\.lock-(\d+)\./.exec(name)?.[1]
  return pid !== undefined && isRunning(Number(pid))
}

const giveBack = (path: string, mine: string): void => {
  try {
    if (readFileSync(path, 'utf8') === mine) unlinkSync(path)
  } catch {
    // Gone already, with its folder perhaps: nobody is kept out.
  }
}

const unlessGone = (error: unknown): undefined => {
  if (codeOf(error) === 'ENOENT') return undefined
  throw error
}

const holderIn = (text: string): Holder | undefined => {
  try {
    const { pid, host, began, since } = JSON.parse(text) as Partial<Holder>
    return Number.isInteger(pid) && Number(pid) > 0 && typeof host === 'string'
      ? { pid: Number(pid), host, since: String(since), ...(typeof began === 'string' ? { began } : {}) }
      : undefined
  } catch {
    return undefined
  }
}

/** Whether the process may still be there; nobody can tell of another machine's. */
const isAlive = ({ pid, host, began }: Holder): boolean => {
  if (host !== hostname()) return true
  if (!isRunning(pid)) return false
  const begins = beganOf(pid)
  return began === undefined || begins === undefined || began === begins
}

const isRunning = (pid: number): boolean => {
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

/** The start of a process in ticks since the system's. */
const beganOf = (pid: number): string | undefined => factsOf(pid)[19]

const refusal = ({ pid, host, since }: Holder, path: string): string =>
  `another run holds this folder: process ${pid} on ${host}, since ${since}. Wait until it ends, or choose another --out. ` +
  `If that process is no run any more, delete ${path}`
