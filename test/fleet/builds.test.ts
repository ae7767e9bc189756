import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, tap } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readFleetAddress } from '../../src/fleet/options.js'
import { BUILD, createQueues } from '../../src/fleet/queues.js'
import { connectToRedis, loadPackages } from '../../src/fleet/redis.js'
import { fleetWorker, type WorkerNews } from '../../src/fleet/worker.js'
import { UsageError } from '../../src/model/errors.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createFleetPlace, readReport } from './processes.js'
import { createTestFleet, markNeedsRedis, noRedis, type TestFleet, waitUntil } from './support.js'

const OWN = `1.0.0+${BUILD}`
const [STREAM = ''] = streams.map(({ name }) => name)

/** A connection that has the name of a worker of a queue, as BullMQ gives it. */
const connectAs = async (
  { redis }: TestFleet,
  prefix: string,
  queue: string,
  name: string,
): Promise<void> => {
  const connection = redis.duplicate()
  onTestFinished(() => connection.disconnect())
  await connection.client('SETNAME', `${prefix}:${Buffer.from(queue).toString('base64')}:w:${name}`)
}

const openQueues = async ({ address }: TestFleet) => {
  const packages = loadPackages()
  const parsed = readFleetAddress(address)
  const redis = await connectToRedis(parsed, packages, { allowVolatile: true })
  const queues = createQueues(redis, parsed, '1.0.0', packages)
  onTestFinished(() => redis.disconnect())
  return queues
}

/** Works until the first error. Resolves to it, and to what the worker reported before. */
const failWorker = async ({ address }: TestFleet, blobs = temporaryFolder()) => {
  const news: WorkerNews[] = []
  const options = {
    address,
    blobs,
    version: '1.0.0',
    streams,
    headers: {},
    name: 'here',
    allowVolatile: true,
  }
  const error = await lastValueFrom(fleetWorker(options).pipe(tap((one) => news.push(one)))).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return { error, news }
}

describe.skipIf(noRedis)(markNeedsRedis('workers of another build'), () => {
  it('are named with their build, whichever form their keys have, and those of other fleets are not', async () => {
    const fleet = createTestFleet()
    const { prefix } = fleet
    await connectAs(fleet, `${prefix}@${OWN}`, STREAM, 'mine')
    await connectAs(fleet, `${prefix}@${OWN}`, 'another-stream', 'mine')
    for (const queue of [STREAM, 'another-stream']) await connectAs(fleet, `${prefix}-0.1.0`, queue, 'old')
    await connectAs(fleet, `${prefix}@1.0.0+other`, STREAM, 'a:w:b')
    await connectAs(fleet, `${prefix}@2.0.0+${BUILD}`, STREAM, 'next')
    await connectAs(fleet, `${prefix}@2.0.0+${BUILD}`, 'barriers', 'driver')
    for (const other of [`${prefix}-2-0.1.0`, `${prefix}-2@${OWN}`, `${prefix}2@${OWN}`, `x${prefix}@1.0.0`])
      await connectAs(fleet, other, STREAM, 'far')
    const { workers, otherWorkers, otherDriver } = await (await openQueues(fleet)).listMembers(STREAM)
    expect(workers).toEqual(['mine'])
    expect(otherWorkers.toSorted()).toEqual(['a:w:b (1.0.0+other)', `next (2.0.0+${BUILD})`, 'old (0.1.0)'])
    expect(otherDriver).toBe(`2.0.0+${BUILD}`)
  })

  it('end before they take an item, with both builds, and leave their name to the driver for a while', async () => {
    const fleet = createTestFleet()
    await connectAs(fleet, `${fleet.prefix}@1.0.0+other`, 'barriers', 'driver')
    const { error, news } = await failWorker(fleet)
    expect(error).toBeInstanceOf(UsageError)
    expect((error as Error).message).toBe(
      `this worker is of another build than the driver: the driver is 1.0.0+other, this worker is ${OWN}; install the same on both`,
    )
    expect(news).toEqual([])
    const key = `${fleet.prefix}@1.0.0+other:others`
    expect(await fleet.redis.smembers(key)).toEqual([`here (${OWN})`])
    expect(await fleet.redis.pttl(key)).toBeGreaterThan(10_000)
  })

  it('of a driver that went away before are named by the next one, until they have its build', async () => {
    const fleet = createTestFleet()
    const queues = await openQueues(fleet)
    await queues.reportOther(OWN, 'here')
    expect(await queues.listMembers(STREAM)).toMatchObject({
      workers: [],
      otherWorkers: [`here (${OWN})`],
      otherDriver: undefined,
    })
    await connectAs(fleet, queues.prefix, STREAM, 'here')
    expect(await queues.listMembers(STREAM)).toMatchObject({ workers: ['here'], otherWorkers: [] })
  })

  it('are no matter to a worker whose own driver is there, too', async () => {
    const fleet = createTestFleet()
    const queues = await openQueues(fleet)
    await connectAs(fleet, `${fleet.prefix}@1.0.0+other`, 'barriers', 'driver')
    await connectAs(fleet, queues.prefix, 'barriers', 'driver')
    expect((await queues.listMembers(STREAM)).otherDriver).toBeUndefined()
  })

  it('are named by a driver that waits, which goes on with one of its own build', async () => {
    const place = await createFleetPlace()
    const driver = place.driver(['--only', 'market-news', '--progress', 'lines'])
    const connection = new RegExp(
      ` name=${place.prefix}@\\S+:${Buffer.from('barriers').toString('base64')}:w:driver`,
    )
    await waitUntil(async () => connection.test(String(await place.redis.client('LIST'))))
    // The driver is built, and this worker is not.
    const { error, news } = await failWorker(place, place.blobs)
    expect((error as Error).message).toMatch(
      /: the driver is [\d.]+\+[\da-f]{10}, this worker is 1\.0\.0\+source; install the same on both$/,
    )
    expect(news.map(({ type }) => type)).not.toContain('run')
    await waitUntil(() =>
      /1 worker of another build, install the same on both: here \(1\.0\.0\+source\); driver [\d.]+\+[\da-f]{10}/.test(
        driver.stderr(),
      ),
    )
    const own = place.worker('own')
    const { code, stderr } = await driver.ended
    expect(code, stderr).toBe(0)
    expect(readReport(place.out).fleet?.workers.map(({ name }) => name)).toEqual(['own'])
    own.child.kill('SIGTERM')
    expect((await own.ended).code).toBe(0)
  })
})

describe('the digest of a build', () => {
  it('is the same in the command, the library and the compiled files', () => {
    const dist = join(import.meta.dirname, '../../dist')
    const found = readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter((name) => /^(?:lib|bundle)\b.*\.js$|\bqueues\.js$/.test(name))
      .flatMap((name) => /\bBUILD = ["'](\w+)["']/.exec(readFileSync(join(dist, name), 'utf8'))?.[1] ?? [])
    expect(found.length).toBe(3)
    expect(new Set(found).size).toBe(1)
    expect(found[0]).toMatch(/^[\da-f]{10}$/)
  })
})
