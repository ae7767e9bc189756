import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { temporariesIn, treeOf } from '../crash/support.js'
import { type FleetPlace, fleetPlace, joined, LONG_MS, overCaps, reportIn, requests, STOCKS } from './processes.js'
import { inRealTime, isShort, noRedis, onRedis, until } from './support.js'

const NEWS = ['--only', 'market-news,company-filings']
/** How long a worker is stopped: longer than a lock lasts and the next look for stalled items takes. */
const FREEZE_MS = 12_000
/** Within what time items of a worker that is gone are handed out again. */
const REDELIVERED_MS = 12_000

const inFlight = ({ simulator }: FleetPlace): number =>
  Object.values(simulator.stats().endpoints).reduce((sum, endpoint) => sum + endpoint.inFlight, 0)

/** Whether all items of the streams have been handed out: nobody would do that instead of a driver that is killed. */
const areHandedOut = async ({ redis, prefix }: FleetPlace): Promise<boolean> => {
  const counts = ['market-news', 'company-filings'].map(async (stream) => {
    const keys = await redis.keys(`${prefix}*:${stream}:i*`)
    return keys.filter((key) => !/:(id|lock)$/.test(key)).length
  })
  return Math.min(...(await Promise.all(counts))) === STOCKS
}

/** Whether a worker has an item of a stream in work. */
const isAtWork = async ({ redis, prefix }: FleetPlace, stream: string, worker: string): Promise<boolean> => {
  const [active = ''] = await redis.keys(`${prefix}*:${stream}:active`)
  const ids = active === '' ? [] : await redis.lrange(active, 0, -1)
  const names = await Promise.all(ids.map((id) => redis.hget(active.replace(/active$/, id), 'pb')))
  return names.includes(worker)
}

describe.skipIf(noRedis)(onRedis('a driver that is killed'), () => {
  it(
    'leaves its workers at work, and the same command goes on without asking anything again',
    async () => {
      const place = await fleetPlace({ latencyMs: 200 })
      const workers = [place.worker('a'), place.worker('b')]
      await joined(workers)
      const killed = place.driver(NEWS)
      await until(async () => requests(place, 'news') > 5 && (await areHandedOut(place)))
      killed.child.kill('SIGKILL')
      await killed.ended
      await until(() => requests(place, 'news') >= STOCKS && inFlight(place) === 0)
      // Whoever ended the last item tells the queue of it.
      await until(async () => (await place.redis.keys(`${place.prefix}*:lock`)).length === 0)
      const asked = place.simulator.stats().endpoints
      const { code, stderr } = await place.driver(NEWS).ended
      expect(code, stderr).toBe(0)
      const again = place.simulator.stats().endpoints
      expect(Object.entries(again).map(([name, { requests: count }]) => [name, count])).toEqual(
        Object.entries(asked).map(([name, { requests: count }]) => [name, count]),
      )
      expect(reportIn(place.out).outcome).toBe('complete')
      expect(treeOf(place.out)).toEqual(treeOf(await place.embedded(NEWS)))
      expect(temporariesIn(place.out)).toEqual([])
    },
    LONG_MS,
  )
})

describe.skipIf(noRedis)(onRedis('a run of other streams'), () => {
  it(
    'takes away what a run before it has left, so that no worker comes upon items of a run that is gone',
    async () => {
      const place = await fleetPlace({ latencyMs: 1_000, env: { SCRIPSTREAM_WORKERS: 'market-news=4' } })
      const worker = place.worker('a')
      await joined([worker])
      const killed = place.driver(NEWS)
      await until(() => (place.simulator.stats().endpoints.news?.inFlight ?? 0) >= 3)
      killed.child.kill('SIGKILL')
      worker.child.kill('SIGKILL')
      await killed.ended
      const left = (): Promise<string[]> => place.redis.keys(`${place.prefix}*:market-news:i*`)
      expect((await left()).length).toBeGreaterThan(0)
      // As if the time had passed after which another run may take the fleet.
      await place.redis.unlink(await place.redis.keys(`${place.prefix}*:driver`))
      place.worker('b')
      const { code, stderr } = await place.driver(['--only', 'corporate-actions']).ended
      expect(code, stderr).toBe(0)
      expect(await left()).toEqual([])
    },
    LONG_MS,
  )
})

