import { lastValueFrom, of } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Transport } from '../../src/http/transport.js'
import { buildAnswer } from '../../src/simulator/answers.js'
import { createMarket, toSheetOptions } from '../../src/simulator/market.js'
import { createRouter } from '../../src/simulator/router.js'
import { streams } from '../../streams/registry.js'
import { createQuickCollector } from '../support/limits.js'
import { SETTINGS } from './support.js'

const ZONES = ['Asia/Kolkata', 'UTC', 'America/New_York', 'Pacific/Kiritimati']

/** All requests and files of a run as of an instant. */
const runAt = async (asOf: number): Promise<unknown> => {
  const market = createMarket({ seed: 1, stocks: 5, asOf, exchange: 'NSE', candleDays: 5 })
  const route = createRouter(streams.flatMap(({ endpoints }) => endpoints))
  const requests: string[] = []
  const transport: Transport = ({ method, url, headers, body = '' }) => {
    requests.push(`${url} ${body}`)
    const { hostname, pathname, search } = new URL(url)
    const routed = route({ method, url: `/${hostname}${pathname}${search}`, headers, body })
    if (routed.kind !== 'accepted') throw new Error(`${method} ${url} is ${routed.kind}`)
    const { status, body: bytes } = buildAnswer(routed.endpoint, routed.input, market)
    return of({ status, body: bytes })
  }
  const files: MemoryFiles = new Map()
  const settings = { ...SETTINGS, options: toSheetOptions(market.sheet) }
  const collector = createQuickCollector({
    settings,
    storage: memory(files),
    transport,
    clock: () => asOf,
    random: () => 0.5,
  })
  const { outcome } = await lastValueFrom(collector.run())
  expect(outcome).toBe('complete')
  return { requests, files: [...files] }
}

it.each([
  ['the last second of a day in India', '2026-02-12T23:59:59.900+05:30'],
  ['the first second of a leap day in India', '2024-02-29T00:00:00.100+05:30'],
  ['an hour that New York has twice', '2025-11-02T11:30:00.000+05:30'],
])(
  'sends the same requests and writes the same files in every time zone of the machine: %s',
  async (_, instant) => {
    const own = process.env.TZ
    onTestFinished(() => {
      if (own === undefined) delete process.env.TZ
      else process.env.TZ = own
    })
    const offsets = new Set<number>()
    const runs: unknown[] = []
    for (const zone of ZONES) {
      process.env.TZ = zone
      offsets.add(new Date(Date.parse(instant)).getTimezoneOffset())
      runs.push(await runAt(Date.parse(instant)))
    }
    expect(offsets.size).toBe(ZONES.length)
    for (const run of runs) expect(run).toEqual(runs[0])
  },
)
