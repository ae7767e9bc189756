import { defer, firstValueFrom, map, type Observable, of, throwError } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { perStock, type StreamDefinition } from '../../src/engine/define-stream.js'
import { oncePerRun } from '../../src/engine/once-per-run.js'
import { createBlobStore, type WorkerOutcome } from '../../src/fleet/blobs.js'
import { createUnreported, runItemJob } from '../../src/fleet/item-job.js'
import type { HostBackoff } from '../../src/fleet/shared-backoffs.js'
import type { WorkerRun } from '../../src/fleet/worker-run.js'
import { createDriftWatch, type DriftWatch } from '../../src/http/drift.js'
import type { HttpReply } from '../../src/http/transport.js'
import { createLimiters } from '../../src/limiter/limiter-registry.js'
import { NothingAnsweredError } from '../../src/model/errors.js'
import { createResult } from '../../src/model/outcome.js'
import { createRedactor } from '../../src/model/redact.js'
import { temporaryFolder } from '../support/folders.js'
import { createCall, row, status, tiny } from '../support/tiny.js'
import { createFakeBackoffs, createSettings, createStockItem, type FakeBackoffs } from './support.js'

const STATIC = 'http://provider.test'
const PAUSE_MS = 2_000
/** A credential of this machine: the driver cannot redact it. */
const SECRET = 'key-of-this-worker'

class RequeueError extends Error {}

interface Bench {
  readonly job: (symbol: string, stream?: StreamDefinition) => Promise<WorkerOutcome>
  readonly requested: readonly string[]
  readonly paused: readonly HostBackoff[]
  readonly backoffs: FakeBackoffs
  readonly checks: () => number
  readonly drift: DriftWatch
}

/** The dependencies of a worker, with a provider that the test controls. */
const bench = (
  answer: (call: string) => Observable<HttpReply>,
  backoffs = createFakeBackoffs(PAUSE_MS),
): Bench => {
  const settings = createSettings({
    urls: { static: STATIC, news: 'http://other.test' },
    retries: 2,
    headers: { 'x-key': SECRET },
  })
  const requested: string[] = []
  const paused: HostBackoff[] = []
  const drift = createDriftWatch()
  let checks = 0
  const workerRun: WorkerRun = {
    run: 'run',
    asOf: 5,
    accept: [],
    settings,
    redact: createRedactor(settings),
    storage: memory(),
    transport: ({ url, body = '{}' }) => {
      const { of: whom } = JSON.parse(body) as { readonly of: string }
      const call = `${new URL(url).pathname.slice(1)} ${whom}`
      return defer(() => {
        requested.push(call)
        return answer(call)
      })
    },
    limiters: createLimiters(settings, undefined, { backoffMs: 10, throttleMs: PAUSE_MS }),
    drift,
    shared: oncePerRun(),
    sharedInSecondPass: oncePerRun(),
    ended: new Map(),
    emit: () => undefined,
    watch: undefined,
    clock: Date.now,
    random: () => 0.5,
    close: () => undefined,
  }
  const tools = {
    by: 'a',
    blobs: createBlobStore(temporaryFolder()),
    unreported: createUnreported(),
    backoffs,
    checkStall: () => {
      checks += 1
    },
    pauseQueues: async (backoff: HostBackoff) => void paused.push(backoff),
    createRequeueError: () => new RequeueError(),
  }
  return {
    job: (symbol, stream = tiny('news')) =>
      firstValueFrom(runItemJob(stream, { run: 'run', item: createStockItem(symbol) }, workerRun, tools)),
    requested,
    paused,
    backoffs,
    drift,
    checks: () => checks,
  }
}

const inTurn = (...replies: readonly HttpReply[]): (() => Observable<HttpReply>) => {
  let place = 0
  return () => of(replies[Math.min(place++, replies.length - 1)] ?? row)
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('runItemJob', () => {
  it('reports the outcome of an item with its worker and its request counts', async () => {
    const { job, backoffs, checks } = bench(() => of(row))
    expect(await job('A')).toEqual({
      by: 'a',
      status: 'success',
      requestCounts: [1, 0, 0],
      rows: { length: 1, bytes: 13, form: 'json' },
    })
    expect(backoffs.served).toEqual([STATIC])
    expect(checks()).toBe(1)
  })

  it('reports the requests of a retry with its own item only', async () => {
    const { job } = bench(inTurn(status(500), row))
    const first = job('A')
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await first).requestCounts).toEqual([2, 1, 0])
    expect((await job('B')).requestCounts).toEqual([1, 0, 0])
  })

  it('reports warnings', async () => {
    const noticing = tiny('news', {
      work: perStock((_, { warn }) => {
        warn('nothing new')
        return of(createResult([]))
      }),
    })
    const { job } = bench(() => of(row))
    expect(await job('A', noticing)).toMatchObject({ status: 'empty', warnings: ['nothing new'] })
    expect(await job('B')).not.toHaveProperty('warnings')
  })

  it('reports an HTTP error as a failed item', async () => {
    const { job } = bench(() => of(status(404)))
    const outcome = await job('A')
    expect(outcome).toMatchObject({ status: 'http_404', code: 'http_404', requestCounts: [1, 0, 0] })
    expect(outcome).not.toHaveProperty('error')
  })

  it('redacts the credentials of this machine', async () => {
    const quoting = tiny('news', {
      work: perStock((stock, { warn }) => {
        warn(`asked with ${SECRET}`)
        return stock.Symbol === 'A'
          ? throwError(() => new NothingAnsweredError(`${SECRET} is not known`))
          : of(createResult([{ Symbol: stock.Symbol }], `${SECRET} is too old`))
      }),
    })
    const { job } = bench(() => of(row))
    expect(await job('A', quoting)).toMatchObject({
      reason: '[redacted] is not known',
      warnings: ['asked with [redacted]'],
    })
    expect(await job('B', quoting)).toMatchObject({ degraded: '[redacted] is too old' })
  })

  it('passes on an unexpected error', async () => {
    const buggy = tiny('news', {
      work: perStock(() => {
        throw new TypeError('a bug')
      }),
    })
    await expect(bench(() => of(row)).job('A', buggy)).rejects.toThrow('a bug')
  })
})

