import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { fleetText } from '../../src/cli/fleet.js'
import { acquireDriverLease } from '../../src/fleet/driver-connections.js'
import { readFleetAddress } from '../../src/fleet/options.js'
import { clearQueues, createQueues } from '../../src/fleet/queues.js'
import { connectToRedis, loadPackages, retryAborted, waitOutRefusals } from '../../src/fleet/redis.js'
import { createWorkerStats } from '../../src/fleet/worker-stats.js'
import { StorageError } from '../../src/model/errors.js'
import { createItem, findFreePort, waitUntil } from './support.js'

const noServer = spawnSync('redis-server', ['--version']).status !== 0
const TITLE = noServer ? ' (skipped: no redis-server is installed)' : ''

type Control = (...command: readonly string[]) => Promise<unknown>

/** How a server refuses, and how it serves again. A replica of nobody never gets other data. The fake client below has the
 * other codes. */
const WAYS: readonly (readonly [
  code: string,
  refuse: (control: Control) => Promise<unknown>,
  serve: (control: Control) => Promise<unknown>,
])[] = [
  [
    'OOM',
    (control) => control('config', 'set', 'maxmemory', '1'),
    (control) => control('config', 'set', 'maxmemory', '0'),
  ],
  [
    'READONLY',
    (control) => control('replicaof', '127.0.0.1', '1'),
    (control) => control('replicaof', 'no', 'one'),
  ],
  [
    'MISCONF',
    async (control) => {
      await control('config', 'set', 'save', '3600 1')
      await control('config', 'set', 'dbfilename', 'folder')
      await control('bgsave')
      await waitUntil(async () =>
        String(await control('info', 'persistence')).includes('rdb_last_bgsave_status:err'),
      )
    },
    (control) => control('config', 'set', 'stop-writes-on-bgsave-error', 'no'),
  ],
]

describe.skipIf(noServer)(`a Redis server that refuses commands${TITLE}`, () => {
  let [server, port, dir] = [undefined as ChildProcess | undefined, 0, '']
  beforeAll(async () => {
    port = await findFreePort()
    dir = mkdtempSync(join(tmpdir(), 'scripstream-'))
    mkdirSync(join(dir, 'folder'))
    const flags = ['--appendonly', 'yes', '--save', '', '--enable-protected-configs', 'yes']
    server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, ...flags], {
      stdio: 'ignore',
    })
  })
  afterAll(() => {
    server?.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })

  const connect = async (limitMs: number) => {
    const control = new Redis(`redis://127.0.0.1:${port}`, {
      maxRetriesPerRequest: null,
      retryStrategy: () => 50,
    })
    control.on('error', () => undefined)
    await control.ping()
    const address = readFleetAddress(`redis://127.0.0.1:${port}/0?prefix=test`)
    const packages = loadPackages()
    const redis = await connectToRedis(address, packages, {})
    const readRefusal = waitOutRefusals(redis, { limitMs, shown: address.shown })
    const queues = createQueues(redis, address, '1.0.0', packages)
    await queues.queue('news').waitUntilReady()
    onTestFinished(async () => {
      await queues.close(true)
      redis.disconnect()
      control.disconnect()
    })
    return {
      redis,
      readRefusal,
      queues,
      control: (...[name = '', ...args]: readonly string[]) => control.call(name, ...args),
    }
  }

  it.each(WAYS)('is waited for, and nothing is lost: %s', async (code, refuse, serve) => {
    const { redis, readRefusal, queues, control } = await connect(60_000)
    const queue = queues.queue('news')
    const works = ['A', 'B'].map((key) => ({
      name: 'item',
      data: { run: 'r', item: createItem(key) },
      opts: { jobId: `i${key}` },
    }))
    await refuse(control)
    const settled: string[] = []
    const note = (what: string, done: Promise<unknown>) => done.then(() => void settled.push(what))
    const untilServed = () => queue.setGlobalConcurrency(3)
    const all = Promise.all([
      note('one', queue.add('item', { run: 'r', item: createItem('C') }, { jobId: 'iC' })),
      note(
        'bulk',
        retryAborted(() => queue.addBulk(works), { isOver: () => false, untilServed }),
      ),
      note('concurrency', queue.setGlobalConcurrency(2)),
      note('clear', clearQueues(queues, ['other'])),
    ])
    const lease = acquireDriverLease(redis, { prefix: 'test', run: 'r', shown: 'x' }, () => undefined)
    await waitUntil(() => readRefusal()?.startsWith(code) === true)
    expect(settled).toEqual([])
    expect(fleetText(createWorkerStats(() => 0).read([], readRefusal()), ', ')).toMatch(
      new RegExp(`^Redis refuses commands \\(${code} [^\\n]*\\): waiting for it$`),
    )
    await serve(control)
    await all
    await (await lease).release()
    expect(new Set(settled)).toEqual(new Set(['one', 'bulk', 'concurrency', 'clear']))
    expect((await queue.getWaiting()).map(({ id }) => id).sort()).toEqual(['iA', 'iB', 'iC'])
    expect(readRefusal()).toBeUndefined()
    await control('flushall')
  })

  it('is an error with the reason after the limit', async () => {
    const { redis, control } = await connect(0)
    await control('config', 'set', 'maxmemory', '1')
    const failed = redis.set('x', 1)
    await expect(failed).rejects.toThrow(StorageError)
    await expect(failed).rejects.toThrow(
      "refuses commands (OOM command not allowed when used memory > 'maxmemory'); free its memory or disk, or start its replicas",
    )
    await control('config', 'set', 'maxmemory', '0')
    await expect(redis.call('nonsense')).rejects.toThrow('unknown command')
  })
})

