import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { findDays, followDays } from '../../../src/web/page/parts/days.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('asks for the recorded days once for each report, and after a failure only some seconds later', async () => {
  const answer = vi.fn(async () => Response.error())
  vi.stubGlobal('fetch', answer)
  // Each answer renders again, which looks for the days again.
  const render = (): void => void findDays(render)
  render()
  await vi.advanceTimersByTimeAsync(4_900)
  expect(answer).toHaveBeenCalledTimes(1)
  answer.mockImplementation(async () => Response.json([{ day: '2026-01-05' }]))
  await vi.advanceTimersByTimeAsync(200)
  render()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(findDays(render)).toEqual([{ day: '2026-01-05' }])
  for (const report of [null, 1, 1, 2]) {
    followDays(report)
    render()
    await vi.advanceTimersByTimeAsync(0)
  }
  expect(answer).toHaveBeenCalledTimes(4)
})
