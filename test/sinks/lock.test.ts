import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { takeLock } from '../../sinks/lock.js'
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
      `another run holds this folder: process ${process.pid} on ${hostname()}, since 2026-02-12T14:30:00.000Z. Wait until it ends, or choose another --out. If that process is no run any more, delete ${path}`,
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

  it('of another machine is respected, and the way out is told', async () => {
    const path = heldBy({ host: 'elsewhere', pid: NOBODY })
    await expect(takeLock(path, NOW)).rejects.toThrow(`process ${NOBODY} on elsewhere`)
    await expect(takeLock(path, NOW)).rejects.toThrow(`If that process is no run any more, delete ${path}`)
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
