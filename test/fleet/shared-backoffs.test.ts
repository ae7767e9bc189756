import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createSharedBackoffs,
  type HostBackoff,
  type SharedBackoffs,
} from '../../src/fleet/shared-backoffs.js'
import { createTestFleet, markNeedsRedis, noRedis, type TestFleet, waitUntil } from './support.js'

const STATIC = 'http://provider.test/static'
const NEWS = 'http://provider.test/news'
const RULES = { throttleMs: 2_000, throttleMaxMs: 10_000, throttleGiveUpMs: 60_000 }

interface Member extends SharedBackoffs {
  readonly received: readonly HostBackoff[]
}

const member = ({ redis, prefix }: TestFleet): Member => {
  const received: HostBackoff[] = []
  const backoffs = createSharedBackoffs(redis, prefix, (backoff) => received.push(backoff))
  onTestFinished(backoffs.close)
  return { ...backoffs, received }
}

/** Workers that are subscribed to each other's messages. */
const fleetOf = async (count: number) => {
  const place = createTestFleet()
  const members = Array.from({ length: count }, () => member(place))
  await waitUntil(
    async () => ((await place.redis.pubsub('NUMSUB', `${place.prefix}:backoffs`))[1] as number) === count,
  )
  return { ...place, members, key: `${place.prefix}:backoff:${STATIC}` }
}

/** Simulates that part of a back-off has passed. */
const passed = async (place: { redis: TestFleet['redis']; key: string }, ms: number): Promise<void> => {
  for (const field of ['till', 'since']) await place.redis.hincrby(place.key, field, -ms)
}

/** The length of a back-off in tenths of a second. */
const tenths = ({ ms }: HostBackoff): number => Math.round(ms / 100)

describe.skipIf(noRedis)(markNeedsRedis('the shared back-off of a host'), () => {
  it('reaches every worker, and affects no other host', async () => {
    const { members } = await fleetOf(3)
    const [first, ...others] = members
    const backoff = await first?.onRefused(STATIC, 0, undefined, RULES)
    await waitUntil(() => others.every((other) => other.find(STATIC).ms > 0))
    for (const other of others) {
      expect(other.find(STATIC)).toMatchObject({ generation: backoff?.generation, isFinal: false })
      expect(tenths(other.find(STATIC))).toBeLessThanOrEqual(20)
      expect(other.find(NEWS)).toEqual({ address: NEWS, generation: 0, ms: 0, isFinal: false })
      expect(other.received.map(({ address }) => address)).toEqual([STATIC])
    }
  })

  it('doubles with every 429 after a back-off, up to the maximum', async () => {
    const place = await fleetOf(1)
    const [one] = place.members
    const pauses: number[] = []
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const backoff = await (one as Member).onRefused(
        STATIC,
        (one as Member).find(STATIC).generation,
        undefined,
        RULES,
      )
      pauses.push(tenths(backoff))
      await passed(place, backoff.ms)
    }
    expect(pauses).toEqual([20, 40, 80, 100, 100])
  })

  it('uses Retry-After within the minimum and maximum', async () => {
    const place = await fleetOf(1)
    const pauses: number[] = []
    for (const retryAfter of [5_000, 10, 3_600_000]) {
      const generation = (place.members[0] as Member).find(STATIC).generation
      const backoff = await (place.members[0] as Member).onRefused(STATIC, generation, retryAfter, RULES)
      pauses.push(tenths(backoff))
      await passed(place, backoff.ms)
    }
    expect(pauses).toEqual([50, 20, 100])
  })

  it('is not extended by late 429 replies, unless their Retry-After is longer', async () => {
    const { members } = await fleetOf(1)
    const one = members[0] as Member
    const { generation } = await one.onRefused(STATIC, 0, undefined, RULES)
    for (let reply = 0; reply < 5; reply += 1)
      expect(await one.onRefused(STATIC, 0, undefined, RULES)).toMatchObject({ generation })
    expect(tenths(one.find(STATIC))).toBeLessThanOrEqual(20)
    const longer = await one.onRefused(STATIC, 0, 7_000, RULES)
    expect(longer.generation).toBe(generation)
    expect(tenths(longer)).toBe(70)
    expect(tenths(await one.onRefused(STATIC, 0, 3_000, RULES))).toBeLessThanOrEqual(70)
    expect(tenths(one.find(STATIC))).toBeGreaterThan(60)
  })

  it('is final for all workers when there were only 429 replies for as long as the run is patient', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    const first = await one.onRefused(STATIC, 0, undefined, RULES)
    await passed(place, 59_000)
    const second = await one.onRefused(STATIC, first.generation, undefined, RULES)
    expect(second.isFinal).toBe(false)
    await passed(place, 1_500)
    expect((await one.onRefused(STATIC, second.generation, undefined, RULES)).isFinal).toBe(true)
    await waitUntil(() => other.find(STATIC).isFinal)
  })

  it('ends for all workers after a success, and the next 429 starts with the minimum', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    const short = { ...RULES, throttleMs: 40 }
    for (let attempt = 0; attempt < 3; attempt += 1)
      await one.onRefused(STATIC, one.find(STATIC).generation, undefined, short)
    const { generation } = one.find(STATIC)
    one.onServed(STATIC, generation)
    expect(await place.redis.hget(place.key, 'attempts')).toBe('2')
    await waitUntil(() => one.find(STATIC).ms === 0 && other.find(STATIC).ms === 0)
    one.onServed(STATIC, generation - 1)
    one.onServed(NEWS, generation)
    expect(await place.redis.hget(place.key, 'attempts')).toBe('2')
    other.onServed(STATIC, generation)
    await waitUntil(() => one.received.at(-1)?.ms === 0)
    expect(await place.redis.hkeys(place.key)).toEqual(['generation'])
    const again = await one.onRefused(STATIC, one.find(STATIC).generation, undefined, short)
    expect(again.ms).toBeLessThanOrEqual(40)
    expect(again.generation).toBeGreaterThan(generation)
  })

  it('is read by a worker that joins late', async () => {
    const place = await fleetOf(1)
    const { generation } = await (place.members[0] as Member).onRefused(STATIC, 0, 5_000, RULES)
    const late = member(place)
    expect(late.find(STATIC).ms).toBe(0)
    await late.load(STATIC)
    await late.load(NEWS)
    expect(late.find(STATIC)).toMatchObject({ generation, isFinal: false })
    expect(tenths(late.find(STATIC))).toBeGreaterThan(40)
    expect(late.find(NEWS).ms).toBe(0)
  })

  it('is stored by workers with a higher generation after Redis has lost its data', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    for (let attempt = 0; attempt < 4; attempt += 1)
      await one.onRefused(STATIC, one.find(STATIC).generation, undefined, RULES)
    const { generation } = one.find(STATIC)
    await waitUntil(() => other.find(STATIC).generation === generation)
    await place.redis.del(place.key)
    const sent = one.find(STATIC).generation
    const backoff = await one.onRefused(STATIC, sent, 6_000, RULES)
    expect(backoff.generation).toBeGreaterThan(generation)
    await waitUntil(() => other.find(STATIC).generation === backoff.generation)
    expect(tenths(other.find(STATIC))).toBeGreaterThan(50)
    for (let reply = 0; reply < 3; reply += 1)
      expect((await other.onRefused(STATIC, sent, undefined, RULES)).generation).toBe(backoff.generation)
  })
})
