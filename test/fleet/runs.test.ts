import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/index.js'
import { damagedIn, temporariesIn } from '../crash/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import {
  countRequests,
  createFleetPlace,
  findExceededLimits,
  LONG_MS,
  readReport,
  SECOND_RUN_AT,
  STOCKS,
  waitUntilJoined,
} from './processes.js'
import { isShort, markNeedsRedis, markRealTime, noRedis, waitUntil } from './support.js'

describe.skipIf(noRedis)(markNeedsRedis(`a run on a fleet (${STOCKS} stocks)`), () => {
  it(
    'writes the same files as one process in the first and the next daily run, and nothing else',
    async () => {
      const place = await createFleetPlace()
      const { simulator, out, blobs, redis, prefix } = place
      const alone = await place.runInProcess()
      const aloneFirst = hashOutputs(alone)
      simulator.control({ reset: true })
      const workers = ['a', 'b', 'c'].map((name) => place.worker(name))
      await waitUntilJoined(workers)
      const first = await place.driver().ended
      expect(first.code, first.stderr).toBe(0)
      expect(hashOutputs(out)).toEqual(aloneFirst)
      expect(findExceededLimits(place)).toEqual([])
      expect(simulator.stats().violations).toEqual([])
      const { fleet, scripts } = readReport(out)
      expect(fleet?.workers.map(({ name, isThere }) => [name, isThere])).toEqual(['a', 'b', 'c'].map((name) => [name, true]))
      const items = Object.values(scripts).flatMap((script) => Object.values(script.items))
      expect(fleet?.workers.reduce((sum, worker) => sum + worker.items, 0)).toBe(items.reduce((sum, count) => sum + count, 0))
      const sent = Object.values(simulator.stats().endpoints).reduce((sum, endpoint) => sum + endpoint.requests, 0)
      expect(Object.values(scripts).reduce((sum, script) => sum + script.requests, 0)).toBe(sent)

      simulator.control({ asOf: Date.parse(SECOND_RUN_AT), reset: true })
      await place.runInProcess(['--as-of', SECOND_RUN_AT], alone)
      simulator.control({ reset: true })
      const second = await place.driver(['--as-of', SECOND_RUN_AT]).ended
      expect(second.code, second.stderr).toBe(0)
      expect(hashOutputs(out)).toEqual(hashOutputs(alone))
      expect(readReport(out).scripts['all-ohlcv']?.rewritten).toEqual(readReport(alone).scripts['all-ohlcv']?.rewritten)
      expect(readReport(out).scripts['all-ohlcv']?.rewritten?.length).toBeGreaterThan(0)
      expect(findExceededLimits(place)).toEqual([])

      for (const { child } of workers) child.kill('SIGTERM')
      for (const { ended } of workers) expect(await ended).toMatchObject({ code: 0 })
      expect(temporariesIn(out)).toEqual([])
      expect(await damagedIn(out)).toEqual([])
      expect(readdirSync(blobs)).toEqual([])
      const left: string[] = []
      for (const key of await redis.keys(`${prefix}*`)) if (!key.endsWith(':meta') && (await redis.pttl(key)) === -1) left.push(key)
      expect(left).toEqual([])
    },
    LONG_MS,
  )

  it.skipIf(isShort)(
    markRealTime('gives items to a worker that joins late, and rejects one with another folder'),
    async () => {
      // The run must take longer than starting a process on a busy machine.
      const place = await createFleetPlace({ latencyMs: 400, env: { SCRIPSTREAM_WORKERS: 'indices-ohlcv=6' } })
      const first = place.worker('a')
      const driver = place.driver(['--only', 'market-news,company-filings,all-ohlcv,indices-ohlcv'])
      await waitUntil(() => countRequests(place, 'news') > 3)
      const elsewhere = place.worker('wrong', ['--blobs', temporaryFolder()])
      const late = place.worker('late')
      const refused = await elsewhere.ended
      expect(refused.code).toBe(2)
      expect(refused.stderr).toMatch(/run \S+ is not in \/.+\n +Set --blobs to the shared folder of the driver/)
      const { code, stderr } = await driver.ended
      expect(code, stderr).toBe(0)
      const { fleet, outcome } = readReport(place.out)
      expect(outcome).toBe('complete')
      expect(fleet?.workers.find(({ name }) => name === 'late')?.items).toBeGreaterThan(STOCKS / 4)
      expect(findExceededLimits(place)).toEqual([])
      first.child.kill('SIGTERM')
      late.child.kill('SIGTERM')
      expect([(await first.ended).code, (await late.ended).code]).toEqual([0, 0])
    },
    LONG_MS,
  )
})

