import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStallDetector, type StallDetector } from '../../src/fleet/queues.js'

const LIMIT_MS = 3_200

describe('createStallDetector', () => {
  let pulse: StallDetector
  const onStall = vi.fn()
  let isConnected = true
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] })
    onStall.mockClear()
    isConnected = true
    pulse = createStallDetector(LIMIT_MS, () => isConnected, onStall)
  })
  afterEach(() => {
    pulse.stop()
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  /** Time passes but no timer fires, as in a stopped process. */
  const freeze = (ms: number): void => {
    const timers = vi.getTimerCount()
    vi.setSystemTime(Date.now() + ms)
    expect(vi.getTimerCount()).toBe(timers)
    const now = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => now + ms)
  }

  it('reports nothing while timers fire', () => {
    for (let beat = 0; beat < 40; beat += 1) {
      vi.advanceTimersByTime(250)
      pulse.check()
    }
    expect(onStall).not.toHaveBeenCalled()
  })

  it('reports a disconnection longer than the limit, once each time', () => {
    isConnected = false
    vi.advanceTimersByTime(LIMIT_MS - 250)
    expect(onStall).not.toHaveBeenCalled()
    vi.advanceTimersByTime(500)
    expect(onStall).toHaveBeenCalledTimes(1)
    isConnected = true
    vi.advanceTimersByTime(2 * LIMIT_MS)
    expect(onStall).toHaveBeenCalledTimes(1)
  })

  it('ignores a stall shorter than the limit', () => {
    vi.advanceTimersByTime(1_000)
    freeze(LIMIT_MS - 1)
    pulse.check()
    expect(onStall).not.toHaveBeenCalled()
  })

  it('reports a longer stall at the next check() call, once', () => {
    vi.advanceTimersByTime(1_000)
    freeze(LIMIT_MS + 1)
    pulse.check()
    expect(onStall).toHaveBeenCalledTimes(1)
    pulse.check()
    expect(onStall).toHaveBeenCalledTimes(1)
  })

  it('reports it at the next interval without a check() call', () => {
    freeze(LIMIT_MS + 1)
    vi.advanceTimersByTime(250)
    expect(onStall).toHaveBeenCalledTimes(1)
  })

  it('has no timer after stop()', () => {
    pulse.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})
