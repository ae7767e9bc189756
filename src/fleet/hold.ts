import type { Redis } from 'ioredis'
import type { Settings } from '../model/settings.js'

/** A pause that a host was given by the whole fleet. */
export interface Held {
  /** The base address of the host. */
  readonly address: string
  /** Grows with each pause, also after the server has forgotten the last one: a refusal of a request that was sent in an earlier era belongs to what is known already. */
  readonly era: number
  /** From now on; 0 where the host serves again. */
  readonly ms: number
  /** Whether the host has refused everything for so long that nothing waits for it any more. */
  readonly isFinal: boolean
}

/** Pauses of hosts, known to all workers of a fleet. */
export interface Holds {
  /** What is known of a host: the era, how long it is held from now on, and whether for good. */
  readonly of: (address: string) => Held
  /** A request of an era was refused: the pause of all, as long as the host asks for, or twice as long each time where it does not say. */
  readonly refuse: (address: string, era: number, retryAfterMs: number | undefined, rules: Rules) => Promise<Held>
  /** Learns of the pause that a host has had since before this process came. */
  readonly recall: (address: string) => Promise<void>
  /** A request of an era was served: the next refusal begins anew. */
  readonly serve: (address: string, era: number) => void
  readonly close: () => void
}

type Rules = Pick<Settings, 'throttleMs' | 'throttleMaxMs' | 'throttleGiveUpMs'>

// By the server's clock: those of the machines may differ.
const REFUSE = `
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local sent, asked = tonumber(ARGV[2]), tonumber(ARGV[3])
local least, most, givesUp = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local era = tonumber(redis.call('HGET', KEYS[1], 'era') or 0)
local till = tonumber(redis.call('HGET', KEYS[1], 'till') or 0)
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or now)
local strikes = tonumber(redis.call('HGET', KEYS[1], 'strikes') or -1)
local final = 0
local function clamped(ms) return math.min(math.max(ms, least), math.max(least, most)) end
if sent < era then
  if asked >= 0 then till = math.max(till, now + clamped(asked)) end
else
  era = math.max(era + 1, sent + 1, now)
  strikes = strikes + 1
  till = math.max(till, now + clamped(asked >= 0 and asked or least * 2 ^ math.min(strikes, 30)))
end
if strikes > 0 and now - since >= givesUp then final = 1 end
redis.call('HSET', KEYS[1], 'era', era, 'till', till, 'since', since, 'strikes', strikes, 'final', final)
redis.call('PEXPIRE', KEYS[1], till - now + givesUp + 60000)
redis.call('PUBLISH', KEYS[2], cjson.encode({ address = ARGV[1], era = era, ms = till - now, isFinal = final == 1 }))
return { era, till - now, final }`

const RECALL = `
local now = redis.call('TIME')
local held = redis.call('HMGET', KEYS[1], 'era', 'till', 'final')
return { tonumber(held[1] or 0), math.max(0, tonumber(held[2] or 0) - now[1] * 1000 - math.floor(now[2] / 1000)), tonumber(held[3] or 0) }`

const SERVE = `
if tonumber(redis.call('HGET', KEYS[1], 'era') or 0) ~= tonumber(ARGV[2]) or redis.call('HDEL', KEYS[1], 'since', 'strikes', 'till', 'final') == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], cjson.encode({ address = ARGV[1], era = tonumber(ARGV[2]), ms = 0, isFinal = false }))
return 1`

const NONE = { era: 0, ms: 0, isFinal: false }

interface Known extends Omit<Held, 'ms'> {
  /** Of this process's stopwatch. */
  readonly until: number
  /** Whether a pause is known that nobody has ended yet. */
  readonly isOpenToEnd: boolean
}

/** Keeps the pauses in Redis and hears of them within the time that a message takes; `heard` is told of each. */
export const holdsOn = (redis: Redis, prefix: string, heard: (held: Held) => void = () => undefined): Holds => {
  const known = new Map<string, Known>()
  const channel = `${prefix}:holds`
  const keyOf = (address: string): string => `${prefix}:hold:${address}`
  const learn = (held: Held): Held => {
    const before = known.get(held.address)
    if (before && before.era > held.era) return held
    known.set(held.address, { ...held, until: performance.now() + held.ms, isOpenToEnd: held.ms > 0 })
    heard(held)
    return held
  }
  const listener = redis.duplicate()
  listener.on('error', () => undefined)
  listener.on('message', (_, text: string) => learn(JSON.parse(text) as Held))
  // These fail only when the connection is closed for good: while the server is away, they wait.
  void listener.subscribe(channel).catch(() => undefined)
  const recall = async (address: string): Promise<void> => {
    const [era, ms, final] = (await redis.eval(RECALL, 1, keyOf(address))) as [number, number, number]
    learn({ address, era, ms, isFinal: final === 1 })
  }
  // Messages that came while the server was away are lost.
  listener.on('ready', () => {
    for (const address of known.keys()) void recall(address).catch(() => undefined)
  })
  return {
    of: (address) => {
      const { era, until, isFinal } = known.get(address) ?? { ...NONE, until: 0 }
      return { address, era, ms: Math.max(0, until - performance.now()), isFinal }
    },
    refuse: async (address, era, retryAfterMs = -1, rules) => {
      const { throttleMs, throttleMaxMs, throttleGiveUpMs } = rules
      const args = [address, era, retryAfterMs, throttleMs, throttleMaxMs, throttleGiveUpMs]
      const [now, ms, final] = (await redis.eval(REFUSE, 2, keyOf(address), channel, ...args)) as [number, number, number]
      return learn({ address, era: now, ms, isFinal: final === 1 })
    },
    recall,
    serve: (address, era) => {
      const before = known.get(address)
      if (before === undefined || !before.isOpenToEnd || before.era !== era || before.until > performance.now()) return
      known.set(address, { ...before, isOpenToEnd: false })
      void redis.eval(SERVE, 2, keyOf(address), channel, address, era).catch(() => undefined)
    },
    close: () => listener.disconnect(),
  }
}
