import { randomUUID } from 'node:crypto'
import { readFileSync, unlinkSync } from 'node:fs'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
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

const ATTEMPTS = 20

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
    await setAside(path, held)
  }
  throw new StorageError(`${path} changes hands all the time: try again`)
}

/** Makes the lock in one step with its content, so that nobody ever reads half of it; false if there is one. */
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

/** Takes a dead lock away. Of several that try, one moves it; who moved a new lock instead puts it back. */
const setAside = async (path: string, dead: string): Promise<void> => {
  const aside = besides(path)
  if ((await rename(path, aside).then(() => true, unlessGone)) === undefined) return
  const moved = await readFile(aside, 'utf8')
  if (moved !== dead) await link(aside, path).catch(() => undefined)
  await rm(aside, { force: true })
}

const besides = (path: string): string => join(dirname(path), `.lock.${randomUUID()}.tmp`)

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
    return Number.isInteger(pid) && typeof host === 'string'
      ? { pid: Number(pid), host, since: String(since), ...(typeof began === 'string' ? { began } : {}) }
      : undefined
  } catch {
    return undefined
  }
}

/** Whether the process may still be there; nobody can tell of another machine's. */
const isAlive = ({ pid, host, began }: Holder): boolean => {
  if (host !== hostname()) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false
  }
  const begins = beganOf(pid)
  return began === undefined || begins === undefined || began === begins
}

/** The start of a process in ticks since the system's, where the system tells. */
const beganOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

const refusal = ({ pid, host, since }: Holder, path: string): string =>
  `another run holds this folder: process ${pid} on ${host}, since ${since}. Wait until it ends, or choose another --out.` +
  (host === hostname() ? '' : ` If it is over, delete ${path}`)
