import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { DAYS, listDayItems, MASTER, type StreamDefinition } from '../../src/engine/define-stream.js'
import { type Item, isLost } from '../../src/model/outcome.js'
import type { RunReport, ScriptReport } from '../../src/model/report.js'
import { formatCompactDmy } from '../../src/model/trading-day.js'
import { type Fault, type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { createQuickCollector, type TestSettings } from '../support/limits.js'
import { until } from '../support/until.js'
import { EVENING } from './support.js'

const STOCKS = 12
const NEXT_EVENING = EVENING + 86_400_000
const ATTEMPTS = 3
const FEW = 2

let simulator: Simulator
beforeAll(async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  simulator = await serveSimulator({ endpoints, stocks: STOCKS, candleDays: 40, asOf: EVENING })
})
afterAll(() => simulator.close())
beforeEach(() => simulator.control({ faults: [], latencyMs: 0, asOf: EVENING, reset: true }))

const collector = (files: MemoryFiles, settings: TestSettings = {}) =>
  createQuickCollector({
    settings: { downMs: 300_000, ...simulator.settings, retries: ATTEMPTS - 1, ...settings },
    storage: memory(files),
    clock: () => NEXT_EVENING,
  })

interface Ran {
  readonly report: RunReport
  readonly script: ScriptReport
  /** Every file that is there after the run but the report. */
  readonly texts: Readonly<Record<string, string>>
}

const textsOf = (files: MemoryFiles): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...files].filter(([file]) => !file.startsWith('.scripstream/')).map(([file, { text }]) => [file, text]),
  )

/**
 * Without the lists of stocks and of indices that a run of another stream stores, too: their figures are
 * those of its day.
 */
const ownTexts = ({ name }: StreamDefinition, texts: Ran['texts']): Ran['texts'] =>
  Object.fromEntries(
    Object.entries(texts).filter(
      ([file]) =>
        (name === MASTER || !file.startsWith('master_')) &&
        (name === 'all-indices' || !file.startsWith('all_indices')),
    ),
  )

const run = async (
  { name }: StreamDefinition,
  files: MemoryFiles = new Map(),
  asOf = EVENING,
  settings: TestSettings = {},
): Promise<Ran> => {
  const report = await lastValueFrom(collector(files, settings).run({ only: [name], asOf }))
  const script = report.scripts[name]
  if (script === undefined) throw new Error(`${name} is not in the report`)
  return { report, script, texts: textsOf(files) }
}

const namesOf = ({ endpoints }: StreamDefinition): readonly string[] => [
  ...new Set(endpoints.map(({ name }) => name)),
]
const faultsOn = (stream: StreamDefinition, fault: Omit<Fault, 'on'>): Fault[] =>
  namesOf(stream).map((on) => ({ on, ...fault }))

/** The number of requests for each item of the stream's endpoints. */
const askedOf = (stream: StreamDefinition): readonly number[] =>
  namesOf(stream).flatMap((name) => Object.values(simulator.stats().endpoints[name]?.items ?? {}))

const inFlightOf = (stream: StreamDefinition): number =>
  namesOf(stream).reduce((sum, name) => sum + (simulator.stats().endpoints[name]?.inFlight ?? 0), 0)

const itemsOf = ({ items }: ScriptReport): number =>
  Object.values(items).reduce((sum, items) => sum + items, 0)
const lostOf = ({ items }: ScriptReport): number =>
  Object.entries(items).reduce(
    (sum, [status, count]) => (isLost({ status: status as 'error' }) ? sum + count : sum),
    0,
  )

/** The days as requests of the archive name them. */
const datesOf = (days: readonly Item[]): readonly string[] => days.map(({ key }) => formatCompactDmy(key))

/** How many items the stream is about, when all goes well. */
const totalOf = ({ work }: StreamDefinition): number => {
  if (work.of === MASTER) return STOCKS
  if (work.of === undefined) return work.parts.length
  return work.of === DAYS ? listDayItems(0).length : simulator.market.indices.length
}