describe.skipIf(noRedis)(markNeedsRedis('a driver whose shared folder cannot be written'), () => {
  it('reports it as a configuration error', async () => {
    const place = await createFleetPlace()
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const { code, stderr } = await place.driver(['--only', 'master-data', '--blobs', file]).ended
    expect(code).toBe(1)
    expect(readReport(place.out).error).toContain(`cannot use the shared folder ${file}: ENOTDIR`)
    expect(stderr).not.toContain('unexpected')
  })
})

describe.skipIf(noRedis)(markNeedsRedis('a worker that is stopped'), () => {
  it(
    'finishes its active items, and leaves the others to other workers',
    async () => {
      const place = await createFleetPlace({ latencyMs: 300 })
      const [leaving, staying] = [place.worker('leaving'), place.worker('staying')]
      await waitUntilJoined([leaving, staying])
      const driver = place.driver(['--only', 'market-news'])
      await waitUntil(() => countRequests(place, 'news') > 5)
      leaving.child.kill('SIGTERM')
      const { code, stderr } = await leaving.ended
      expect(code, stderr).toBe(0)
      expect(place.simulator.stats().endpoints.news?.statuses.closed).toBeUndefined()
      expect((await driver.ended).code).toBe(0)
      const { items = {} } = place.simulator.stats().endpoints.news ?? {}
      expect(Object.values(items)).toEqual(Object.values(items).map(() => 1))
      expect(Object.keys(items).length).toBe(STOCKS)
      expect(readReport(place.out).fleet?.stalled).toBe(0)
    },
    LONG_MS,
  )
})

describe.skipIf(noRedis)(markNeedsRedis('a host that answers 429 to one worker'), () => {
  it.skipIf(isShort)(
    markRealTime('gets no request after half a second, while other hosts do; no item is lost or loses an attempt'),
    async () => {
      const place = await createFleetPlace({ latencyMs: 100, env: { SCRIPSTREAM_WORKERS: 'company-filings=3' } })
      const { simulator, redis, prefix } = place
      const workers = ['a', 'b', 'c'].map((name) => place.worker(name))
      await waitUntilJoined(workers)
      const driver = place.driver(['--only', 'market-news,company-filings'])
      await waitUntil(() => countRequests(place, 'news') > 0)
      const refusing: Fault = { on: 'news', mode: 'status', status: 429, retryAfter: 4 }
      simulator.control({ faults: [refusing, { on: '*', mode: 'slow', ms: 500 }] })
      const refusals = (): number => simulator.stats().endpoints.news?.statuses[429] ?? 0
      await waitUntil(() => refusals() > 0)
      await pause(500)
      const others = (): number =>
        Object.entries(simulator.stats().endpoints).reduce((sum, [name, { requests: count }]) => sum + (name === 'news' ? 0 : count), 0)
      const [silent, before] = [countRequests(place, 'news'), others()]
      await pause(2_000)
      expect(countRequests(place, 'news')).toBe(silent)
      expect(others()).toBeGreaterThan(before)
      const jobs = (await redis.keys(`${prefix}*:market-news:i*`)).filter((key) => !/:(id|lock)$/.test(key))
      expect(jobs.length).toBe(STOCKS)
      for (const job of jobs) {
        const [tries, ended] = await redis.hmget(job, 'atm', 'finishedOn')
        expect(Number(tries ?? 0), job).toBe(ended === null ? 0 : 1)
      }
      simulator.control({ faults: [] })
      const { code, stderr } = await driver.ended
      expect(code, stderr).toBe(0)
      const { scripts } = readReport(place.out)
      expect(scripts['market-news']?.rateLimited).toBe(refusals())
      expect(findExceededLimits(place)).toEqual([])
    },
    LONG_MS,
  )
})
