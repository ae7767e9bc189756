import { Subject, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createSlot, type Slot } from '../../src/operators/slot.js'

/** Workers that are given out by hand. */
const crewOf = () => {
  const waiting: (() => void)[] = []
  const log: string[] = []
  const crew = {
    wait: (begin: () => void) => {
      waiting.push(begin)
      return () => void waiting.splice(waiting.indexOf(begin), 1)
    },
    free: () => void log.push('free'),
  }
  return { slot: createSlot(crew), waiting, log }
}

/** What an item asks for, in the hands of a test; says when it is begun and ended. */
const asking = (slot: Slot, name: string, log: string[]) => {
  const { hold, give } = slot.use()
  const answer$ = new Subject<string>()
  const request$ = hold(answer$.pipe(tap({ subscribe: () => log.push(`${name} asked`) })))
  return {
    ask: () => request$.subscribe({ next: (answer) => log.push(`${name} ${answer}`), error: () => log.push(`${name} failed`) }),
    give,
    answer$,
  }
}

describe('the worker of an item', () => {
  it('is free when what the item asks for has arrived, though it is not done with it', () => {
    const { slot, log } = crewOf()
    const { ask, give, answer$ } = asking(slot, 'A', log)
    ask()
    give()
    answer$.next('read')
    slot.leave()
    expect(log).toEqual(['A asked', 'free', 'A read'])
  })

  it('is free when the last of several things has arrived, each of which may say so twice', () => {
    const { slot, log } = crewOf()
    const [one, other] = [asking(slot, 'A', log), asking(slot, 'B', log)]
    one.ask()
    other.ask()
    one.give()
    one.give()
    expect(log).toEqual(['A asked', 'B asked'])
    other.give()
    expect(log).toEqual(['A asked', 'B asked', 'free'])
  })

  it('stays the item’s while a request is tried again that has not arrived', () => {
    const { slot, log, waiting } = crewOf()
    const { ask, give, answer$ } = asking(slot, 'A', log)
    ask()
    answer$.error(new Error('reset'))
    ask()
    expect(waiting).toEqual([])
    give()
    expect(log.filter((line) => line === 'free')).toEqual(['free'])
  })

  it('is waited for by what is asked when it is gone', () => {
    const { slot, log, waiting } = crewOf()
    const first = asking(slot, 'A', log)
    first.ask()
    first.give()
    const later = asking(slot, 'B', log)
    later.ask()
    expect(log).toEqual(['A asked', 'free'])
    waiting.shift()?.()
    expect(log).toEqual(['A asked', 'free', 'B asked'])
    later.give()
    expect(log.at(-1)).toBe('free')
  })

  it('is one, also if two things waited for it', () => {
    const { slot, log, waiting } = crewOf()
    const first = asking(slot, 'A', log)
    first.ask()
    first.give()
    const [one, other] = [asking(slot, 'B', log), asking(slot, 'C', log)]
    one.ask()
    other.ask()
    for (const begin of waiting.splice(0)) begin()
    expect(log).toEqual(['A asked', 'free', 'B asked', 'free', 'C asked'])
    one.give()
    other.give()
    expect(log.filter((line) => line === 'free')).toHaveLength(3)
  })

  it('is free while it has not asked yet, and not while it asks', () => {
    const resting = crewOf()
    resting.slot.rest()
    resting.slot.rest()
    expect(resting.log).toEqual(['free'])
    const { slot, log } = crewOf()
    asking(slot, 'A', log).ask()
    slot.rest()
    expect(log).toEqual(['A asked'])
  })

  it('is not waited for any more by what is unsubscribed', () => {
    const { slot, log, waiting } = crewOf()
    slot.leave()
    asking(slot, 'A', log).ask().unsubscribe()
    expect(waiting).toEqual([])
    slot.leave()
    expect(log).toEqual(['free'])
  })
})
