import { describe, expect, it, vi } from 'vitest'
import { takeReins } from '../../src/fleet/reins.js'
import { StorageError } from '../../src/model/errors.js'
import { meeting, noRedis, onRedis } from './support.js'

const SHOWN = 'redis://10.0.0.5'

const taking = () => {
  const { redis, prefix } = meeting()
  return {
    redis,
    prefix,
    take: (run: string, fail: (error: unknown) => void = () => undefined) => takeReins(redis, { prefix, run, shown: SHOWN }, fail),
  }
}

describe.skipIf(noRedis)(onRedis('a fleet in the hands of a run'), () => {
  it('is refused to another run, in words that name the one that has it', async () => {
    const { take } = taking()
    const reins = await take('run-1')
    expect(reins.before).toBeUndefined()
    const second = take('run-2')
    await expect(second).rejects.toThrow(StorageError)
    await expect(second).rejects.toThrow(
      'another run (run-1) uses the fleet at redis://10.0.0.5: wait until it has finished (10 s if its driver was killed)',
    )
    await reins.drop()
  })

  it('is taken over at once by the same run, whose driver was killed', async () => {
    const { take } = taking()
    const killed = await take('run-1')
    await killed.begin()
    const again = await take('run-1')
    expect(again.before).toBe('run-1')
    await killed.drop()
    await again.drop()
  })

  it('is free for another run once it is let go, which hears of the one before that was not ended', async () => {
    const { take } = taking()
    const first = await take('run-1')
    await first.begin()
    await first.drop()
    const second = await take('run-2')
    expect(second.before).toBe('run-1')
    await second.begin()
    await second.end()
    await second.drop()
    const third = await take('run-3')
    expect(third.before).toBeUndefined()
    await third.drop()
  })

  it('has what the run before left until the next one begins, also where the driver of that was broken off first', async () => {
    const { take } = taking()
    const first = await take('run-1')
    await first.begin()
    await first.drop()
    await (await take('run-2')).drop()
    const again = await take('run-2')
    expect(again.before).toBe('run-1')
    await again.drop()
  })

  it('is not let go by who has it no more', async () => {
    const { take, redis, prefix } = taking()
    const first = await take('run-1')
    await redis.set(`${prefix}:driver`, 'run-2')
    await first.drop()
    expect(await redis.get(`${prefix}:driver`)).toBe('run-2')
  })

  it('is held for a driver that renews it, and told to one that has lost it to another run', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { take, redis, prefix } = taking()
      const failed = vi.fn()
      const reins = await take('run-1', failed)
      await redis.pexpire(`${prefix}:driver`, 4_000)
      vi.advanceTimersByTime(3_000)
      expect(await redis.pttl(`${prefix}:driver`)).toBeGreaterThan(9_000)
      await redis.set(`${prefix}:driver`, 'run-2')
      vi.advanceTimersByTime(3_000)
      await redis.ping()
      await vi.waitFor(() => expect(failed).toHaveBeenCalledTimes(1))
      expect(failed.mock.calls[0]?.[0]).toBeInstanceOf(StorageError)
      await reins.drop()
    } finally {
      vi.useRealTimers()
    }
  })

  it('does not last longer than ten seconds after a driver that was killed', async () => {
    const { take, redis, prefix } = taking()
    const reins = await take('run-1')
    expect(await redis.pttl(`${prefix}:driver`)).toBeLessThanOrEqual(10_000)
    expect(await redis.pttl(`${prefix}:driver`)).toBeGreaterThan(0)
    await reins.drop()
  })
})
