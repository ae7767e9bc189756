import { describe, expect, it } from 'vitest'
import { WorkerSlot } from '../../src/operators/merge-map-pool.js'

/** A slot in a pool that the test controls. */
const createTestSlot = () => {
  const waiting: (() => void)[] = []
  const log: string[] = []
  const pool = {
    acquire: (start: () => void) => {
      waiting.push(start)
      return () => void waiting.splice(waiting.indexOf(start), 1)
    },
    release: () => void log.push('free'),
  }
  const slot = new WorkerSlot(pool)
  return { slot, waiting, log, begin: (name: string) => slot.acquire(() => log.push(name)) }
}

describe('the worker of an item', () => {
  it('is free when the request of the item has finished, although the item has not', () => {
    const { slot, log, begin } = createTestSlot()
    begin('A')
    slot.release()
    log.push('read')
    slot.end()
    expect(log).toEqual(['A', 'free', 'read'])
  })

  it('is free when the last of several requests has finished', () => {
    const { slot, log, begin } = createTestSlot()
    for (const name of ['A', 'B']) begin(name)
    slot.release()
    expect(log).toEqual(['A', 'B'])
    slot.release()
    expect(log).toEqual(['A', 'B', 'free'])
  })

  it('is waited for by a request that starts when it is gone', () => {
    const { slot, log, waiting, begin } = createTestSlot()
    begin('A')
    slot.release()
    begin('B')
    expect(log).toEqual(['A', 'free'])
    waiting.shift()?.()
    slot.release()
    expect(log).toEqual(['A', 'free', 'B', 'free'])
  })

  it('is one worker, even if two requests waited for it', () => {
    const { slot, log, waiting, begin } = createTestSlot()
    slot.end()
    for (const name of ['B', 'C']) begin(name)
    for (const start of waiting.splice(0)) start()
    expect(log).toEqual(['free', 'B', 'free', 'C'])
    slot.release()
    slot.release()
    expect(log.filter((line) => line === 'free')).toHaveLength(3)
  })

  it('is free before a request, and not during one', () => {
    const idle = createTestSlot()
    idle.slot.releaseIfIdle()
    idle.slot.releaseIfIdle()
    expect(idle.log).toEqual(['free'])
    const { slot, log, begin } = createTestSlot()
    begin('A')
    slot.releaseIfIdle()
    expect(log).toEqual(['A'])
  })

  it('is no longer waited for by a cancelled request', () => {
    const { slot, waiting, begin } = createTestSlot()
    slot.end()
    begin('A')?.()
    expect(waiting).toEqual([])
  })
})
