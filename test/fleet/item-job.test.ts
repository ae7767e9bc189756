import { defer, firstValueFrom, map, type Observable, of, throwError } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { blobsIn } from '../../src/fleet/blobs.js'
import type { Held } from '../../src/fleet/hold.js'
import { itemJob, nothingTold } from '../../src/fleet/item-job.js'
import type { Outcome } from '../../src/fleet/outcome.js'
import type { WorkerSite } from '../../src/fleet/site.js'
import { NothingAnswered } from '../../src/model/errors.js'
import { found } from '../../src/model/outcome.js'
import { redactorOf } from '../../src/model/redact.js'
import { askedOnce } from '../../src/pipeline/asked-once.js'
import type { StreamDefinition } from '../../src/pipeline/define-stream.js'
import { perStock } from '../../src/pipeline/work.js'
import { createDriftWatch, type DriftWatch } from '../../src/provider/drift.js'
import { createGates } from '../../src/provider/gate/gates.js'
import type { HttpReply } from '../../src/provider/transport.js'
import { temporaryFolder } from '../sinks/support.js'
import { callOf, row, status, tiny } from '../support/tiny.js'
import { type FakeHolds, fakeHolds, settingsOf, stockItem } from './support.js'

const STATIC = 'http://provider.test'
const PAUSE_MS = 2_000
/** Of this machine alone: the driver could not take it out. */
const SECRET = 'key-of-this-worker'

class GivenBack extends Error {}

interface Bench {
  readonly job: (symbol: string, stream?: StreamDefinition) => Promise<Outcome>
  readonly asked: readonly string[]
  readonly paused: readonly Held[]
  readonly holds: FakeHolds
  readonly checks: () => number
  readonly drift: DriftWatch
}

/** A worker's tools around a provider in the test's hands. */
const bench = (answer: (call: string) => Observable<HttpReply>, holds = fakeHolds(PAUSE_MS)): Bench => {
  const settings = settingsOf({
    ...{ urls: { static: STATIC, news: 'http://other.test' }, retries: 2, backoffMs: 10, throttleMs: PAUSE_MS },
    headers: { 'x-key': SECRET },
  })
  const asked: string[] = []
  const paused: Held[] = []
  const drift = createDriftWatch()
  let checks = 0
  const site: WorkerSite = {
    ...{ run: 'run', asOf: 5, accept: [], settings, redact: redactorOf(settings) },
    storage: memory(),
    transport: ({ url, body = '{}' }) => {
      const { of: whom } = JSON.parse(body) as { readonly of: string }
      const call = `${new URL(url).pathname.slice(1)} ${whom}`
      return defer(() => {
        asked.push(call)
        return answer(call)
      })
    },
    gates: createGates(settings),
    drift,
    shared: askedOnce(),
    sharedAgain: askedOnce(),
    ended: new Map(),
    emit: () => undefined,
    watch: undefined,
    clock: Date.now,
    random: () => 0.5,
    close: () => undefined,
  }
  const tools = {
    ...{ by: 'a', blobs: blobsIn(temporaryFolder()), told: nothingTold(), holds },
    pulse: {
      check: () => {
        checks += 1
      },
    },
    pause: async (held: Held) => void paused.push(held),
    givenBack: () => new GivenBack(),
  }
  return {
    job: (symbol, stream = tiny('news')) => firstValueFrom(itemJob(stream, { run: 'run', item: stockItem(symbol) }, site, tools)),
    ...{ asked, paused, holds, drift, checks: () => checks },
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

describe('the job of an item', () => {
  it('tells what became of it, by whom, and what it asked', async () => {
    const { job, holds, checks } = bench(() => of(row))
    expect(await job('A')).toEqual({
      ...{ by: 'a', status: 'success', asked: [1, 0, 0] },
      rows: { length: 1, bytes: 13, form: 'json' },
    })
    expect(holds.served).toEqual([STATIC])
    expect(checks()).toBe(1)
  })

  it('tells the requests of a retry, of this item alone', async () => {
    const { job } = bench(inTurn(status(500), row))
    const first = job('A')
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await first).asked).toEqual([2, 1, 0])
    expect((await job('B')).asked).toEqual([1, 0, 0])
  })

  it('tells what is worth a notice', async () => {
    const noticing = tiny('news', {
      work: perStock((_, { notice }) => {
        notice('nothing new')
        return of(found([]))
      }),
    })
    const { job } = bench(() => of(row))
    expect(await job('A', noticing)).toMatchObject({ status: 'empty', notices: ['nothing new'] })
    expect(await job('B')).not.toHaveProperty('notices')
  })

  it('settles what a host answers with an error as a lost item', async () => {
    const { job } = bench(() => of(status(404)))
    expect(await job('A')).toMatchObject({ status: 'http_404', asked: [1, 0, 0] })
  })

  it('tells nothing of what identifies this machine', async () => {
    const quoting = tiny('news', {
      work: perStock((stock, { notice }) => {
        notice(`asked with ${SECRET}`)
        return stock.Symbol === 'A'
          ? throwError(() => new NothingAnswered(`${SECRET} is not known`))
          : of(found([{ Symbol: stock.Symbol }], `${SECRET} is too old`))
      }),
    })
    const { job } = bench(() => of(row))
    expect(await job('A', quoting)).toMatchObject({ reason: '[redacted] is not known', notices: ['asked with [redacted]'] })
    expect(await job('B', quoting)).toMatchObject({ degraded: '[redacted] is too old' })
  })

  it('passes a bug on', async () => {
    const buggy = tiny('news', {
      work: perStock(() => {
        throw new TypeError('a bug')
      }),
    })
    await expect(bench(() => of(row)).job('A', buggy)).rejects.toThrow('a bug')
  })
})

