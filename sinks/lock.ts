import { randomUUID } from 'node:crypto'
import { open, rename, utimes } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { exhaustMap, filter, Observable, take } from 'rxjs'
import { StorageError } from '../src/model/errors.js'
import { codeOf } from './file-error.js'
import { chainAt, clearSuccessors, fileSystemTime, isMade, type Link, removeOurs, successorOf } from './lock-chain.js'
import { HEARTBEAT_MS, type Holder, hasEnded, holderIn, isInSight, ourselves, STALE_MS } from './lock-holder.js'

/** A holder that may still be there, with the time of its last sign of life. */
export interface LiveHolder extends Holder {
  /** By what its last sign of life is known. */
  readonly known: 'by its process' | 'by its heartbeat' | 'not at all'
  /** Epoch milliseconds by the clock of the file system, and how long ago that is. */
  readonly renewedAt: number
  readonly silentMs: number
}

export interface LockOptions {
  /** Called once when another process has taken the lock, as it may after a sleep of this machine: this one must write no more. */
  readonly onLost?: (error: StorageError) => void
  /** When to renew the lock. */
  readonly beat$?: Observable<unknown>
}

const ATTEMPTS = 200
const PAUSE_MS = 10

/**
 * Takes a lock file for this process, and renews it until the returned function gives it back. The lock of a process that has ended is
 * taken over; that of a living one is a `StorageError` that names it. The process table tells which it is where it knows the process;
 * elsewhere, on another machine or in another container, the heartbeat does.
 */
export const takeLock = async (path: string, now: number, options: LockOptions = {}): Promise<() => void> => {
  const mine = JSON.stringify({ ...ourselves(), token: randomUUID(), since: new Date(now).toISOString() })
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const last = chainAt(path).at(-1)
    if (last !== undefined) await refuseIfLive(path, last)
    const place = last === undefined ? path : successorOf(path, last)
    if (await isMade(place, mine)) {
      // The lock may have changed since it was read; then the new file succeeds nobody.
      if (chainAt(path).at(-1)?.text === mine) return await held(path, { place, mine }, options)
      removeOurs(place, mine)
    }
    await pause(PAUSE_MS)
  }
  throw new StorageError(`${path} changes hands all the time: try again`)
}

/** Who holds a lock file: a process that may still be there, `nobody` where it is left behind; nothing where there is no lock. */
export const holderOf = (path: string): LiveHolder | 'nobody' | undefined => {
  const last = chainAt(path).at(-1)
  return last === undefined ? undefined : (liveHolder(last, Date.now()) ?? 'nobody')
}

const refuseIfLive = async (path: string, last: Link): Promise<void> => {
  const named = holderIn(last.text)
  if (named === undefined) return
  const now = isInSight(named) ? last.renewedAt : await fileSystemTime(path)
  const holder = liveHolder(last, now)
  if (holder === undefined) return
  // Renewed in the future: the clock was wrong then. From now on the heartbeat counts from now, or it would count from that day on.
  if (holder.silentMs < -HEARTBEAT_MS) await utimes(last.path, now / 1_000, now / 1_000).catch(() => undefined)
  throw new StorageError(refusal(holder, path))
}

const liveHolder = ({ text, renewedAt }: Link, now: number): LiveHolder | undefined => {
  const holder = holderIn(text)
  const silentMs = now - renewedAt
  if (holder === undefined || hasEnded(holder, silentMs)) return undefined
  const known = isInSight(holder) ? 'by its process' : holder.token === undefined ? 'not at all' : 'by its heartbeat'
  return { ...holder, known, renewedAt, silentMs }
}

interface Taken {
  /** The file that made us the holder. */
  readonly place: string
  readonly mine: string
}

const held = async (path: string, { place, mine }: Taken, options: LockOptions): Promise<() => void> => {
  const { beat$ = heartbeats, onLost = () => undefined } = options
  if (place !== path) await rename(place, path)
  clearSuccessors(path)
  const beating = beat$
    .pipe(
      exhaustMap(() => isRenewed(path, mine)),
      filter((isOurs) => !isOurs),
      take(1),
    )
    .subscribe(() => onLost(new StorageError(`another run has taken this folder: ${path} is no longer the lock of process ${process.pid}`)))
  return () => {
    beating.unsubscribe()
    removeOurs(path, mine)
  }
}

/** It keeps no process alive. */
const heartbeats = new Observable<void>((subscriber) => {
  const timer = setInterval(() => subscriber.next(), HEARTBEAT_MS).unref()
  return () => clearInterval(timer)
})

/**
 * Renews a lock, unless it is no longer ours. It is written again rather than touched: so its time is the file server's, not this
 * machine's. A disk that fails is no sign that the lock is another's.
 */
const isRenewed = async (path: string, mine: string): Promise<boolean> => {
  try {
    const file = await open(path, 'r+')
    try {
      if ((await file.readFile('utf8')) !== mine) return false
      await file.write(mine, 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    return codeOf(error) !== 'ENOENT'
  }
  return true
}

const ADVICE: Readonly<Record<LiveHolder['known'], (path: string) => string>> = {
  'by its process': () => 'Wait until it ends, or choose another folder',
  'by its heartbeat': () =>
    `Wait until it ends, or choose another folder. If it was killed, the folder is free ${STALE_MS / 1_000} s after it was last seen`,
  'not at all': (path) => `Wait until it ends, or choose another folder. If that process has ended, delete ${path}`,
}

const refusal = (holder: LiveHolder, path: string): string =>
  `another run holds this folder: ${describeHolder(holder)}. ${ADVICE[holder.known](path)}`

/** Who it is, since when, and when it was last seen. */
export const describeHolder = ({ pid, host, since, known, renewedAt, silentMs }: LiveHolder): string => {
  const seen = {
    'by its process': 'which is running',
    'by its heartbeat': `last seen at ${new Date(renewedAt).toISOString()}, ${Math.max(0, Math.round(silentMs / 1_000))} s ago`,
    'not at all': 'and nothing tells whether it still runs',
  }
  return `process ${pid} on ${host}, since ${since}, ${seen[known]}`
}
