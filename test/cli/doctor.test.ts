import { rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { from, lastValueFrom, map, toArray } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { doctorLines, listSettings, settingLines } from '../../src/cli/doctor/lines.js'
import { localChecks } from '../../src/cli/doctor/local.js'
import { type Probe, probeEndpoints } from '../../src/cli/doctor/probe.js'
import { runProgram } from '../../src/cli/program.js'
import { findOrigins, loadSettings as loadAll } from '../../src/config.js'
import { once, type StreamDefinition } from '../../src/engine/define-stream.js'
import { json } from '../../src/http/answer.js'
import { openConnections } from '../../src/http/connections.js'
import { post } from '../../src/http/endpoint.js'
import type { Transport } from '../../src/http/transport.js'
import { createResult, type Item } from '../../src/model/outcome.js'
import { createRedactor } from '../../src/model/redact.js'
import { type Row, Rows } from '../../src/model/row.js'
import { dataEnvelope, row } from '../../src/model/row-schema.js'
import { Settings } from '../../src/model/settings.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { describeThisProcess } from '../../src/storage/lock.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { folderWith } from '../tables/support.js'
import { createTestDependencies, createTestIo, defineTestStream, toTexts } from './support.js'

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

const probes = (
  transport: Transport = send,
  given: Partial<Settings> = {},
  probed: readonly StreamDefinition[] = streams,
): Promise<readonly Probe[]> => {
  const settings = { ...Settings.parse(simulator.settings), ...given }
  return lastValueFrom(
    from(probeEndpoints(probed, { settings, transport, clock: Date.now, redact: createRedactor(settings), asOf: EVENING })).pipe(toArray()),
  )
}

const not = (result: Probe['result'], all: readonly Probe[]) => all.filter((one) => one.result !== result)

it('sends one request to every endpoint, fallbacks too, and finds no problem', async () => {
  const all = await probes()
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

it('shows the answer and what to do if a request fails', async () => {
  simulator.control({
    faults: [
      { on: 'news', mode: 'status', status: 403 },
      { on: 'deal', mode: 'html' },
      { on: 'sec_list', mode: 'status', status: 404 },
    ],
  })
  const failed = not('ok', await probes())
  expect(failed).toEqual([
    expect.objectContaining({
      endpoint: 'news',
      result: 'failed',
      status: 403,
      reason: expect.stringMatching(/: the provider answered 403 \(application\/json, \d+ B, "\{\\"message\\":\\"status 403\\"\}"\)$/),
      advice: expect.stringContaining('SCRIPSTREAM_HEADERS'),
    }),
    expect.objectContaining({
      endpoint: 'deal',
      result: 'failed',
      status: 200,
      reason: expect.stringMatching(/: html: .*\(text\/html, /),
      advice: expect.stringContaining('SCRIPSTREAM_STATIC_URL'),
    }),
    expect.objectContaining({
      endpoint: 'sec_list',
      result: 'failed',
      status: 404,
      advice: 'No file exists for these days; choose a trading day with --as-of.',
    }),
  ])
  const text = toTexts(doctorLines([], [], failed), 80).join('\n')
  expect(text.replace(/\s+/g, ' ')).toContain('do: news denied access (401, 403); check "headers" (SCRIPSTREAM_HEADERS)')
  expect(text).toContain('3 problems found.')
})

it('probes endpoints without stocks if the master list fails, and names what the others need', async () => {
  simulator.control({ faults: [{ on: 'master', mode: 'status', status: 500 }] })
  const all = await probes()
  expect(all.find(({ endpoint }) => endpoint === 'master')).toMatchObject({ result: 'failed', status: 500 })
  expect(all.find(({ endpoint }) => endpoint === 'news')).toMatchObject({
    result: 'skipped',
    reason: 'needs master-data, which could not be fetched',
  })
  expect(all.find(({ endpoint }) => endpoint === 'index_ohlcv')?.result).toBe('ok')
})

it('requests a stock that the stream selects', async () => {
  const probeNews = async (where: (item: Item) => boolean) => {
    const selecting = streams
      .filter(({ name }) => name === 'master-data' || name === 'market-news')
      .map((stream): StreamDefinition => (stream.name === 'market-news' ? { ...stream, work: { ...stream.work, where } } : stream))
    return (await probes(send, {}, selecting)).find(({ endpoint }) => endpoint === 'news')
  }
  const any = await probeNews(() => true)
  const selected = await probeNews(({ key }) => key !== any?.about)
  expect([any?.result, selected?.result]).toEqual(['ok', 'ok'])
  expect(selected?.about).not.toBe(any?.about)
  expect(await probeNews(() => false)).toMatchObject({ result: 'skipped', reason: 'selects no item of master-data' })
})

it('reports changed answers and a missing address', async () => {
  const changed: Transport = (request) =>
    send(request).pipe(map((reply) => ({ ...reply, body: Buffer.from(reply.body.toString().replaceAll('"qty"', '"quantity"')) })))
  const { news: _, ...urls } = simulator.settings.urls
  const odd = not('ok', await probes(changed, { urls }))
  expect(odd.map(({ endpoint, result }) => [endpoint, result])).toEqual([
    ['news', 'failed'],
    ['deal', 'drift'],
  ])
  expect(odd[0]?.advice).toBe('Set SCRIPSTREAM_NEWS_URL.')
  expect(odd[1]?.drift?.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual(['gone data[].qty', 'new data[].quantity'])
})

it('checks this machine and leaves no files behind', () => {
  const settings = Settings.parse({ out: '/proc/nowhere', urls: { web: 'https://web.test' } })
  const checks = localChecks(settings, { streams, optionalPackages: ['rxjs', 'no-such-package'] }, {})
  const of = (what: string) => checks.find((check) => check.what === what)
  expect(of('Node')?.result).toBe('ok')
  expect(of('settings')).toMatchObject({ result: 'failed', found: expect.stringContaining('SCRIPSTREAM_NEWS_URL') })
  expect(of('folder')?.result).toBe('failed')
  expect(of('rxjs')?.found).toMatch(/^7\./)
  expect(of('no-such-package')?.found).toContain('not installed')
})

it('is one finding without an address: where to set one, and no request', async () => {
  const io = createTestIo()
  const code = await runProgram(
    ['doctor', '--json', '--out', join(temporaryFolder(), 'data')],
    io,
    createTestDependencies(undefined, { streams, loadSettings: loadAll }),
  )
  const { checks, calls } = JSON.parse(io.out.text())
  expect(code).toBe(1)
  expect(calls).toEqual([])
  expect(checks.find(({ what }: { what: string }) => what === 'settings')).toEqual({
    what: 'settings',
    result: 'failed',
    found: 'no address of a provider is set; fill in "urls" in scripstream.config.json, which "scripstream init" writes',
  })
  expect(toTexts(doctorLines(checks, [], []), 80).join(' ')).toMatch(/^(?!.*The provider).* 1 problem found\./s)
})

it('says where the address of a failed request is set', async () => {
  simulator.control({ faults: [{ on: 'deal', mode: 'html' }] })
  const settings = Settings.parse(simulator.settings)
  const origins = new Map([['urls.static', 'urls.static in x.json:4']])
  const context = { settings, transport: send, clock: Date.now, redact: createRedactor(settings), asOf: EVENING, origins }
  const all = await lastValueFrom(from(probeEndpoints(streams, context)).pipe(toArray()))
  expect(all.find(({ endpoint }) => endpoint === 'deal')?.advice).toContain('or urls.static in x.json:4 points to a web site')
})

it('says through which proxy each service is reached, without the credentials, and that a file of authorities is missing', () => {
  const urls = { news: 'https://news.example', archive: 'http://archive.example', web: 'https://web.example' }
  const check = (what: string, env: NodeJS.ProcessEnv) =>
    localChecks(Settings.parse({ urls }), { streams, optionalPackages: [] }, env).find((one) => one.what === what)
  const proxied = { HTTPS_PROXY: 'http://me:secret@proxy:3128', NO_PROXY: 'web.example' }
  expect(check('network', {})?.found).toBe('no proxy')
  expect(check('network', proxied)?.found).toBe('proxy http://proxy:3128 (HTTPS_PROXY) for news; no proxy for archive, web')
  expect(check('network', { HTTPS_PROXY: 'socks://me:secret@proxy' })).toMatchObject({
    result: 'failed',
    found: 'HTTPS_PROXY is not the address of a proxy, such as http://proxy:3128 (value not shown)',
  })
  expect(check('certificates', {})).toBeUndefined()
  expect(check('certificates', { NODE_EXTRA_CA_CERTS: '/no/such.pem' })?.found).toBe('NODE_EXTRA_CA_CERTS: no file /no/such.pem')
})

describe('the lock of a folder', () => {
  const SINCE = '2026-02-12T14:30:00.000Z'
  const holder = { ...describeThisProcess(), since: SINCE, token: 'theirs' }
  const lockIn = (lock: string | undefined) => {
    const out = folderWith(lock === undefined ? { 'a.json': [] } : { '.scripstream/lock': lock })
    onTestFinished(() => rmSync(out, { recursive: true }))
    return localChecks(Settings.parse({ out }), { streams, optionalPackages: [] }, {}).find(({ what }) => what === 'lock')
  }

  it('is shown with the process that holds it', () => {
    const found = `held by process ${process.pid} on ${hostname()}, since ${SINCE}, still running`
    expect(lockIn(JSON.stringify(holder))).toEqual({ what: 'lock', result: 'warn', found })
  })

  it('is shown with its last renewal if it is held by another container', () => {
    const [, found] = /^held by (.*)$/.exec(lockIn(JSON.stringify({ ...holder, boot: 'another', host: 'elsewhere' }))?.found ?? '') ?? []
    expect(found).toMatch(/^process \d+ on elsewhere, since [^,]+, last seen at [^,]+Z, 0 s ago$/)
  })

  it.each([
    ['of a process that has ended', JSON.stringify({ ...holder, pid: 2 ** 30 })],
    ['of a process whose pid another process has now', JSON.stringify({ ...holder, began: '1' })],
    ['of which only half was written', '{"pid"'],
  ])('%s needs no action', (_, lock) => {
    expect(lockIn(lock)).toEqual({ what: 'lock', result: 'ok', found: 'left over from a killed run; the next run takes it over' })
  })

  it('is not shown if there is none', () => expect(lockIn(undefined)).toBeUndefined())
})

describe('the exit code of doctor', () => {
  const call = (record: object | undefined) =>
    post({
      name: 'list',
      host: 'static',
      path: '/list',
      input: z.strictObject({}),
      shape: dataEnvelope(z.array(row({ a: z.number() }))),
      read: (text, _, seen): readonly Row[] => json(Rows)(text, undefined, seen).data ?? [],
      sample: () => record && { data: [record] },
    })

  it.each([
    ['everything works', { a: 1 }, 0],
    ['an answer has changed', { a: 1, b: 2 }, 3],
    ['a request fails', undefined, 1],
  ])('shows that %s', async (_, row, code) => {
    const out = temporaryFolder()
    const list = call(row)
    const work = once(({ ask }) => ask(list, {}).pipe(map((rows) => createResult(rows))))
    const stream = defineTestStream({ name: 'list', phase: 'enrichment', endpoints: [list], work })
    const provider = await serveSimulator({ endpoints: [list], stocks: 1, asOf: EVENING })
    onTestFinished(() => provider.close())
    const loadSettings = () => Settings.parse({ ...provider.settings, out })
    const io = createTestIo()
    expect(await runProgram(['doctor', '--json'], io, createTestDependencies(undefined, { streams: [stream], loadSettings }))).toBe(code)
    expect(JSON.parse(io.out.text())).toMatchObject({ ok: code === 0, calls: [{ endpoint: 'list' }] })
  })
})

it('says where each setting comes from: default, file, variable, option or simulator', () => {
  const out = folderWith({
    'c.json': {
      newsLimit: 20,
      retries: 1,
      headers: { 'x-key': 'CANARY' },
      hosts: { news: { maxRate: 5, headers: { cookie: 'CANARY' } } },
      workers: { 'market-news': 3 },
    },
  })
  onTestFinished(() => rmSync(out, { recursive: true }))
  const configFile = join(out, 'c.json')
  const env = {
    SCRIPSTREAM_NEWS_URL: 'https://news.test',
    SCRIPSTREAM_RETRIES: '4',
    SCRIPSTREAM_WORKERS: 'all-ohlcv=2',
    SCRIPSTREAM_SHEET_ID: 'CANARY',
  }
  const sources = { configFile, env, flags: { out: 'here' }, streams }
  const loaded = loadAll(sources)
  const used = { ...loaded, urls: { ...loaded.urls, web: 'http://127.0.0.1:1/web' } }
  const settings = listSettings(used, { loaded, origins: findOrigins(sources) })
  const places = Object.fromEntries(settings.map(({ name, from }) => [name, from]))
  expect(places).toMatchObject({
    'urls.news': 'SCRIPSTREAM_NEWS_URL',
    'urls.web': 'simulator',
    out: '--out',
    newsLimit: `${configFile}:1`,
    retries: 'SCRIPSTREAM_RETRIES',
    'workers.market-news': `${configFile}:1`,
    'workers.all-ohlcv': 'SCRIPSTREAM_WORKERS',
    exchange: 'default',
  })
  expect(JSON.stringify(settings)).not.toContain('CANARY')
  // The folder of temporary files may have a long name.
  const text = toTexts(settingLines(settings), 120 + configFile.length)
  expect(text.slice(0, 3)).toEqual([
    'Settings',
    expect.stringMatching(/^setting +from +value$/),
    expect.stringMatching(/^urls\.news +SCRIPSTREAM_NEWS_URL +https:\/\/news\.test$/),
  ])
  expect(text.at(-1)).toContain('notifyOn failure')
  expect(text.filter((line) => /exchange/.test(line))).toEqual([expect.stringMatching(/^default: exchange NSE, fetchOhlcv true/)])
})