describe('an item whose host refuses', () => {
  it('is given back, once all the queues of the host are paused, and its request is told with the next one', async () => {
    const { job, paused, holds, asked } = bench(inTurn(status(429), row))
    await expect(job('A')).rejects.toThrow(GivenBack)
    expect(paused).toEqual([{ address: STATIC, generation: 1, ms: PAUSE_MS, isFinal: false }])
    expect(holds.refused).toEqual([STATIC])
    expect(asked).toEqual(['news A'])
    holds.hold(STATIC, 0)
    const again = job('A')
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    expect(await again).toMatchObject({ status: 'success', asked: [2, 0, 1] })
  })

  it('is given back without a request where the fleet knows already', async () => {
    const { job, holds, asked, paused } = bench(() => of(row))
    holds.hold(STATIC, 500)
    await expect(job('A')).rejects.toThrow(GivenBack)
    expect(asked).toEqual([])
    expect(paused).toEqual([])
  })

  it('leaves items of other hosts alone', async () => {
    const other = { ...callOf('other'), host: 'news' as const }
    const elsewhere = tiny('elsewhere', {
      endpoints: [other],
      work: perStock((stock, { ask }) => ask(other, { of: stock.Symbol }).pipe(map((rows) => found(rows)))),
    })
    const { job, asked } = bench((call) => of(call.startsWith('news') ? status(429) : row))
    await expect(job('A')).rejects.toThrow(GivenBack)
    expect(await job('A', elsewhere)).toMatchObject({ status: 'success' })
    expect(asked).toEqual(['news A', 'other A'])
  })

  it('ends as rate_limit once the whole fleet has been refused for too long, with no queue paused', async () => {
    const { job, paused, asked, holds } = bench(() => of(status(429)), fakeHolds(PAUSE_MS, true))
    const lost = { status: 'rate_limit', reason: expect.stringContaining('rate-limited the whole fleet for too long') }
    expect(await job('A')).toMatchObject(lost)
    expect(paused).toEqual([])
    expect(holds.of(STATIC).isFinal).toBe(true)
    expect(await job('B')).toMatchObject(lost)
    expect(asked).toEqual(['news A'])
  })
})

describe('what several items wait for together', () => {
  it('is asked again after the pause for those that wait, whoever was given back', async () => {
    const sharing = tiny('news', {
      work: perStock((_, { ask, shared }) => shared('list', () => ask(callOf('list'), { of: 'all' })).pipe(map((rows) => found(rows)))),
    })
    let answered = 0
    const answer = (): Observable<HttpReply> => defer(() => of(answered++ === 0 ? status(429) : row))
    const { job, asked, holds } = bench(answer)
    const [first, second] = [job('A', sharing), job('B', sharing)]
    const others = second.then((outcome) => outcome.status)
    await expect(first).rejects.toThrow(GivenBack)
    holds.hold(STATIC, 0)
    expect(asked).toEqual(['list all'])
    await vi.advanceTimersByTimeAsync(PAUSE_MS)
    await vi.advanceTimersByTimeAsync(10)
    expect(await others).toBe('success')
    expect(asked).toEqual(['list all', 'list all'])
    expect(await job('A', sharing)).toMatchObject({ status: 'success' })
    expect(asked.length).toBe(2)
  })
})

describe('drift', () => {
  it('is told as a whole with the item after which there is more of it, and not again', async () => {
    const { job, drift } = bench(() => of(row))
    const shown = { endpoint: 'news', kind: 'new', field: 'x', of: 4, records: 1, ofRecords: 4, example: 'A' } as const
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
