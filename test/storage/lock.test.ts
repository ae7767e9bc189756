import { once } from 'node:events'
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { lastValueFrom, NEVER, Subject } from 'rxjs'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../../src/collector.js'
import { StorageError } from '../../src/model/errors.js'
import { acquireLock, findLockHolder, readLockChain, successorPath } from '../../src/storage/lock.js'
import {
  describeThisProcess,
  HEARTBEAT_MS,
  hasHolderEnded,
  LOCK_EXPIRY_MS,
} from '../../src/storage/lock-holder.js'
import { NOW } from '../sinks/support.js'
import { temporaryFolder } from '../support/folders.js'
import { until } from '../support/until.js'

const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const PID_NAMESPACE = '/proc/self/ns/pid'
const THIS_BOOT = existsSync(BOOT_ID) ? { boot: readFileSync(BOOT_ID, 'utf8').trim() } : {}
/** A lock of this machine and container. */
const LOCAL = {
  token: 'mine',
  ...THIS_BOOT,
  ...(existsSync(PID_NAMESPACE) ? { pidNamespace: readlinkSync(PID_NAMESPACE) } : {}),
}
const lockIn = (folder: string): string => join(folder, 'lock')
const writeLock = (holder: object): string => {
  const path = lockIn(temporaryFolder())
  writeFileSync(
    path,
    JSON.stringify({
      pid: process.pid,
      host: hostname(),
      since: '2026-02-12T14:30:00.000Z',
      ...LOCAL,
      ...holder,
    }),
  )
  return path
}
/** Greater than any pid. */
const UNUSED_PID = 2 ** 30

