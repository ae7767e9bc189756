import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPulse, type Pulse } from '../../src/fleet/pulse.js'

const LIMIT_MS = 3_200

describe('the pulse of a process', () => {
  let pulse: Pulse
  const stood = vi.fn()
  let isConnected = true
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] })
    stood.mockClear()
    isConnected = true
    pulse = createPulse(LIMIT_MS, () => isConnected, stood)
  })
  afterEach(() => {
    pulse.stop()
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  /** Time passes, and no timer is heard: the process is stopped. */
  const freeze = (ms: number): void => {
    const timers = vi.getTimerCount()
    vi.setSystemTime(Date.now() + ms)
    expect(vi.getTimerCount()).toBe(timers)
    const now = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => now + ms)
  }

  it('is steady while beats come', () => {
    for (let beat = 0; beat < 40; beat += 1) {
      vi.advanceTimersByTime(250)
      pulse.check()
    }
    expect(stood).not.toHaveBeenCalled()
  })

  it('stops when the process is cut off for longer than the limit, once for each such time', () => {
    isConnected = false
    vi.advanceTimersByTime(LIMIT_MS - 250)
    expect(stood).not.toHaveBeenCalled()
    vi.advanceTimersByTime(500)
    expect(stood).toHaveBeenCalledTimes(1)
    isConnected = true
    vi.advanceTimersByTime(2 * LIMIT_MS)
    expect(stood).toHaveBeenCalledTimes(1)
  })

  it('forgives a process that was busy for less than the limit', () => {
    vi.advanceTimersByTime(1_000)
    freeze(LIMIT_MS - 1)
    pulse.check()
    expect(stood).not.toHaveBeenCalled()
  })

  it('tells at once, and only once, that the process has stood still for longer', () => {
    vi.advanceTimersByTime(1_000)
    freeze(LIMIT_MS + 1)
    pulse.check()
    expect(stood).toHaveBeenCalledTimes(1)
    pulse.check()
    expect(stood).toHaveBeenCalledTimes(1)
  })

  it('tells it at the next beat where nobody looks before', () => {
    freeze(LIMIT_MS + 1)
    vi.advanceTimersByTime(250)
    expect(stood).toHaveBeenCalledTimes(1)
  })

  it('beats no more once it is stopped', () => {
    pulse.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})
