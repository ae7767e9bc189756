import { describe, expect, it, vi } from 'vitest'
import { acquireDriverLease } from '../../src/fleet/driver-connections.js'
import { StorageError } from '../../src/model/errors.js'
import { createTestFleet, markNeedsRedis, noRedis } from './support.js'

const SHOWN = 'redis://10.0.0.5'

const taking = () => {
  const { redis, prefix } = createTestFleet()
  return {
    redis,
    prefix,
    take: (run: string, fail: (error: unknown) => void = () => undefined) =>
      acquireDriverLease(redis, { prefix, run, shown: SHOWN }, fail),
  }
}

describe.skipIf(noRedis)(markNeedsRedis('the lease of a driver'), () => {
  it('is refused to another run, with the name of the current one', async () => {
    const { take } = taking()
    const lease = await take('run-1')
    expect(lease.previousRun).toBeUndefined()
    const second = take('run-2')
    await expect(second).rejects.toThrow(StorageError)
    await expect(second).rejects.toThrow(
      'another run (run-1) uses the fleet at redis://10.0.0.5: wait until it has finished (10 s if its driver was killed)',
    )
    await lease.release()
  })

  it('is acquired at once by the same run after its driver was killed', async () => {
    const { take } = taking()
    const killed = await take('run-1')
    await killed.startRun()
    const again = await take('run-1')
    expect(again.previousRun).toBe('run-1')
    await killed.release()
    await again.release()
  })

  it('is free for another run after release, and names the unfinished previous run', async () => {
    const { take } = taking()
    const first = await take('run-1')
    await first.startRun()
    await first.release()
    const second = await take('run-2')
    expect(second.previousRun).toBe('run-1')
    await second.startRun()
    await second.finishRun()
    await second.release()
    const third = await take('run-3')
    expect(third.previousRun).toBeUndefined()
    await third.release()
  })

  it('names the unfinished previous run until the next run starts, even if a driver was interrupted in between', async () => {
    const { take } = taking()
    const first = await take('run-1')
    await first.startRun()
    await first.release()
    await (await take('run-2')).release()
    const again = await take('run-2')
    expect(again.previousRun).toBe('run-1')
    await again.release()
  })

  it('is not released by a driver that has lost it', async () => {
    const { take, redis, prefix } = taking()
    const first = await take('run-1')
    await redis.set(`${prefix}:driver`, 'run-2')
    await first.release()
    expect(await redis.get(`${prefix}:driver`)).toBe('run-2')
  })

  it('is renewed, and a driver that has lost it to another run fails', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { take, redis, prefix } = taking()
      const failed = vi.fn()
      const lease = await take('run-1', failed)
      await redis.pexpire(`${prefix}:driver`, 4_000)
      vi.advanceTimersByTime(3_000)
      expect(await redis.pttl(`${prefix}:driver`)).toBeGreaterThan(4_000)
      await redis.set(`${prefix}:driver`, 'run-2')
      vi.advanceTimersByTime(3_000)
      await redis.ping()
      await expect.poll(() => failed.mock.calls.length).toBe(1)
      expect(failed.mock.calls[0]?.[0]).toBeInstanceOf(StorageError)
      await lease.release()
    } finally {
      vi.useRealTimers()
    }
  })

  it('expires ten seconds after its driver was killed', async () => {
    const { take, redis, prefix } = taking()
    const lease = await take('run-1')
    expect(await redis.pttl(`${prefix}:driver`)).toBeLessThanOrEqual(10_000)
    expect(await redis.pttl(`${prefix}:driver`)).toBeGreaterThan(0)
    await lease.release()
  })
})