describe('an item whose host answers 429', () => {
  it('is requeued after all queues of the host are paused, and its request is reported with the next outcome', async () => {
    const { job, paused, backoffs, requested } = bench(inTurn(status(429), row))
    await expect(job('A')).rejects.toThrow(RequeueError)
    expect(paused).toEqual([{ address: STATIC, generation: 1, ms: PAUSE_MS, isFinal: false }])
    expect(backoffs.refused).toEqual([STATIC])
    expect(requested).toEqual(['news A'])
    backoffs.startBackoff(STATIC, 0)
    const again = job('A')
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    expect(await again).toMatchObject({ status: 'success', requestCounts: [2, 0, 1] })
  })

  it('is requeued without a request if the fleet backs off from the host already', async () => {
    const { job, backoffs, requested, paused } = bench(() => of(row))
    backoffs.startBackoff(STATIC, 500)
    await expect(job('A')).rejects.toThrow(RequeueError)
    expect(requested).toEqual([])
    expect(paused).toEqual([])
  })

  it('does not affect items of other hosts', async () => {
    const other = { ...createCall('other'), host: 'news' as const }
    const elsewhere = tiny('elsewhere', {
      endpoints: [other],
      work: perStock((stock, { ask }) =>
        ask(other, { of: stock.Symbol }).pipe(map((rows) => createResult(rows))),
      ),
    })
    const { job, requested } = bench((call) => of(call.startsWith('news') ? status(429) : row))
    await expect(job('A')).rejects.toThrow(RequeueError)
    expect(await job('A', elsewhere)).toMatchObject({ status: 'success' })
    expect(requested).toEqual(['news A', 'other A'])
  })

  it('fails with rate_limit when the whole fleet has got only 429 for too long, and pauses no queue', async () => {
    const { job, paused, requested, backoffs } = bench(
      () => of(status(429)),
      createFakeBackoffs(PAUSE_MS, true),
    )
    const lost = {
      status: 'rate_limit',
      reason: expect.stringContaining('rate-limited the whole fleet for too long'),
    }
    expect(await job('A')).toMatchObject(lost)
    expect(paused).toEqual([])
    expect(backoffs.find(STATIC).isFinal).toBe(true)
    expect(await job('B')).toMatchObject(lost)
    expect(requested).toEqual(['news A'])
  })
})

describe('a request that several items share', () => {
  it('is sent again after the back-off for the waiting items, even if the first item was requeued', async () => {
    const sharing = tiny('news', {
      work: perStock((_, { ask, shared }) =>
        shared('list', () => ask(createCall('list'), { of: 'all' })).pipe(map((rows) => createResult(rows))),
      ),
    })
    let answerCount = 0
    const answer = (): Observable<HttpReply> => defer(() => of(answerCount++ === 0 ? status(429) : row))
    const { job, requested, backoffs } = bench(answer)
    const [first, second] = [job('A', sharing), job('B', sharing)]
    const others = second.then((outcome) => outcome.status)
    await expect(first).rejects.toThrow(RequeueError)
    backoffs.startBackoff(STATIC, 0)
    expect(requested).toEqual(['list all'])
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    await vi.advanceTimersByTimeAsync(10)
    expect(await others).toBe('success')
    expect(requested).toEqual(['list all', 'list all'])
    expect(await job('A', sharing)).toMatchObject({ status: 'success' })
    expect(requested.length).toBe(2)
  })
})

describe('a shared request whose first answer is a page', () => {
  it('goes on for the waiting items after the first item was requeued', async () => {
    const sharing = tiny('news', {
      work: perStock((_, { ask, shared }) =>
        shared('list', () => ask(createCall('list'), { of: 'all' })).pipe(map((rows) => createResult(rows))),
      ),
    })
    const { job, backoffs } = bench(
      inTurn({ status: 200, body: Buffer.from('<!DOCTYPE html><html></html>') }, row),
    )
    const [first, second] = [job('A', sharing).catch((error: unknown) => error), job('B', sharing)]
    // Another worker got a 429 meanwhile.
    backoffs.startBackoff(STATIC, 500)
    await vi.advanceTimersByTimeAsync(2_000)
    backoffs.startBackoff(STATIC, 0)
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    expect(await second).toMatchObject({ status: 'success' })
    expect(await first).toBeInstanceOf(RequeueError)
  })
})

describe('drift', () => {
  it('is reported completely with the next outcome after it has changed, and only once', async () => {
    const { job, drift } = bench(() => of(row))
    const shown = {
      endpoint: 'news',
      kind: 'new',
      field: 'x',
      of: 4,
      records: 1,
      ofRecords: 4,
      example: 'A',
    } as const
    expect(await job('A')).not.toHaveProperty('drift')
    drift.add('test', [
      { ...shown, stream: 'news', answers: 1 },
      { ...shown, stream: 'other', answers: 2 },
    ])
    expect((await job('B')).drift).toEqual([{ ...shown, stream: 'news', answers: 1 }])
    expect(await job('C')).not.toHaveProperty('drift')
    drift.add('test', [{ ...shown, stream: 'news', answers: 3 }])
    expect((await job('D')).drift).toMatchObject([{ answers: 3 }])
  })
})
