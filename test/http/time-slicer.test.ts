import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { createTimeSlicer } from '../../src/http/exchange.js'

/** Tasks with given durations, on a clock that only they advance. */
const acting = (ms: number) => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const done: number[] = []
  const act = (name: number) => () => {
    now += ms
    done.push(name)
  }
  return { done, act }
}

it('runs tasks in order, a few per turn, and none in the turn that queued them', async () => {
  const { done, act } = acting(0.6)
  const inTurn = createTimeSlicer()
  for (const name of [1, 2, 3, 4, 5]) inTurn(act(name))
  expect(done).toEqual([])
  await nextTurn()
  expect(done).toEqual([1, 2])
  await nextTurn()
  expect(done).toEqual([1, 2, 3, 4])
  await nextTurn()
  expect(done).toEqual([1, 2, 3, 4, 5])
  vi.restoreAllMocks()
})

it('runs one long task per turn, also if it queues another', async () => {
  const { done, act } = acting(30)
  const inTurn = createTimeSlicer()
  inTurn(() => {
    act(1)()
    inTurn(act(3))
  })
  inTurn(act(2))
  await nextTurn()
  expect(done).toEqual([1])
  await nextTurn()
  expect(done).toEqual([1, 2])
  await nextTurn()
  expect(done).toEqual([1, 2, 3])
  vi.restoreAllMocks()
})
