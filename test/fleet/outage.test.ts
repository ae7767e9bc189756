import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { countRequests, createFleetPlace, readReport, waitUntilJoined } from './processes.js'
import { findFreePort, waitUntil } from './support.js'

const noServer = spawnSync('redis-server', ['--version']).status !== 0
const STREAMS = ['--only', 'market-news,company-filings']

/** A Redis server of this test, which persists its data. */
const ownServer = async () => {
  const [port, dir] = [await findFreePort(), temporaryFolder()]
  const address = `redis://127.0.0.1:${port}`
  let server: ChildProcess | undefined
  const begin = async (): Promise<void> => {
    server = spawn(
      'redis-server',
      ['--port', `${port}`, '--bind', '127.0.0.1', '--appendonly', 'yes', '--dir', dir],
      { stdio: 'ignore' },
    )
    const redis = new Redis(address, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
    redis.on('error', () => undefined)
    await redis.ping()
    redis.disconnect()
  }
  const end = async (): Promise<void> => {
    if (server?.exitCode !== null) return
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
  onTestFinished(end)
  await begin()
  return { address, begin, end }
}

describe.skipIf(noServer)(
  `a Redis server that is down (${noServer ? 'skipped: no redis-server is installed' : 'slow: in real time'})`,
  () => {
    it('pauses the run, which continues afterwards and loses nothing', async () => {
      const server = await ownServer()
      const place = await createFleetPlace({
        server: server.address,
        latencyMs: 300,
        env: { SCRIPSTREAM_WORKERS: 'market-news=4,company-filings=4' },
      })
      const workers = [place.worker('a'), place.worker('b')]
      await waitUntilJoined(workers)
      const driver = place.driver(STREAMS)
      await waitUntil(() => countRequests(place, 'news') >= 8)
      await server.end()
      const before = countRequests(place, 'news')
      await server.begin()
      await waitUntil(() => countRequests(place, 'news') > before)
      const { code, stderr } = await driver.ended
      expect(code, stderr).toBe(0)
      expect(readReport(place.out).outcome).toBe('complete')
      expect(place.simulator.stats().endpoints.news?.maxInFlight).toBeLessThanOrEqual(4)
      expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(STREAMS)))
      // Stopping workers do not wait for a server that is down.
      await server.end()
      for (const { child } of workers) child.kill('SIGTERM')
      for (const { ended } of workers) expect((await ended).code).toBe(0)
    })
  },
)
