import type { Redis } from 'ioredis'
import type { LimitPolicy } from '../limiter/limiter-registry.js'
import { ignoreError } from './ignore-error.js'

/** The back-off of a host, for the whole fleet. */
export interface HostBackoff {
  readonly address: string
  /**
   * Grows with each back-off, even after Redis has forgotten the last one. A 429 to a request of an earlier
   * generation is a late reply: it belongs to a back-off that is known already.
   */
  readonly generation: number
  /** Remaining time from now on; 0 if the host may be requested. */
  readonly ms: number
  /** Whether the host has answered only 429 for longer than the patience of the run: its items fail. */
  readonly isFinal: boolean
}

/** The back-offs of hosts, shared by all workers of a fleet through Redis. */
export type SharedBackoffs = ReturnType<typeof createSharedBackoffs>

// The scripts use the clock of the server, because the clocks of the machines may differ.
const REFUSED_SCRIPT = `
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local requestGeneration, retryAfter = tonumber(ARGV[2]), tonumber(ARGV[3])
local minimum, maximum, giveUp = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local generation = tonumber(redis.call('HGET', KEYS[1], 'generation') or 0)
local till = tonumber(redis.call('HGET', KEYS[1], 'till') or 0)
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or now)
local attempts = tonumber(redis.call('HGET', KEYS[1], 'attempts') or -1)
local final = 0
local function clamped(ms) return math.min(math.max(ms, minimum), math.max(minimum, maximum)) end
if requestGeneration < generation then
  if retryAfter >= 0 then till = math.max(till, now + clamped(retryAfter)) end
else
  generation = math.max(generation + 1, requestGeneration + 1, now)
  attempts = attempts + 1
  till = math.max(till, now + clamped(retryAfter >= 0 and retryAfter or minimum * 2 ^ math.min(attempts, 30)))
end
if attempts > 0 and now - since >= giveUp then final = 1 end
redis.call('HSET', KEYS[1], 'generation', generation, 'till', till, 'since', since, 'attempts', attempts, 'final', final)
redis.call('PEXPIRE', KEYS[1], till - now + giveUp + 60000)
redis.call('PUBLISH', KEYS[2], cjson.encode({ address = ARGV[1], generation = generation, ms = till - now, isFinal = final == 1 }))
return { generation, till - now, final }`

const LOAD_SCRIPT = `
local now = redis.call('TIME')
local backoff = redis.call('HMGET', KEYS[1], 'generation', 'till', 'final')
return { tonumber(backoff[1] or 0), math.max(0, tonumber(backoff[2] or 0) - now[1] * 1000 - math.floor(now[2] / 1000)), tonumber(backoff[3] or 0) }`

const SERVED_SCRIPT = `
if tonumber(redis.call('HGET', KEYS[1], 'generation') or 0) ~= tonumber(ARGV[2]) or redis.call('HDEL', KEYS[1], 'since', 'attempts', 'till', 'final') == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], cjson.encode({ address = ARGV[1], generation = tonumber(ARGV[2]), ms = 0, isFinal = false }))
return 1`

const NO_BACKOFF = { generation: 0, ms: 0, isFinal: false }

interface KnownBackoff extends Omit<HostBackoff, 'ms'> {
  /** By `performance.now()` of this process. */
  readonly until: number
  /** Whether there is a back-off that no success has ended yet. */
  readonly isActive: boolean
}

/** The back-offs that this process knows of. */
const createBackoffMemory = (onChange: (backoff: HostBackoff) => void) => {
  const known = new Map<string, KnownBackoff>()
  return {
    addresses: () => known.keys(),
    learn: (backoff: HostBackoff) => {
      const before = known.get(backoff.address)
      if (before && before.generation > backoff.generation) return backoff
      known.set(backoff.address, {
        ...backoff,
        until: performance.now() + backoff.ms,
        isActive: backoff.ms > 0,
      })
      onChange(backoff)
      return backoff
    },
    find: (address: string): HostBackoff => {
      const { generation, until, isFinal } = known.get(address) ?? { ...NO_BACKOFF, until: 0 }
      return { address, generation, ms: Math.max(0, until - performance.now()), isFinal }
    },
    /** Ends a back-off whose pause is over; returns whether it was active. */
    end: (address: string, generation: number) => {
      const before = known.get(address)
      if (
        before === undefined ||
        !before.isActive ||
        before.generation !== generation ||
        before.until > performance.now()
      )
        return false
      known.set(address, { ...before, isActive: false })
      return true
    },
  }
}

/**
 * Stores the back-offs in Redis and gets those of other workers by pub/sub; `onChange` is called for each.
 */
export const createSharedBackoffs = (
  redis: Redis,
  prefix: string,
  onChange: (backoff: HostBackoff) => void = () => undefined,
) => {
  const { addresses, learn, find, end } = createBackoffMemory(onChange)
  const channel = `${prefix}:backoffs`
  const toKey = (address: string) => `${prefix}:backoff:${address}`
  const learnReply = (address: string, reply: unknown) => {
    const [generation, ms, final] = reply as [number, number, number]
    return learn({ address, generation, ms, isFinal: final === 1 })
  }
  const listener = redis.duplicate()
  // It reconnects by itself.
  listener.on('error', ignoreError('connection for back-offs'))
  listener.on('message', (_, text: string) => learn(JSON.parse(text) as HostBackoff))
  // While the server is down, commands wait. This one fails only when the connection is closed at the end.
  void listener.subscribe(channel).catch(ignoreError('subscribe to back-offs'))
  const readBackoff = async (address: string) => {
    learnReply(address, await redis.eval(LOAD_SCRIPT, 1, toKey(address)))
  }
  // Messages that were sent while the connection was down are lost. If a read fails, the next 429 brings the
  // back-off.
  listener.on('ready', () => {
    for (const address of addresses()) void readBackoff(address).catch(ignoreError('read a back-off'))
  })
  return {
    find,
    /**
     * Reports a 429 to a request of a generation. The back-off is the `Retry-After` of the host; without one
     * it doubles each time.
     */
    onRefused: async (
      address: string,
      generation: number,
      retryAfterMs: number | undefined = -1,
      {
        throttleMs,
        throttleMaxMs,
        throttleGiveUpMs,
      }: Pick<LimitPolicy, 'throttleMs' | 'throttleMaxMs' | 'throttleGiveUpMs'>,
    ) => {
      const args = [address, generation, retryAfterMs, throttleMs, throttleMaxMs, throttleGiveUpMs]
      return learnReply(address, await redis.eval(REFUSED_SCRIPT, 2, toKey(address), channel, ...args))
    },
    /** Reads the back-off of a host that started before this process did. */
    load: readBackoff,
    /** Reports a successful request of a generation: it resets the back-off. */
    onServed: (address: string, generation: number) => {
      if (!end(address, generation)) return
      // If it fails, the back-off expires by itself.
      void redis
        .eval(SERVED_SCRIPT, 2, toKey(address), channel, address, generation)
        .catch(ignoreError('end a back-off'))
    },
    close: () => listener.disconnect(),
  }
}