describe.skipIf(noRedis || isShort)(onRedis(inRealTime('a worker that is killed, and the driver with it')), () => {
  it(
    `costs nothing: the same command goes on, and what the worker had is worked on elsewhere within ${REDELIVERED_MS / 1_000} s`,
    async () => {
      const place = await fleetPlace({ latencyMs: 1_000, env: { SCRIPSTREAM_WORKERS: 'market-news=4' } })
      const workers = [place.worker('a'), place.worker('b')] as const
      await joined(workers)
      const killed = place.driver(NEWS)
      await until(() => isAtWork(place, 'market-news', 'a'))
      // What it has been given, it has asked for by then, and not been answered yet.
      await pause(300)
      const died = performance.now()
      killed.child.kill('SIGKILL')
      workers[0].child.kill('SIGKILL')
      await killed.ended
      const again = place.driver(NEWS)
      await until(() => Object.values(place.simulator.stats().endpoints.news?.items ?? {}).some((times) => times > 1))
      expect(performance.now() - died).toBeLessThan(REDELIVERED_MS)
      const { code, stderr } = await again.ended
      expect(code, stderr).toBe(0)
      const { fleet, outcome, scripts } = reportIn(place.out)
      expect(outcome).toBe('complete')
      expect(fleet?.stalled).toBeGreaterThan(0)
      expect(scripts['market-news']?.items).toMatchObject({ error: 0, rate_limit: 0 })
      // Only what the killed worker had in work was asked again.
      const { items = {} } = place.simulator.stats().endpoints.news ?? {}
      expect(Math.max(...Object.values(items))).toBe(2)
      expect(Object.values(items).filter((times) => times > 1).length).toBeLessThanOrEqual(4)
      expect(overCaps(place)).toEqual([])
      expect(treeOf(place.out)).toEqual(treeOf(await place.embedded(NEWS)))
    },
    LONG_MS,
  )
})

describe.skipIf(noRedis || isShort)(onRedis(inRealTime('a worker that stands still')), () => {
  it(
    `for ${FREEZE_MS / 1_000} s, and then goes on, takes no stream above its workers, and loses nothing`,
    async () => {
      const place = await fleetPlace({ latencyMs: 700, env: { SCRIPSTREAM_WORKERS: 'market-news=2' } })
      const [frozen, other] = [place.worker('frozen'), place.worker('other')]
      await joined([frozen, other])
      const driver = place.driver(['--only', 'market-news'])
      await until(() => requests(place, 'news') >= 4)
      frozen.child.kill('SIGSTOP')
      await pause(FREEZE_MS)
      const before = requests(place, 'news')
      frozen.child.kill('SIGCONT')
      const { code, stderr } = await driver.ended
      expect(code, stderr).toBe(0)
      expect(before).toBeLessThan(requests(place, 'news'))
      const { maxInFlight, items } = place.simulator.stats().endpoints.news ?? { maxInFlight: 0, items: {} }
      expect(maxInFlight).toBe(2)
      expect(Object.keys(items).length).toBe(STOCKS)
      const { fleet, scripts } = reportIn(place.out)
      expect(fleet?.stalled).toBeGreaterThan(0)
      expect(scripts['market-news']?.items).toMatchObject({ error: 0, rate_limit: 0 })
      for (const { child } of [frozen, other]) child.kill('SIGTERM')
      expect([(await frozen.ended).code, (await other.ended).code]).toEqual([0, 0])
    },
    LONG_MS,
  )
})
