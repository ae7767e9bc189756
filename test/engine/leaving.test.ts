import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { setImmediate as turn } from 'node:timers/promises'
import { catchError, lastValueFrom, NEVER, of, scan, take, tap } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import type { HttpReply } from '../../src/http/transport.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { createRandom } from '../../src/simulator/random.js'
import { streams } from '../../streams/registry.js'
import { tiny, tinyCollector } from '../support/tiny.js'
import { until } from '../support/until.js'

type Context = Parameters<typeof tinyCollector>[0]
const context = { scheduler: { now: () => 0 } } as unknown as Context
const STOCKS = ['A', 'B', 'C', 'D']

/** A run whose requests are never answered, but for those of the stocks in `answered`. */
const openSilent = (answered: readonly string[] = []) => {
  const row: HttpReply = { status: 200, body: Buffer.from('{"data":[{"Close":1}]}') }
  const collector = tinyCollector(context, {
    streams: [tiny('news', { workers: 4 })],
    stocks: STOCKS,
    answers: (call) => (answered.some((symbol) => call === `news ${symbol}`) ? of(row) : NEVER),
  })
  const run = collector.open({ only: ['news'] })
  const silent = STOCKS.length - answered.length
  return { collector, run, silent, items: run[Symbol.asyncIterator]() }
}

const untilSent = async (requested: readonly string[]): Promise<void> => {
  while (requested.length <= STOCKS.length) await turn()
}

type Silent = ReturnType<typeof openSilent>

/** The ways to leave a run whose next item is awaited. */
const ways: Readonly<Record<string, (silent: Silent) => () => unknown>> = {
  'return()': ({ items }) => {
    void items.next()
    return () => items.return(undefined)
  },
  'throw()': ({ items }) => {
    void items.next()
    return () => items.throw(new Error('left')).catch(() => undefined)
  },
  'Readable.from(run).destroy()': ({ run }) => {
    const readable = Readable.from(run).resume()
    return () =>
      new Promise((resolve) => {
        readable.once('close', resolve)
        readable.destroy()
      })
  },
  'cancel() of a web stream': ({ run }) => {
    const reader = ReadableStream.from(run).getReader()
    void reader.read()
    return () => reader.cancel()
  },
  'the disposal of the run': ({ run, items }) => {
    void items.next()
    return () => run[Symbol.asyncDispose]()
  },
  'the disposal of the collector': ({ collector, items }) => {
    void items.next()
    return () => collector[Symbol.asyncDispose]()
  },
}

describe('a run that is left while its next item is awaited', () => {
  for (const [title, enter] of Object.entries(ways))
    it(`aborts its requests at once by ${title}`, async () => {
      const silent = openSilent()
      const leave = enter(silent)
      await untilSent(silent.collector.requested)
      await leave()
      expect(silent.collector.dropped).toHaveLength(silent.silent)
      expect(silent.run.state()).toEqual({ status: 'aborted' })
      expect(silent.collector.health().activeRuns).toBe(0)
    })

  it('settles what waits, and may be left twice', async () => {
    const { items, collector } = openSilent(['A'])
    expect((await items.next()).value?.item.key).toBe('A')
    const waiting = [items.next(), items.next()]
    await untilSent(collector.requested)
    const over = { done: true, value: undefined }
    expect(await items.return(undefined)).toEqual(over)
    expect(await Promise.all(waiting)).toEqual([over, over])
    expect(await items.return(undefined)).toEqual(over)
    expect(await items.next()).toEqual(over)
    await expect(items.throw(new Error('late'))).rejects.toThrow('late')
  })

  it('does not begin if it is left before', async () => {
    const { items, run, collector } = openSilent()
    await items.return(undefined)
    expect(await items.next()).toEqual({ done: true, value: undefined })
    expect(run.state()).toEqual({ status: 'waiting' })
    expect(collector.requested).toEqual([])
  })

  it('errors once, then is over', async () => {
    const items = openSilent()
      .collector.open({ only: ['new'] })
      [Symbol.asyncIterator]()
    const [first, second] = await Promise.allSettled([items.next(), items.next()])
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })

  it('gives items that were asked for at once in their order', async () => {
    const { items } = openSilent(STOCKS)
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => items.next()))
    expect(results.map(({ value }) => value?.item.key)).toEqual([...STOCKS, undefined])
  })
})

it('a reader that leaves a silent host has no request in flight 100 ms later', async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({
    endpoints,
    stocks: 6,
    faults: [{ on: 'news', mode: 'hang' }],
  })
  onTestFinished(() => simulator[Symbol.asyncDispose]())
  const collector = createCollector({ settings: simulator.settings, storage: memory() })
  const run = collector.open({ only: ['market-news'] })
  const readable = Readable.from(run).resume()
  const inFlight = () => collector.health().limiters.reduce((sum, one) => sum + one.inFlight, 0)
  while (inFlight() < 6) await turn()
  const leftAt = performance.now()
  await new Promise((resolve) => {
    readable.once('close', resolve)
    readable.destroy()
  })
  expect(performance.now() - leftAt).toBeLessThan(100)
  expect(inFlight()).toBe(0)
  expect(run.state()).toEqual({ status: 'aborted' })
})

type AnyRun = ReturnType<ReturnType<typeof createCollector>['open']>

/** The ways to open a run, and to leave it after some items; each fulfills when it has been left. */
const visits: readonly ((open: (options?: object) => AnyRun, items: number) => Promise<unknown>)[] = [
  async (open, items) => {
    let left = items
    for await (const _ of open()) if (left-- === 0) break
  },
  (open, items) => lastValueFrom(open().item$.pipe(take(items + 1)), { defaultValue: undefined }),
  (open, items) => {
    const app = new AbortController()
    return lastValueFrom(
      open({ signal: app.signal }).item$.pipe(
        scan((count) => count + 1, 0),
        tap((count) => count > items && app.abort()),
        catchError(() => of('aborted')),
      ),
      { defaultValue: undefined },
    )
  },
  (open, items) => {
    const readable = Readable.from(open())
    let left = items
    return new Promise((resolve) =>
      readable.on('close', resolve).on('data', () => left-- === 0 && readable.destroy()),
    )
  },
]

/** Some items are never answered: a run that goes on after it was left does not end. */
const HANG = { on: 'news', mode: 'hang', rate: 0.3 } as const

it('40 runs that are left at random leave no socket, no timer and no listener behind', async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({ endpoints, stocks: 6, faults: [HANG] })
  onTestFinished(() => simulator[Symbol.asyncDispose]())
  const collector = createCollector({ settings: simulator.settings, storage: memory() })
  const open = (options = {}): AnyRun => collector.open({ only: ['market-news'], ...options })
  const random = createRandom(1, 'leaving')
  const visit = () => visits[random.int(0, visits.length - 1)]?.(open, random.int(0, 2))
  // Other tests of the process may have left some, which end meanwhile.
  const count = (kind: string): number =>
    process.getActiveResourcesInfo().filter((name) => name === kind).length
  const kinds = ['TCPSocketWrap', 'TCPServerWrap', 'Timeout']
  const before = kinds.map(count)
  for (let runs = 0; runs < 40; runs += 5) await Promise.all(Array.from({ length: 5 }, visit))
  expect(collector.health().activeRuns).toBe(0)
  expect(collector.health().limiters.map(({ inFlight, waiting }) => inFlight + waiting)).toEqual(
    collector.health().limiters.map(() => 0),
  )
  await until('no more resources than before', () =>
    kinds.every((kind, index) => count(kind) <= (before[index] ?? 0)),
  )
})
