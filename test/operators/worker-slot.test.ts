import { Subject, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createWorkerSlot, type WorkerSlot } from '../../src/operators/merge-map-pool.js'

/** A worker pool that the test controls. */
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
  return { slot: createWorkerSlot(pool), waiting, log }
}

/** A request that the test controls; logs its start and its end. */
const startRequest = (slot: WorkerSlot, name: string, log: string[]) => {
  const { acquire: hold, release: give } = slot.use()
  const answer$ = new Subject<string>()
  const request$ = hold(answer$.pipe(tap({ subscribe: () => log.push(`${name} asked`) })))
  return {
    ask: () => request$.subscribe({ next: (answer) => log.push(`${name} ${answer}`), error: () => log.push(`${name} failed`) }),
    give,
    answer$,
  }
}

describe('the worker of an item', () => {
  it('is free when the request of the item has finished, although the item has not', () => {
    const { slot, log } = createTestSlot()
    const { ask, give, answer$ } = startRequest(slot, 'A', log)
    ask()
    give()
    answer$.next('read')
    slot.release()
    expect(log).toEqual(['A asked', 'free', 'A read'])
  })

  it('is free when the last of several requests has finished, even if each releases twice', () => {
    const { slot, log } = createTestSlot()
    const [one, other] = [startRequest(slot, 'A', log), startRequest(slot, 'B', log)]
    one.ask()
    other.ask()
    one.give()
    one.give()
    expect(log).toEqual(['A asked', 'B asked'])
    other.give()
    expect(log).toEqual(['A asked', 'B asked', 'free'])
  })

  it('stays with the item while a request is retried', () => {
    const { slot, log, waiting } = createTestSlot()
    const { ask, give, answer$ } = startRequest(slot, 'A', log)
    ask()
    answer$.error(new Error('reset'))
    ask()
    expect(waiting).toEqual([])
    give()
    expect(log.filter((line) => line === 'free')).toEqual(['free'])
  })

  it('is waited for by a request that starts when it is gone', () => {
    const { slot, log, waiting } = createTestSlot()
    const first = startRequest(slot, 'A', log)
    first.ask()
    first.give()
    const later = startRequest(slot, 'B', log)
    later.ask()
    expect(log).toEqual(['A asked', 'free'])
    waiting.shift()?.()
    expect(log).toEqual(['A asked', 'free', 'B asked'])
    later.give()
    expect(log.at(-1)).toBe('free')
  })

  it('is one worker, even if two requests waited for it', () => {
    const { slot, log, waiting } = createTestSlot()
    const first = startRequest(slot, 'A', log)
    first.ask()
    first.give()
    const [one, other] = [startRequest(slot, 'B', log), startRequest(slot, 'C', log)]
    one.ask()
    other.ask()
    for (const begin of waiting.splice(0)) begin()
    expect(log).toEqual(['A asked', 'free', 'B asked', 'free', 'C asked'])
    one.give()
    other.give()
    expect(log.filter((line) => line === 'free')).toHaveLength(3)
  })

  it('is free before a request, and not during one', () => {
    const idle = createTestSlot()
    idle.slot.releaseIfIdle()
    idle.slot.releaseIfIdle()
    expect(idle.log).toEqual(['free'])
    const { slot, log } = createTestSlot()
    startRequest(slot, 'A', log).ask()
    slot.releaseIfIdle()
    expect(log).toEqual(['A asked'])
  })

  it('is no longer waited for by an unsubscribed request', () => {
    const { slot, log, waiting } = createTestSlot()
    slot.release()
    startRequest(slot, 'A', log).ask().unsubscribe()
    expect(waiting).toEqual([])
    slot.release()
    expect(log).toEqual(['free'])
  })
})
