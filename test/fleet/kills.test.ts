import { describe, expect, it } from 'vitest'
import { temporariesIn } from '../crash/support.js'
import { hashOutputs } from '../support/folders.js'
import {
  countRequests,
  createFleetPlace,
  type FleetPlace,
  findExceededLimits,
  readReport,
  STOCKS,
  waitUntilJoined,
} from './processes.js'
import { isShort, markNeedsRedis, markRealTime, noRedis, waitUntil } from './support.js'

const NEWS = ['--only', 'market-news,company-filings']

const inFlight = ({ simulator }: FleetPlace): number =>
  Object.values(simulator.stats().endpoints).reduce((sum, endpoint) => sum + endpoint.inFlight, 0)

/** Whether all items of the streams have been handed out: a killed driver cannot add them any more. */
const areHandedOut = async ({ redis, prefix }: FleetPlace): Promise<boolean> => {
  const counts = ['market-news', 'company-filings'].map(async (stream) => {
    const keys = await redis.keys(`${prefix}*:${stream}:i*`)
    return keys.filter((key) => !/:(id|lock)$/.test(key)).length
  })
  return Math.min(...(await Promise.all(counts))) === STOCKS
}

/** Whether a worker has an active item of a stream. */
const isAtWork = async ({ redis, prefix }: FleetPlace, stream: string, worker: string): Promise<boolean> => {
  const [active = ''] = await redis.keys(`${prefix}*:${stream}:active`)
  const ids = active === '' ? [] : await redis.lrange(active, 0, -1)
  const names = await Promise.all(ids.map((id) => redis.hget(active.replace(/active$/, id), 'pb')))
  return names.includes(worker)
}

describe.skipIf(noRedis)(markNeedsRedis('a driver that is killed'), () => {
  it('lets its workers continue, and the same command resumes without repeating a request', async () => {
    const place = await createFleetPlace({ latencyMs: 200 })
    const workers = [place.worker('a'), place.worker('b')]
    await waitUntilJoined(workers)
    const killed = place.driver(NEWS)
    await waitUntil(async () => countRequests(place, 'news') > 5 && (await areHandedOut(place)))
    killed.child.kill('SIGKILL')
    await killed.ended
    await waitUntil(() => countRequests(place, 'news') >= STOCKS && inFlight(place) === 0)
    // The last outcomes must be in the queue.
    await waitUntil(async () => (await place.redis.keys(`${place.prefix}*:lock`)).length === 0)
    const endpointStats = place.simulator.stats().endpoints
    const { code, stderr } = await place.driver(NEWS).ended
    expect(code, stderr).toBe(0)
    const again = place.simulator.stats().endpoints
    expect(Object.entries(again).map(([name, { requests: count }]) => [name, count])).toEqual(
      Object.entries(endpointStats).map(([name, { requests: count }]) => [name, count]),
    )
    expect(readReport(place.out).outcome).toBe('complete')
    expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(NEWS)))
    expect(temporariesIn(place.out)).toEqual([])
  })
})

describe.skipIf(noRedis)(markNeedsRedis('a run of different streams'), () => {
  it('removes the items of the previous run, so that no worker processes them', async () => {
    const place = await createFleetPlace({ latencyMs: 1_000, env: { SCRIPSTREAM_WORKERS: 'market-news=4' } })
    const worker = place.worker('a')
    await waitUntilJoined([worker])
    const killed = place.driver(NEWS)
    await waitUntil(() => (place.simulator.stats().endpoints.news?.inFlight ?? 0) >= 3)
    killed.child.kill('SIGKILL')
    worker.child.kill('SIGKILL')
    await killed.ended
    const left = (): Promise<string[]> => place.redis.keys(`${place.prefix}*:market-news:i*`)
    expect((await left()).length).toBeGreaterThan(0)
    // Simulates that the lease of the killed driver has expired.
    await place.redis.unlink(await place.redis.keys(`${place.prefix}*:driver`))
    place.worker('b')
    const { code, stderr } = await place.driver(['--only', 'corporate-actions']).ended
    expect(code, stderr).toBe(0)
    expect(await left()).toEqual([])
  })
})

describe.skipIf(noRedis || isShort)(
  markNeedsRedis(markRealTime('a worker and a driver that are killed')),
  () => {
    it('lose nothing: the same command resumes, and the items of the worker are reassigned', async () => {
      const place = await createFleetPlace({
        latencyMs: 1_000,
        env: { SCRIPSTREAM_WORKERS: 'market-news=4' },
      })
      const workers = [place.worker('a'), place.worker('b')] as const
      await waitUntilJoined(workers)
      const killed = place.driver(NEWS)
      // The worker has sent the requests of its items and got no answer yet.
      await waitUntil(
        async () =>
          (await isAtWork(place, 'market-news', 'a')) &&
          place.simulator.stats().endpoints.news?.inFlight === 4,
      )
      killed.child.kill('SIGKILL')
      workers[0].child.kill('SIGKILL')
      await killed.ended
      const { code, stderr } = await place.driver(NEWS).ended
      expect(code, stderr).toBe(0)
      const { fleet, outcome, scripts } = readReport(place.out)
      expect(outcome).toBe('complete')
      expect(fleet?.stalled).toBeGreaterThan(0)
      expect(scripts['market-news']?.items).toMatchObject({ error: 0, rate_limit: 0 })
      // Only the active items of the killed worker were requested again.
      const { items = {} } = place.simulator.stats().endpoints.news ?? {}
      expect(Math.max(...Object.values(items))).toBe(2)
      expect(Object.values(items).filter((times) => times > 1).length).toBeLessThanOrEqual(4)
      expect(findExceededLimits(place)).toEqual([])
      expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(NEWS)))
    })
  },
)

describe.skipIf(noRedis || isShort)(markNeedsRedis(markRealTime('a worker that stalls')), () => {
  it('until its items are given to another one, then continues, exceeds no concurrency limit and loses nothing', async () => {
    const place = await createFleetPlace({ latencyMs: 700, env: { SCRIPSTREAM_WORKERS: 'market-news=2' } })
    const [frozen, other] = [place.worker('frozen'), place.worker('other')]
    await waitUntilJoined([frozen, other])
    const driver = place.driver(['--only', 'market-news'])
    await waitUntil(() => countRequests(place, 'news') >= 4)
    frozen.child.kill('SIGSTOP')
    await waitUntil(() =>
      Object.values(place.simulator.stats().endpoints.news?.items ?? {}).some((times) => times > 1),
    )
    frozen.child.kill('SIGCONT')
    const { code, stderr } = await driver.ended
    expect(code, stderr).toBe(0)
    const { maxInFlight, items } = place.simulator.stats().endpoints.news ?? { maxInFlight: 0, items: {} }
    expect(maxInFlight).toBe(2)
    expect(Object.keys(items).length).toBe(STOCKS)
    const { fleet, scripts } = readReport(place.out)
    expect(fleet?.stalled).toBeGreaterThan(0)
    expect(scripts['market-news']?.items).toMatchObject({ error: 0, rate_limit: 0 })
    for (const { child } of [frozen, other]) child.kill('SIGTERM')
    expect([(await frozen.ended).code, (await other.ended).code]).toEqual([0, 0])
  })
})