describe('a lock', () => {
  it('names its holder to a second run, and is free after release', async () => {
    const path = lockIn(temporaryFolder())
    const release = await acquireLock(path, NOW)
    const second = acquireLock(path, NOW)
    await expect(second).rejects.toThrow(StorageError)
    await expect(second).rejects.toThrow(
      `another run is using this folder: process ${process.pid} on ${hostname()}, since 2026-02-12T14:30:00.000Z, still running. Wait until it ends, or choose another folder`,
    )
    release()
    ;(await acquireLock(path, NOW))()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each([
    ['a dead process', { pid: UNUSED_PID }],
    ['a process whose pid was reused', { began: '1' }],
    ['a thread whose id was reused', { thread: `${process.pid}-1` }],
    ['a process with an invalid pid', { pid: -1 }],
  ])('takes over the lock of %s', async (_, holder) => {
    const path = writeLock(holder)
    const release = await acquireLock(path, NOW)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      pid: process.pid,
      since: '2026-02-12T14:30:00.000Z',
    })
    release()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each(['', '{"pid"', '{}', 'null'])('takes over a lock file that contains %j', async (text) => {
    const path = lockIn(temporaryFolder())
    writeFileSync(path, text)
    ;(await acquireLock(path, NOW))()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it('does not delete a lock that another process has taken over', async () => {
    const path = lockIn(temporaryFolder())
    const release = await acquireLock(path, NOW)
    writeFileSync(path, 'another')
    release()
    expect(readFileSync(path, 'utf8')).toBe('another')
  })

  it('goes to exactly one of two processes, free or stale, a hundred times', async () => {
    for (let time = 0; time < 100; time++) {
      const path = time % 2 === 0 ? lockIn(temporaryFolder()) : writeLock({ pid: UNUSED_PID })
      const tries = await Promise.allSettled([acquireLock(path, NOW), acquireLock(path, NOW + 1)])
      expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect(readdirSync(join(path, '..'))).toEqual(['lock'])
    }
  })
})

/** A thread of this process, as a lock describes it, until it is ended. */
const startThread = async () => {
  const worker = new Worker(
    `const { readlinkSync, readFileSync } = require('node:fs')
    const { parentPort } = require('node:worker_threads')
    const task = readlinkSync('/proc/thread-self')
    const stat = readFileSync('/proc/' + task + '/stat', 'utf8')
    parentPort.postMessage(task.split('/').at(-1) + '-' + stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
    setInterval(() => undefined, 1000)`,
    { eval: true },
  )
  onTestFinished(() => void worker.terminate())
  const [thread] = (await once(worker, 'message')) as [string]
  return { thread, end: () => worker.terminate() }
}

describe('a lock of another thread of this process', () => {
  it.skipIf(!existsSync('/proc/thread-self'))('is free once the thread is gone, not before', async () => {
    const { thread, end } = await startThread()
    const path = writeLock({ thread })
    expect(await isTaken(path)).toBe(false)
    await end()
    expect(await isTaken(path)).toBe(true)
  })

  it('is free after a minute without heartbeat, where nothing else shows that the thread is gone', async () => {
    const old = (agoMs: number, thread?: string): string => renewed(writeLock({ thread }), agoMs)
    expect(await isTaken(old(LOCK_EXPIRY_MS - 5_000, '4711'))).toBe(false)
    expect(await isTaken(old(LOCK_EXPIRY_MS + 5_000, '4711'))).toBe(true)
    // This thread is alive, however long it was busy.
    const { thread } = describeThisProcess()
    expect(await isTaken(old(LOCK_EXPIRY_MS + 5_000, thread))).toBe(false)
    expect(await isTaken(old(LOCK_EXPIRY_MS + 5_000))).toBe(false)
  })
})

/** The lock of a process outside our process table: another container, another boot or another machine. */
const REMOTE = { pid: process.pid, token: 'theirs', boot: 'another-boot', pidNamespace: 'pid:[1]' }
const renewed = (path: string, agoMs: number): string => {
  const at = (Date.now() - agoMs) / 1_000
  utimesSync(path, at, at)
  return path
}
const isTaken = async (path: string): Promise<boolean> =>
  acquireLock(path, NOW).then(
    (release) => {
      release()
      expect(readdirSync(join(path, '..'))).toEqual([])
      return true
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(StorageError)
      return false
    },
  )

describe('a lock whose holder is not in our process table', () => {
  it.each([
    ['in another container with the same host name', { ...REMOTE, ...THIS_BOOT, pidNamespace: 'pid:[1]' }],
    ['in another container with another host name', { ...REMOTE, ...THIS_BOOT, host: 'elsewhere' }],
    ['on another machine', { ...REMOTE, host: 'elsewhere' }],
    ['on another machine with the same host name', REMOTE],
  ])('respects a renewed lock %s, whatever its pid is here', async (_, holder) => {
    for (const pid of [process.pid, UNUSED_PID]) {
      expect(await isTaken(writeLock({ ...holder, pid }))).toBe(false)
      expect(await isTaken(renewed(writeLock({ ...holder, pid }), HEARTBEAT_MS))).toBe(false)
    }
  })

  it.each([
    ['in a removed container', { ...REMOTE, ...THIS_BOOT, host: 'elsewhere' }],
    ['in a removed container with the same host name', { ...REMOTE, ...THIS_BOOT }],
    ['on another machine', { ...REMOTE, host: 'elsewhere' }],
  ])('takes over a lock %s after a minute without heartbeat', async (_, holder) => {
    expect(await isTaken(renewed(writeLock(holder), LOCK_EXPIRY_MS - 5_000))).toBe(false)
    expect(await isTaken(renewed(writeLock(holder), LOCK_EXPIRY_MS + 5_000))).toBe(true)
  })

  it.each([
    { host: hostname(), silentMs: 30_000, bootedForMs: 20_000, isFree: true },
    { host: hostname(), silentMs: 30_000, bootedForMs: 40_000, isFree: false },
    { host: 'elsewhere', silentMs: 30_000, bootedForMs: 20_000, isFree: false },
    // Another machine with the same name renewed its lock while this one was booting.
    { host: hostname(), silentMs: 4_000, bootedForMs: 2_000, isFree: false },
  ])(
    'of $host, $silentMs ms after its last heartbeat and $bootedForMs ms after our boot, is free: $isFree',
    (one) => {
      const { host, silentMs, bootedForMs, isFree } = one
      expect(hasHolderEnded({ ...REMOTE, host, since: 'then' }, silentMs, bootedForMs)).toBe(isFree)
    },
  )

  it('says when the holder was last seen and when its lock expires', async () => {
    const path = renewed(writeLock({ ...REMOTE, host: 'elsewhere' }), 20_000)
    const seen = new Date(statSync(path).mtimeMs).toISOString()
    await expect(acquireLock(path, NOW)).rejects.toThrow(
      `process ${process.pid} on elsewhere, since 2026-02-12T14:30:00.000Z, last seen at ${seen}, 20 s ago. Wait until it ends, or choose another folder. If it was killed, the lock expires 60 s after it was last seen`,
    )
    expect(findLockHolder(path)).toMatchObject({ host: 'elsewhere', known: 'by its heartbeat' })
    expect(findLockHolder(renewed(path, LOCK_EXPIRY_MS + 1_000))).toBe('stale')
  })

  it('resets a heartbeat in the future, from a wrong clock, to now', async () => {
    const path = renewed(writeLock({ ...REMOTE, host: 'elsewhere' }), -1e9)
    expect(await isTaken(path)).toBe(false)
    expect(Math.abs(statSync(path).mtimeMs - Date.now())).toBeLessThan(10_000)
    expect(await isTaken(renewed(path, LOCK_EXPIRY_MS + 1_000))).toBe(true)
  })
})

describe('a takeover of a lock', () => {
  const writeSuccessor = (path: string, holder: object): string => {
    const last = readLockChain(path).at(-1)
    if (last === undefined) throw new Error('there is no lock')
    const successor = successorPath(path, last)
    writeFileSync(
      successor,
      JSON.stringify({ pid: UNUSED_PID, host: hostname(), since: 'then', ...LOCAL, ...holder }),
    )
    return successor
  }

  it('recovers at once if it was killed before its rename', async () => {
    const path = writeLock({ pid: UNUSED_PID })
    writeSuccessor(path, {})
    writeSuccessor(path, {})
    expect(await isTaken(path)).toBe(true)
  })

  it('recovers after a minute if it was killed in another container', async () => {
    const path = writeLock({ pid: UNUSED_PID })
    const successor = writeSuccessor(path, { ...REMOTE, ...THIS_BOOT })
    expect(await isTaken(path)).toBe(false)
    renewed(successor, LOCK_EXPIRY_MS + 1_000)
    expect(await isTaken(path)).toBe(true)
  })

  it('counts as a lock while it is in progress', async () => {
    const path = writeLock({ pid: UNUSED_PID })
    writeSuccessor(path, { pid: process.pid })
    await expect(acquireLock(path, NOW)).rejects.toThrow(`process ${process.pid} on`)
    expect(findLockHolder(path)).toMatchObject({ pid: process.pid })
  })

  it('succeeds for exactly one of many concurrent processes', async () => {
    for (let time = 0; time < 30; time++) {
      const path = writeLock({ pid: UNUSED_PID })
      if (time % 2 === 0) writeSuccessor(path, {})
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => acquireLock(path, NOW)))
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(readdirSync(join(path, '..'))).toEqual(['lock'])
    }
  })
})

describe('the heartbeat', () => {
  it('renews the lock without changing its content', async () => {
    const path = lockIn(temporaryFolder())
    const beat$ = new Subject<void>()
    const release = await acquireLock(path, NOW, { heartbeat$: beat$ })
    const said = readFileSync(path, 'utf8')
    renewed(path, 30_000)
    beat$.next()
    await until('a renewed lock', () => Date.now() - statSync(path).mtimeMs < 20_000)
    expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(20_000)
    expect(readFileSync(path, 'utf8')).toBe(said)
    release()
    expect(beat$.observed).toBe(false)
  })

  it.each([
    ['taken over', (path: string) => renameSync(writeLock({ pid: UNUSED_PID }), path)],
    ['deleted', (path: string) => renameSync(path, `${path}.gone`)],
  ])('reports once that the lock was %s, and does not touch it', async (_, lose) => {
    const path = lockIn(temporaryFolder())
    const beat$ = new Subject<void>()
    const onLost = vi.fn()
    const release = await acquireLock(path, NOW, { heartbeat$: beat$, onLost })
    lose(path)
    const left = existsSync(path) && readFileSync(path, 'utf8')
    beat$.next()
    await until('the loss', () => onLost.mock.calls.length > 0)
    beat$.next()
    expect(onLost.mock.calls).toEqual([[expect.any(StorageError)]])
    release()
    expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(left)
  })

  describe('of a run', () => {
    afterEach(() => void vi.useRealTimers())

    it('ends the run after another run has taken over its folder', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      const out = temporaryFolder()
      const path = join(out, '.scripstream', 'lock')
      const urls = { analytics: 'http://127.0.0.1:9' }
      const collector = createCollector({ settings: { urls }, storage: folder(out), transport: () => NEVER })
      const run = lastValueFrom(collector.run({ only: ['master-data'] })).catch((error: unknown) => error)
      await until('the heartbeat of the run', () => vi.getTimerCount() > 0)
      vi.advanceTimersByTime(HEARTBEAT_MS)
      writeFileSync(path, JSON.stringify({ pid: 7, host: 'elsewhere', since: 'now' }))
      vi.advanceTimersByTime(HEARTBEAT_MS)
      const ended = await run
      expect(ended).toBeInstanceOf(StorageError)
      expect(String(ended)).toContain('another run has taken over this folder')
      expect(readFileSync(path, 'utf8')).toContain('elsewhere')
    })
  })
})
