import { describe, expect, it, onTestFinished } from 'vitest'
import { type Held, type Holds, holdsOn } from '../../src/fleet/hold.js'
import { type Meeting, meeting, noRedis, onRedis, settingsOf, until } from './support.js'

const STATIC = 'http://provider.test/static'
const NEWS = 'http://provider.test/news'
const RULES = settingsOf({ throttleMs: 2_000, throttleMaxMs: 10_000, throttleGiveUpMs: 60_000 })

interface Member extends Holds {
  readonly heard: readonly Held[]
}

const member = ({ redis, prefix }: Meeting): Member => {
  const heard: Held[] = []
  const holds = holdsOn(redis, prefix, (held) => heard.push(held))
  onTestFinished(holds.close)
  return { ...holds, heard }
}

/** Workers that are subscribed to each other's messages. */
const fleetOf = async (count: number) => {
  const place = meeting()
  const members = Array.from({ length: count }, () => member(place))
  await until(async () => ((await place.redis.pubsub('NUMSUB', `${place.prefix}:holds`))[1] as number) === count)
  return { ...place, members, key: `${place.prefix}:hold:${STATIC}` }
}

/** Simulates that part of a back-off has passed. */
const passed = async (place: { redis: Meeting['redis']; key: string }, ms: number): Promise<void> => {
  for (const field of ['till', 'since']) await place.redis.hincrby(place.key, field, -ms)
}

/** The length of a back-off in tenths of a second. */
const tenths = ({ ms }: Held): number => Math.round(ms / 100)

describe.skipIf(noRedis)(onRedis('the shared back-off of a host'), () => {
  it('reaches every worker within half a second, and affects no other host', async () => {
    const { members } = await fleetOf(3)
    const [first, ...others] = members
    const held = await first?.refuse(STATIC, 0, undefined, RULES)
    const began = performance.now()
    await until(() => others.every((other) => other.of(STATIC).ms > 0))
    expect(performance.now() - began).toBeLessThan(500)
    for (const other of others) {
      expect(other.of(STATIC)).toMatchObject({ generation: held?.generation, isFinal: false })
      expect(tenths(other.of(STATIC))).toBeLessThanOrEqual(20)
      expect(other.of(NEWS)).toEqual({ address: NEWS, generation: 0, ms: 0, isFinal: false })
      expect(other.heard.map(({ address }) => address)).toEqual([STATIC])
    }
  })

  it('doubles with every 429 after a back-off, up to the maximum', async () => {
    const place = await fleetOf(1)
    const [one] = place.members
    const pauses: number[] = []
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const held = await (one as Member).refuse(STATIC, (one as Member).of(STATIC).generation, undefined, RULES)
      pauses.push(tenths(held))
      await passed(place, held.ms)
    }
    expect(pauses).toEqual([20, 40, 80, 100, 100])
  })

  it('uses Retry-After within the minimum and maximum', async () => {
    const place = await fleetOf(1)
    const pauses: number[] = []
    for (const asked of [5_000, 10, 3_600_000]) {
      const generation = (place.members[0] as Member).of(STATIC).generation
      const held = await (place.members[0] as Member).refuse(STATIC, generation, asked, RULES)
      pauses.push(tenths(held))
      await passed(place, held.ms)
    }
    expect(pauses).toEqual([50, 20, 100])
  })

  it('is not extended by late 429 replies, unless their Retry-After is longer', async () => {
    const { members } = await fleetOf(1)
    const one = members[0] as Member
    const { generation } = await one.refuse(STATIC, 0, undefined, RULES)
    for (let reply = 0; reply < 5; reply += 1) expect(await one.refuse(STATIC, 0, undefined, RULES)).toMatchObject({ generation })
    expect(tenths(one.of(STATIC))).toBeLessThanOrEqual(20)
    const longer = await one.refuse(STATIC, 0, 7_000, RULES)
    expect(longer.generation).toBe(generation)
    expect(tenths(longer)).toBe(70)
    expect(tenths(await one.refuse(STATIC, 0, 3_000, RULES))).toBeLessThanOrEqual(70)
    expect(tenths(one.of(STATIC))).toBeGreaterThan(60)
  })

  it('is final for all workers when there were only 429 replies for throttleGiveUpMs', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    const first = await one.refuse(STATIC, 0, undefined, RULES)
    await passed(place, 59_000)
    const second = await one.refuse(STATIC, first.generation, undefined, RULES)
    expect(second.isFinal).toBe(false)
    await passed(place, 1_500)
    expect((await one.refuse(STATIC, second.generation, undefined, RULES)).isFinal).toBe(true)
    await until(() => other.of(STATIC).isFinal)
  })

  it('ends for all workers after a success, and the next 429 starts with the minimum', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    const short = settingsOf({ throttleMs: 40, throttleMaxMs: 10_000, throttleGiveUpMs: 60_000 })
    for (let attempt = 0; attempt < 3; attempt += 1) await one.refuse(STATIC, one.of(STATIC).generation, undefined, short)
    const { generation } = one.of(STATIC)
    one.serve(STATIC, generation)
    expect(await place.redis.hget(place.key, 'attempts')).toBe('2')
    await until(() => one.of(STATIC).ms === 0 && other.of(STATIC).ms === 0)
    one.serve(STATIC, generation - 1)
    one.serve(NEWS, generation)
    expect(await place.redis.hget(place.key, 'attempts')).toBe('2')
    other.serve(STATIC, generation)
    await until(() => one.heard.at(-1)?.ms === 0)
    expect(await place.redis.hkeys(place.key)).toEqual(['generation'])
    const again = await one.refuse(STATIC, one.of(STATIC).generation, undefined, short)
    expect(again.ms).toBeLessThanOrEqual(40)
    expect(again.generation).toBeGreaterThan(generation)
  })

  it('is read by a worker that joins late', async () => {
    const place = await fleetOf(1)
    const { generation } = await (place.members[0] as Member).refuse(STATIC, 0, 5_000, RULES)
    const late = member(place)
    expect(late.of(STATIC).ms).toBe(0)
    await late.recall(STATIC)
    await late.recall(NEWS)
    expect(late.of(STATIC)).toMatchObject({ generation, isFinal: false })
    expect(tenths(late.of(STATIC))).toBeGreaterThan(40)
    expect(late.of(NEWS).ms).toBe(0)
  })

  it('is stored by workers with a higher generation after Redis has lost its data', async () => {
    const place = await fleetOf(2)
    const [one, other] = place.members as [Member, Member]
    for (let attempt = 0; attempt < 4; attempt += 1) await one.refuse(STATIC, one.of(STATIC).generation, undefined, RULES)
    const { generation } = one.of(STATIC)
    await until(() => other.of(STATIC).generation === generation)
    await place.redis.del(place.key)
    const sent = one.of(STATIC).generation
    const held = await one.refuse(STATIC, sent, 6_000, RULES)
    expect(held.generation).toBeGreaterThan(generation)
    await until(() => other.of(STATIC).generation === held.generation)
    expect(tenths(other.of(STATIC))).toBeGreaterThan(50)
    for (let reply = 0; reply < 3; reply += 1) expect((await other.refuse(STATIC, sent, undefined, RULES)).generation).toBe(held.generation)
  })
})
