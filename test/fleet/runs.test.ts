import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { damagedIn, temporariesIn } from '../crash/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import {
  countRequests,
  createFleetPlace,
  findExceededLimits,
  readReport,
  SECOND_RUN_AT,
  STOCKS,
  waitUntilJoined,
} from './processes.js'
import { isShort, markNeedsRedis, markRealTime, noRedis, waitUntil } from './support.js'

describe.skipIf(noRedis)(markNeedsRedis(`a run on a fleet (${STOCKS} stocks)`), () => {
  it('writes the same files as one process in the first and the next daily run, and nothing else', async () => {
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
    expect(fleet?.workers.map(({ name, isThere }) => [name, isThere])).toEqual(
      ['a', 'b', 'c'].map((name) => [name, true]),
    )
    const items = Object.values(scripts).flatMap((script) => Object.values(script.items))
    expect(fleet?.workers.reduce((sum, worker) => sum + worker.items, 0)).toBe(
      items.reduce((sum, count) => sum + count, 0),
    )
    const sent = Object.values(simulator.stats().endpoints).reduce(
      (sum, endpoint) => sum + endpoint.requests,
      0,
    )
    expect(Object.values(scripts).reduce((sum, script) => sum + script.requests, 0)).toBe(sent)

    simulator.control({ asOf: Date.parse(SECOND_RUN_AT), reset: true })
    await place.runInProcess(['--as-of', SECOND_RUN_AT], alone)
    simulator.control({ reset: true })
    const second = await place.driver(['--as-of', SECOND_RUN_AT]).ended
    expect(second.code, second.stderr).toBe(0)
    expect(hashOutputs(out)).toEqual(hashOutputs(alone))
    expect(readReport(out).scripts['all-ohlcv']?.rewritten).toEqual(
      readReport(alone).scripts['all-ohlcv']?.rewritten,
    )
    expect(readReport(out).scripts['all-ohlcv']?.rewritten?.length).toBeGreaterThan(0)
    expect(findExceededLimits(place)).toEqual([])

    for (const { child } of workers) child.kill('SIGTERM')
    for (const { ended } of workers) expect(await ended).toMatchObject({ code: 0 })
    expect(temporariesIn(out)).toEqual([])
    expect(await damagedIn(out)).toEqual([])
    expect(readdirSync(blobs)).toEqual([])
    const left: string[] = []
    for (const key of await redis.keys(`${prefix}*`))
      if (!key.endsWith(':meta') && (await redis.pttl(key)) === -1) left.push(key)
    expect(left).toEqual([])
  })

  it.skipIf(isShort)(
    markRealTime('gives items to a worker that joins late, and rejects one with another folder'),
    async () => {
      // The run must take longer than starting a process on a busy machine.
      const place = await createFleetPlace({
        latencyMs: 400,
        env: { SCRIPSTREAM_WORKERS: 'indices-ohlcv=6' },
      })
      const first = place.worker('a')
      const driver = place.driver(['--only', 'market-news,company-filings,all-ohlcv,indices-ohlcv'])
      await waitUntil(() => countRequests(place, 'news') > 3)
      const elsewhere = place.worker('wrong', ['--blobs', temporaryFolder()])
      const late = place.worker('late')
      const refused = await elsewhere.ended
      expect(refused.code).toBe(2)
      expect(refused.stderr).toMatch(
        /run \S+ is not in \/.+\n +Set --blobs to the shared folder of the driver/,
      )
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
  it('finishes its active items, and leaves the others to other workers', async () => {
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
  })
})
