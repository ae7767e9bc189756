import { existsSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom, NEVER, Subject } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { holderOf, takeLock } from '../../sinks/lock.js'
import { chainAt, successorOf } from '../../sinks/lock-chain.js'
import { HEARTBEAT_MS, hasEnded, STALE_MS } from '../../sinks/lock-holder.js'
import { createCollector } from '../../src/collector.js'
import { StorageError } from '../../src/model/errors.js'
import { NOW, temporaryFolder } from './support.js'

const lockIn = (folder: string): string => join(folder, 'lock')
const heldBy = (holder: object): string => {
  const path = lockIn(temporaryFolder())
  writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname(), since: '2026-02-12T14:30:00.000Z', ...holder }))
  return path
}
/** More than any system gives. */
const NOBODY = 2 ** 30

describe('a lock', () => {
  it('names its holder to whoever comes second, and is free again once given back', async () => {
    const path = lockIn(temporaryFolder())
    const giveBack = await takeLock(path, NOW)
    const second = takeLock(path, NOW)
    await expect(second).rejects.toThrow(StorageError)
    await expect(second).rejects.toThrow(
      `another run is using this folder: process ${process.pid} on ${hostname()}, since 2026-02-12T14:30:00.000Z, still running. Wait until it ends, or choose another folder`,
    )
    giveBack()
    ;(await takeLock(path, NOW))()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each([
    ['a process that is no more', { pid: NOBODY }],
    ['a process whose number another one has now', { began: '1' }],
    ['a process that there cannot be', { pid: -1 }],
  ])('of %s is taken over', async (_, holder) => {
    const path = heldBy(holder)
    const giveBack = await takeLock(path, NOW)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid, since: '2026-02-12T14:30:00.000Z' })
    giveBack()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each(['', '{"pid"', '{}', 'null'])('that says %j is taken over', async (text) => {
    const path = lockIn(temporaryFolder())
    writeFileSync(path, text)
    ;(await takeLock(path, NOW))()
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it('of another machine that does not renew it, as before heartbeats, is respected, and the way out is told', async () => {
    const path = heldBy({ host: 'elsewhere', pid: NOBODY })
    await expect(takeLock(path, NOW)).rejects.toThrow(`process ${NOBODY} on elsewhere`)
    await expect(takeLock(path, NOW)).rejects.toThrow(`If that process has ended, delete ${path}`)
  })

  it('that someone else has taken meanwhile is not given back', async () => {
    const path = lockIn(temporaryFolder())
    const giveBack = await takeLock(path, NOW)
    writeFileSync(path, 'another')
    giveBack()
    expect(readFileSync(path, 'utf8')).toBe('another')
  })

  it('goes to exactly one of two, free or left behind by a dead process, a hundred times', async () => {
    for (let time = 0; time < 100; time++) {
      const path = time % 2 === 0 ? lockIn(temporaryFolder()) : heldBy({ pid: NOBODY })
      const tries = await Promise.allSettled([takeLock(path, NOW), takeLock(path, NOW + 1)])
      expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect(readdirSync(join(path, '..'))).toEqual(['lock'])
    }
  })
})

/** As a process writes it of which our process table knows nothing: a container on this kernel, another boot, another machine. */
const AFAR = { pid: process.pid, token: 'theirs', boot: 'another-boot', pidNamespace: 'pid:[1]' }
const renewed = (path: string, agoMs: number): string => {
  const at = (Date.now() - agoMs) / 1_000
  utimesSync(path, at, at)
  return path
}
const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const HERE = existsSync(BOOT_ID) ? { boot: readFileSync(BOOT_ID, 'utf8').trim() } : {}
const isTaken = async (path: string): Promise<boolean> =>
  takeLock(path, NOW).then(
    (giveBack) => {
      giveBack()
      expect(readdirSync(join(path, '..'))).toEqual([])
      return true
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(StorageError)
      return false
    },
  )

describe('a lock of a process that the process table does not show', () => {
  it.each([
    ['in another container with the same host name', { ...AFAR, ...HERE, pidNamespace: 'pid:[1]' }],
    ['in another container with another host name', { ...AFAR, ...HERE, host: 'elsewhere' }],
    ['on another machine', { ...AFAR, host: 'elsewhere' }],
    ['on another machine with the same host name', AFAR],
  ])('%s is respected while it is renewed, whatever its pid is here', async (_, holder) => {
    for (const pid of [process.pid, NOBODY]) {
      expect(await isTaken(heldBy({ ...holder, pid }))).toBe(false)
      expect(await isTaken(renewed(heldBy({ ...holder, pid }), HEARTBEAT_MS))).toBe(false)
    }
  })

  it.each([
    ['in a container that is no more', { ...AFAR, ...HERE, host: 'elsewhere' }],
    ['in a container that is no more, with the same host name', { ...AFAR, ...HERE }],
    ['on another machine', { ...AFAR, host: 'elsewhere' }],
  ])('%s is taken over once it has not been renewed for a minute', async (_, holder) => {
    expect(await isTaken(renewed(heldBy(holder), STALE_MS - 5_000))).toBe(false)
    expect(await isTaken(renewed(heldBy(holder), STALE_MS + 5_000))).toBe(true)
  })

  it.each([
    { host: hostname(), silentMs: 30_000, bootedForMs: 20_000, isFree: true },
    { host: hostname(), silentMs: 30_000, bootedForMs: 40_000, isFree: false },
    { host: 'elsewhere', silentMs: 30_000, bootedForMs: 20_000, isFree: false },
    // Another machine of the same name, which renewed its lock while this one was booting.
    { host: hostname(), silentMs: 4_000, bootedForMs: 2_000, isFree: false },
  ])('of $host, $silentMs ms after its last sign of life and $bootedForMs ms after our boot, is free: $isFree', (one) => {
    const { host, silentMs, bootedForMs, isFree } = one
    expect(hasEnded({ ...AFAR, host, since: 'then' }, silentMs, bootedForMs)).toBe(isFree)
  })

  it('says when its holder was last seen, and when the folder is free if it was killed', async () => {
    const path = renewed(heldBy({ ...AFAR, host: 'elsewhere' }), 20_000)
    const seen = new Date(statSync(path).mtimeMs).toISOString()
    await expect(takeLock(path, NOW)).rejects.toThrow(
      `process ${process.pid} on elsewhere, since 2026-02-12T14:30:00.000Z, last seen at ${seen}, 20 s ago. Wait until it ends, or choose another folder. If it was killed, the lock expires 60 s after it was last seen`,
    )
    expect(holderOf(path)).toMatchObject({ host: 'elsewhere', known: 'by its heartbeat' })
    expect(holderOf(renewed(path, STALE_MS + 1_000))).toBe('nobody')
  })

  it('that was renewed in the future, by a clock that was wrong, counts from now on', async () => {
    const path = renewed(heldBy({ ...AFAR, host: 'elsewhere' }), -1e9)
    expect(await isTaken(path)).toBe(false)
    expect(Math.abs(statSync(path).mtimeMs - Date.now())).toBeLessThan(10_000)
    expect(await isTaken(renewed(path, STALE_MS + 1_000))).toBe(true)
  })
})

describe('a take-over', () => {
  const takenOverBy = (path: string, holder: object): string => {
    const last = chainAt(path).at(-1)
    if (last === undefined) throw new Error('there is no lock')
    const successor = successorOf(path, last)
    writeFileSync(successor, JSON.stringify({ pid: NOBODY, host: hostname(), since: 'then', ...holder }))
    return successor
  }

  it('that was killed before it put its lock in place heals at once', async () => {
    const path = heldBy({ pid: NOBODY })
    takenOverBy(path, {})
    takenOverBy(path, {})
    writeFileSync(`${path}.takeover`, 'of an earlier version')
    utimesSync(`${path}.takeover`, 4e9, 4e9)
    expect(await isTaken(path)).toBe(true)
  })

  it('that was killed in another container heals after a minute', async () => {
    const path = heldBy({ pid: NOBODY })
    const successor = takenOverBy(path, { ...AFAR, ...HERE })
    expect(await isTaken(path)).toBe(false)
    renewed(successor, STALE_MS + 1_000)
    expect(await isTaken(path)).toBe(true)
  })

  it('that is under way is the lock of a living process', async () => {
    const path = heldBy({ pid: NOBODY })
    takenOverBy(path, { pid: process.pid })
    await expect(takeLock(path, NOW)).rejects.toThrow(`process ${process.pid} on`)
    expect(holderOf(path)).toMatchObject({ pid: process.pid })
  })

  it('of many at once succeeds for one', async () => {
    for (let time = 0; time < 30; time++) {
      const path = heldBy({ pid: NOBODY })
      if (time % 2 === 0) takenOverBy(path, {})
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(path, NOW)))
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(readdirSync(join(path, '..'))).toEqual(['lock'])
    }
  })
})

describe('the heartbeat', () => {
  /** Renewing reads and writes a file: some turns of the event loop. */
  const settle = async (isDone: () => boolean): Promise<void> => {
    for (let turn = 0; turn < 10_000 && !isDone(); turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  it('renews the lock without changing what it says', async () => {
    const path = lockIn(temporaryFolder())
    const beat$ = new Subject<void>()
    const giveBack = await takeLock(path, NOW, { beat$ })
    const said = readFileSync(path, 'utf8')
    renewed(path, 30_000)
    beat$.next()
    await settle(() => Date.now() - statSync(path).mtimeMs < 20_000)
    expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(20_000)
    expect(readFileSync(path, 'utf8')).toBe(said)
    giveBack()
    expect(beat$.observed).toBe(false)
  })

  it.each([
    ['taken over', (path: string) => renameSync(heldBy({ pid: NOBODY }), path)],
    ['deleted', (path: string) => renameSync(path, `${path}.gone`)],
  ])('notices once that the lock was %s, and leaves it alone', async (_, lose) => {
    const path = lockIn(temporaryFolder())
    const beat$ = new Subject<void>()
    const onLost = vi.fn()
    const giveBack = await takeLock(path, NOW, { beat$, onLost })
    lose(path)
    const left = existsSync(path) && readFileSync(path, 'utf8')
    beat$.next()
    await settle(() => onLost.mock.calls.length > 0)
    beat$.next()
    expect(onLost.mock.calls).toEqual([[expect.any(StorageError)]])
    giveBack()
    expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(left)
  })

  describe('of a run', () => {
    afterEach(() => void vi.useRealTimers())

    it('ends the run when another one has taken its folder', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      const out = temporaryFolder()
      const path = join(out, '.scripstream', 'lock')
      const urls = { analytics: 'http://127.0.0.1:9' }
      const collector = createCollector({ settings: { urls }, storage: folder(out), transport: () => NEVER })
      const run = lastValueFrom(collector.run({ only: ['master-data'] })).catch((error: unknown) => error)
      await settle(() => existsSync(join(out, '.scripstream', 'run.json')))
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