describe('a refused command', () => {
  /** A client whose server answers with the given replies, the last one for ever. */
  const client = (...replies: readonly (string | Error)[]) => {
    const sent: unknown[] = []
    const rest = [...replies]
    const redis = {
      sendCommand: (command: { resolve: (result: unknown) => void; reject: (error: Error) => void }) => {
        sent.push(command)
        const reply = rest.length > 1 ? rest.shift() : rest[0]
        if (reply instanceof Error) command.reject(reply)
        else command.resolve(reply)
      },
    }
    const readRefusal = waitOutRefusals(redis as unknown as Redis, { limitMs: 30_000, shown: 'redis://x' })
    const send = () =>
      new Promise((resolve, reject) => {
        redis.sendCommand({ resolve, reject })
      })
    return { sent, readRefusal, send }
  }

  it.each(['OOM', 'READONLY', 'MISCONF', 'NOREPLICAS', 'LOADING', 'TRYAGAIN', 'CLUSTERDOWN', 'MASTERDOWN'])(
    'is sent again twice a second until it is served, for 30 s at most: %s',
    async (code) => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const refusal = new Error(`${code} not now. script: 1234, on @user_script:1.`)
      const { sent, send, readRefusal } = client(refusal, refusal, refusal, 'OK')
      const reply = send()
      expect(readRefusal()).toBe(`${code} not now`)
      await vi.advanceTimersByTimeAsync(1_400)
      expect(sent).toHaveLength(3)
      await vi.advanceTimersByTimeAsync(200)
      expect([await reply, readRefusal()]).toEqual(['OK', undefined])
      const never = client(refusal)
      const failed = expect(never.send()).rejects.toThrow(
        `Redis at redis://x refuses commands (${code} not now)`,
      )
      await vi.advanceTimersByTimeAsync(31_000)
      await failed
    },
  )

  it('with another error fails at once', async () => {
    const { send, sent } = client(
      new Error('WRONGTYPE Operation against a key holding the wrong kind of value'),
    )
    await expect(send()).rejects.toThrow('WRONGTYPE')
    expect(sent).toHaveLength(1)
  })
})