describe.each(streams.map((stream) => ({ name: stream.name, stream })))('$name', ({ stream }) => {
  it('reports every item and writes its files in a run without failures', async () => {
    const { report, script, texts } = await run(stream)
    expect(report.outcome).toBe('complete')
    expect(script).toMatchObject({
      outcome: 'success',
      retries: 0,
      rateLimited: 0,
      degraded: 0,
      problems: [],
    })
    expect(itemsOf(script)).toBe(totalOf(stream))
    expect(lostOf(script)).toBe(0)
    expect(script.items.success).toBeGreaterThan(0)
    expect(script.files).toBeGreaterThan(0)
    expect(script.bytes).toBeGreaterThan(2)
    expect(Object.keys(texts).length).toBeGreaterThanOrEqual(script.files)
    expect(simulator.stats()).toMatchObject({ violations: [], unknown: [] })
    expect(new Set(askedOf(stream))).toEqual(new Set([1]))
    expect(script.requests).toBe(askedOf(stream).length)
  })

  it('writes the same bytes again into an empty folder', async () => {
    const first = await run(stream)
    expect((await run(stream)).texts).toEqual(first.texts)
  })

  it('has as many requests of an endpoint in flight as it is given workers, and never more', async () => {
    const workers = 3
    simulator.control({ latencyMs: 20 })
    await run(stream, new Map(), EVENING, { workers: { [stream.name]: workers } })
    for (const name of namesOf(stream)) {
      const most = simulator.stats().endpoints[name]?.maxInFlight ?? 0
      expect(most).toBeLessThanOrEqual(Math.min(workers, totalOf(stream)))
      if (stream.work.of !== undefined) expect(most).toBe(workers)
    }
  })

  it.each<{ what: string; fault: Omit<Fault, 'on'> }>([
    { what: 'a 429', fault: { mode: 'status', status: 429, times: 1 } },
    { what: 'a 429 that asks for no pause', fault: { mode: 'status', status: 429, retryAfter: 0, times: 1 } },
    { what: 'a 503', fault: { mode: 'status', status: 503, times: 1 } },
    { what: 'an HTML page', fault: { mode: 'html', times: 1 } },
    { what: 'garbage', fault: { mode: 'garbage', times: 1 } },
    { what: 'half a body', fault: { mode: 'truncate', times: 1 } },
    { what: 'no body', fault: { mode: 'no-body', times: 1 } },
    { what: 'null', fault: { mode: 'null', times: 1 } },
    { what: 'a 429 and another', fault: { mode: 'status', status: 429, times: ATTEMPTS - 1 } },
  ])('writes the same bytes when $what comes first, and counts the further attempts', async ({ fault }) => {
    const clean = await run(stream)
    simulator.control({ faults: faultsOn(stream, fault), reset: true })
    const { report, script, texts } = await run(stream)
    expect(texts).toEqual(clean.texts)
    expect(report.outcome).toBe('complete')
    expect(script.items).toEqual(clean.script.items)
    const further = clean.script.requests * (fault.times ?? 0)
    expect(script).toMatchObject({
      outcome: 'success',
      retries: further,
      requests: clean.script.requests + further,
    })
    expect(script.rateLimited).toBe(fault.status === 429 ? further : 0)
  })

  it('writes the same bytes when a few connections are reset first', async () => {
    const clean = await run(stream)
    const { stocks, indices } = simulator.market
    // Five resets in a row are an outage, for which the run waits in real time until an item succeeds.
    const few = [
      ...stocks.slice(0, FEW).flatMap(({ ISIN, Sid }) => [ISIN, Sid]),
      ...indices.slice(0, FEW).map(({ Sid }) => String(Sid)),
      ...datesOf(listDayItems(EVENING).slice(0, FEW)),
    ]
    const items = stream.work.of === undefined ? {} : { items: few }
    simulator.control({ faults: faultsOn(stream, { mode: 'reset', times: 1, ...items }), reset: true })
    const { report, script, texts } = await run(stream)
    expect(texts).toEqual(clean.texts)
    expect(report.outcome).toBe('complete')
    expect(script.items).toEqual(clean.script.items)
    expect(script.retries).toBe(
      stream.work.of === undefined ? clean.script.requests : (FEW * clean.script.requests) / totalOf(stream),
    )
    expect(script).toMatchObject({ outcome: 'success', rateLimited: 0 })
  })

  it('fails every item with a reason if the provider is down, and writes nothing for them', async () => {
    simulator.control({ faults: faultsOn(stream, { mode: 'status', status: 503 }) })
    const { report, script, texts } = await run(stream, new Map(), EVENING, { downMs: 0 })
    expect(report.outcome).toBe(stream.name === MASTER ? 'failed' : 'partial')
    expect(lostOf(script) + script.degraded).toBe(totalOf(stream))
    if (script.degraded === 0)
      expect(script).toMatchObject({ outcome: 'failed', error: expect.stringContaining('503') })
    expect(script.problems.length).toBeGreaterThan(0)
    for (const { item, reason } of script.problems) if (item !== undefined) expect(reason).toContain('503')
    const source = streams.find(({ name }) => name === stream.work.of)
    const needed = source === undefined ? {} : (await run(source)).texts
    for (const [file, text] of Object.entries(texts)) expect(text).toBe(needed[file] ?? '[]\n')
    // Twice as often in the second pass, and one more as the try after which the host is given up.
    expect(Math.max(...askedOf(stream))).toBeLessThanOrEqual(2 * (ATTEMPTS + 1))
  })

  it('retains the files of an earlier run if the provider is down', async () => {
    const files: MemoryFiles = new Map()
    const { texts } = await run(stream, files)
    simulator.control({
      asOf: NEXT_EVENING,
      faults: faultsOn(stream, { mode: 'status', status: 503 }),
      reset: true,
    })
    const { report, script } = await run(stream, files, NEXT_EVENING, { downMs: 0 })
    expect(askedOf(stream).length).toBeGreaterThan(0)
    // A day of an earlier run is not requested again.
    expect(lostOf(script) + script.degraded + script.items.skipped).toBe(totalOf(stream))
    expect(lostOf(script) + script.degraded).toBeGreaterThan(0)
    expect(report.outcome).toBe(stream.name === MASTER ? 'failed' : 'partial')
    expect(ownTexts(stream, textsOf(files))).toEqual(ownTexts(stream, texts))
  })

  it('leaves nothing in flight and no report when it is cancelled half-way', async () => {
    const { stocks, indices } = simulator.market
    const half = <T>(list: readonly T[]): readonly T[] => list.slice(list.length >> 1)
    const items = [
      ...half(stocks).flatMap(({ ISIN, Sid }) => [ISIN, Sid]),
      ...half(indices).map(({ Sid }) => String(Sid)),
      ...datesOf(half(listDayItems(EVENING))),
    ]
    simulator.control({
      faults: faultsOn(stream, { mode: 'hang', ...(stream.work.of === undefined ? {} : { items }) }),
    })
    const files: MemoryFiles = new Map()
    const seen: string[] = []
    const subscription = collector(files)
      .events({ only: [stream.name], asOf: EVENING })
      .subscribe(({ type }) => seen.push(type))
    await until('a hanging request', () => inFlightOf(stream) > 0)
    subscription.unsubscribe()
    const seenBefore = seen.length
    await until('nothing in flight', () =>
      Object.values(simulator.stats().endpoints).every(({ inFlight }) => inFlight === 0),
    )
    expect(seen).not.toContain('run-finished')
    expect(seen).toHaveLength(seenBefore)
    expect([...files.keys()].filter((file) => file.startsWith('.scripstream/'))).toEqual([])
  })
})

describe.each(streams.filter(({ name }) => name === MASTER).map((stream) => ({ name: stream.name, stream })))(
  'without $name',
  ({ stream }) => {
    it('no other request is sent, and the report states why', async () => {
      // A simulator of its own: the other one may still read requests of the cancelled run.
      const endpoints = streams.flatMap((one) => one.endpoints)
      const own = await serveSimulator({ endpoints, stocks: STOCKS, candleDays: 40, asOf: EVENING })
      onTestFinished(() => own.close())
      own.control({ faults: faultsOn(stream, { mode: 'status', status: 503 }) })
      const files: MemoryFiles = new Map()
      const report = await lastValueFrom(
        collector(files, { ...own.settings, downMs: 0 }).run({ asOf: EVENING }),
      )
      expect(report).toMatchObject({ outcome: 'failed', error: expect.stringContaining('503') })
      expect(Object.keys(own.stats().endpoints)).toEqual(namesOf(stream))
      expect(textsOf(files)).toEqual({})
      for (const { name, optional } of streams)
        if (!optional) expect(report.scripts[name]?.outcome).toBe(name === stream.name ? 'failed' : 'skipped')
    })
  },
)
