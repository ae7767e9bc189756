import { lastValueFrom, map, toArray } from 'rxjs'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { canariesOf } from '../../src/cli/doctor/canaries.js'
import type { Canary } from '../../src/cli/doctor/canary.js'
import { doctorLines } from '../../src/cli/doctor/lines.js'
import { localChecks } from '../../src/cli/doctor/local.js'
import { redactorOf } from '../../src/model/redact.js'
import { Settings } from '../../src/model/settings.js'
import { openConnections, type Transport } from '../../src/provider/http.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/index.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')

let simulator: Simulator
const { send, close } = openConnections()
beforeAll(async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  simulator = await serveSimulator({ endpoints, stocks: 12, candleDays: 20, asOf: EVENING })
})
afterAll(() => {
  close()
  return simulator.close()
})
beforeEach(() => simulator.control({ faults: [], reset: true }))

const canaries = (transport: Transport = send, given: Partial<Settings> = {}): Promise<readonly Canary[]> => {
  const settings = { ...Settings.parse(simulator.settings), ...given }
  return lastValueFrom(
    canariesOf(streams, { settings, transport, clock: Date.now, redact: redactorOf(settings), asOf: EVENING }).pipe(toArray()),
  )
}

const not = (result: Canary['result'], all: readonly Canary[]) => all.filter((one) => one.result !== result)

it('asks every endpoint once, further sources too, and finds all well', async () => {
  const all = await canaries()
  const endpoints = new Set(streams.flatMap((stream) => stream.endpoints))
  expect(all).toHaveLength(endpoints.size)
  expect(not('ok', all)).toEqual([])
  const { endpoints: asked, violations, unknown } = simulator.stats()
  // The web site's two calls are there for circuits and for surveillance.
  expect(Object.entries(asked).map(([name, { requests }]) => [name, requests])).toEqual(
    expect.arrayContaining([...endpoints].map(({ name }) => [name, ['web_data', 'web_page'].includes(name) ? 2 : 1])),
  )
  expect([violations, unknown]).toEqual([[], []])
})

it('says what came back, and what to do, where a call fails', async () => {
  simulator.control({
    faults: [
      { on: 'news', mode: 'status', status: 403 },
      { on: 'deal', mode: 'html' },
      { on: 'sec_list', mode: 'status', status: 404 },
    ],
  })
  const failed = not('ok', await canaries())
  expect(failed).toEqual([
    expect.objectContaining({
      endpoint: 'news',
      result: 'failed',
      status: 403,
      came: 'JSON: {"message":"status 403"}',
      advice: expect.stringContaining('SCRIPSTREAM_HEADERS'),
    }),
    expect.objectContaining({
      endpoint: 'deal',
      result: 'failed',
      status: 200,
      came: expect.stringMatching(/^a page: </),
      advice: expect.stringContaining('SCRIPSTREAM_STATIC_URL'),
    }),
    expect.objectContaining({ endpoint: 'sec_list', result: 'failed', status: 404 }),
  ])
  const text = doctorLines({ checks: [], canaries: failed }, 80)
    .map((line) => line.map(([part]) => part).join(''))
    .join('\n')
  expect(text).toContain('came back: JSON: {"message":"status 403"}')
  expect(text).toContain('3 things will not work.')
})

it('asks what needs no stock without the master list, and says of the rest what it lacks', async () => {
  simulator.control({ faults: [{ on: 'master', mode: 'status', status: 500 }] })
  const all = await canaries()
  expect(all.find(({ endpoint }) => endpoint === 'master')).toMatchObject({ result: 'failed', status: 500 })
  expect(all.find(({ endpoint }) => endpoint === 'news')).toMatchObject({
    result: 'unasked',
    reason: 'needs master-data, which could not be had',
  })
  expect(all.find(({ endpoint }) => endpoint === 'index_ohlcv')?.result).toBe('ok')
})

it('tells of answers that changed, and of an address that is not set', async () => {
  const changed: Transport = (request) =>
    send(request).pipe(map((reply) => ({ ...reply, body: Buffer.from(reply.body.toString().replaceAll('"qty"', '"quantity"')) })))
  const { news: _, ...urls } = simulator.settings.urls
  const odd = not('ok', await canaries(changed, { urls }))
  expect(odd.map(({ endpoint, result }) => [endpoint, result])).toEqual([
    ['news', 'failed'],
    ['deal', 'drift'],
  ])
  expect(odd[0]?.advice).toBe('set SCRIPSTREAM_NEWS_URL')
  expect(odd[1]?.drift?.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual(['gone data[].qty', 'new data[].quantity'])
})

it('checks this machine without leaving anything behind', () => {
  const checks = localChecks({ settings: Settings.parse({ out: '/proc/nowhere' }), streams, optional: ['rxjs', 'no-such-package'] })
  const of = (what: string) => checks.find((check) => check.what === what)
  expect(of('Node')?.result).toBe('ok')
  expect(of('settings')).toMatchObject({ result: 'failed', found: expect.stringContaining('SCRIPSTREAM_NEWS_URL') })
  expect(of('folder')?.result).toBe('failed')
  expect(of('rxjs')?.found).toMatch(/^7\./)
  expect(of('no-such-package')?.found).toContain('not installed')
})
