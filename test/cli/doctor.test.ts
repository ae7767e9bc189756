import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { asyncScheduler, defer, from, lastValueFrom, map, of, toArray, VirtualTimeScheduler } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { folder as createFolder } from '../../sinks/folder.js'
import { doctorLines, listSettings, settingLines } from '../../src/cli/doctor/lines.js'
import { localChecks } from '../../src/cli/doctor/local.js'
import { type Probe, probeEndpoints } from '../../src/cli/doctor/probe.js'
import type { Payload } from '../../src/cli/notify/payload.js'
import { runProgram } from '../../src/cli/program.js'
import { findOrigins, loadSettings as loadAll } from '../../src/config.js'
import { once, type StreamDefinition } from '../../src/engine/define-stream.js'
import { json } from '../../src/http/answer.js'
import { openConnections } from '../../src/http/connections.js'
import { post } from '../../src/http/endpoint.js'
import type { Transport } from '../../src/http/transport.js'
import { createResult, type Item } from '../../src/model/outcome.js'
import { createRedactor } from '../../src/model/redact.js'
import { dataEnvelope, type Row, Rows, row } from '../../src/model/row-schema.js'
import { Settings } from '../../src/model/settings.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { describeThisProcess } from '../../src/storage/lock-holder.js'
import { streams } from '../../streams/registry.js'
import { closedPort, serveHttp } from '../http/support.js'
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
    from(
      probeEndpoints(probed, {
        settings,
        transport,
        scheduler: asyncScheduler,
        redact: createRedactor(settings),
        asOf: EVENING,
      }),
    ).pipe(toArray()),
  )
}

const checkLocally = (
  settings: Settings,
  {
    optionalPackages = [],
    ...context
  }: Partial<Parameters<typeof localChecks>[0]> & { readonly optionalPackages?: readonly string[] } = {},
) =>
  localChecks({
    settings,
    dependencies: { streams, optionalPackages, storage: createTestDependencies().storage },
    env: { PATH: process.env.PATH },
    ...context,
  })

const not = (result: Probe['result'], all: readonly Probe[]) => all.filter((one) => one.result !== result)

it('sends one request to every endpoint, fallbacks too, and finds no problem', async () => {
  const all = await probes()
  const endpoints = new Set(streams.flatMap((stream) => stream.endpoints))
  expect(all).toHaveLength(endpoints.size)
  expect(not('ok', all)).toEqual([])
  const { endpoints: asked, violations, unknown } = simulator.stats()
  // The web site's two calls are there for circuits and for surveillance.
  expect(Object.entries(asked).map(([name, { requests }]) => [name, requests])).toEqual(
    expect.arrayContaining(
      [...endpoints].map(({ name }) => [name, ['web_data', 'web_page'].includes(name) ? 2 : 1]),
    ),
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
      reason: expect.stringMatching(
        /: the provider answered 403 \(application\/json, \d+ B, "\{\\"message\\":\\"status 403\\"\}"\)$/,
      ),
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
  expect(text.replace(/\s+/g, ' ')).toContain(
    'do: news denied access (401, 403); check "headers" (SCRIPSTREAM_HEADERS)',
  )
  expect(text).toContain('3 problems found: ')
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
      .map(
        (stream): StreamDefinition =>
          stream.name === 'market-news' ? { ...stream, work: { ...stream.work, where } } : stream,
      )
    return (await probes(send, {}, selecting)).find(({ endpoint }) => endpoint === 'news')
  }
  const any = await probeNews(() => true)
  const selected = await probeNews(({ key }) => key !== any?.about)
  expect([any?.result, selected?.result]).toEqual(['ok', 'ok'])
  expect(selected?.about).not.toBe(any?.about)
  expect(await probeNews(() => false)).toMatchObject({
    result: 'skipped',
    reason: 'selects no item of master-data',
  })
})

it('reports changed answers and a missing address', async () => {
  const changed: Transport = (request) =>
    send(request).pipe(
      map((reply) => ({
        ...reply,
        body: Buffer.from(reply.body.toString().replaceAll('"qty"', '"quantity"')),
      })),
    )
  const { news: _, ...urls } = simulator.settings.urls
  const odd = not('ok', await probes(changed, { urls }))
  expect(odd.map(({ endpoint, result }) => [endpoint, result])).toEqual([
    ['news', 'failed'],
    ['deal', 'drift'],
  ])
  expect(odd[0]?.advice).toBe('Set SCRIPSTREAM_NEWS_URL.')
  expect(odd[1]?.drift?.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
    'gone data[].qty',
    'new data[].quantity',
  ])
})

it('checks this machine and leaves no files behind', async () => {
  const settings = Settings.parse({ out: '/proc/nowhere', urls: { web: 'https://web.test' } })
  const checks = await checkLocally(settings, { optionalPackages: ['rxjs', 'no-such-package'] })
  const of = (what: string) => checks.find((check) => check.what === what)
  expect(of('Node')?.result).toBe('ok')
  expect(of('settings')).toMatchObject({
    result: 'failed',
    found: expect.stringContaining('SCRIPSTREAM_NEWS_URL'),
  })
  expect(of('folder')?.result).toBe('failed')
  expect(of('rxjs')?.found).toMatch(/^7\./)
  expect(of('no-such-package')?.found).toContain('not installed')
})

it('is one finding without an address: where to set one, and no request', async () => {
  const io = createTestIo()
  const code = await runProgram(
    ['doctor', '--json', '--out', join(temporaryFolder(), 'none')],
    io,
    createTestDependencies(undefined, { streams, loadSettings: loadAll }),
  )
  const { checks, calls } = JSON.parse(io.out.text())
  expect(code).toBe(1)
  expect(calls).toEqual([])
  expect(checks.find(({ what }: { what: string }) => what === 'settings')).toEqual({
    what: 'settings',
    result: 'failed',
    found:
      'no address of a provider is set; fill in "urls" in scripstream.config.json, which "scripstream init" writes',
  })
  expect(toTexts(doctorLines(checks, [], []), 80).join(' ')).toMatch(
    /^(?!.*The provider).* 1 problem found: settings\./s,
  )
})

describe('a setting that the run cannot use', () => {
  /** The failed checks of doctor with a settings file, besides the missing addresses. */
  const check = async (
    settings: object,
    files: Readonly<Record<string, string>> = {},
    env: NodeJS.ProcessEnv = {},
  ) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'c.json'), `{\n${JSON.stringify(settings).slice(1)}`)
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    const io = createTestIo({ env: { PATH: process.env.PATH, HOME: folder, ...env } })
    const config = join(folder, 'c.json')
    const dependencies = createTestDependencies(undefined, {
      streams,
      loadSettings: loadAll,
      findOrigins,
      storage: ({ out }) => createFolder(out),
    })
    const code = await runProgram(
      ['doctor', '--json', '--out', join(folder, 'out'), '--config', config],
      io,
      dependencies,
    )
    const { checks } = JSON.parse(io.out.text()) as {
      readonly checks: readonly { readonly what: string; readonly result: string }[]
    }
    expect(code).toBe(1)
    return {
      folder,
      failed: checks.filter(({ what, result }) => result === 'failed' && what !== 'settings'),
      checks,
    }
  }

  /**
   * The table of the guide for operators: a setting, what is wrong, what doctor says with `…` for any text.
   */
  const guide = readFileSync(new URL('../../src/guides/operator.md', import.meta.url), 'utf8')
  const rows = [...guide.matchAll(/^\| `("\w+": .+)` \| (.+) \| `(.+)` \|$/gm)].map(
    ([, setting = '', wrong = '', says = '']) => ({
      setting,
      wrong,
      says,
    }),
  )

  it('is in the guide for operators', () => expect(rows).toHaveLength(12))

  it.each(rows)('is found as the guide says: $setting ($wrong)', async ({ setting, says }) => {
    const { failed } = await check(JSON.parse(`{${setting}}`))
    expect(failed).toHaveLength(1)
    const [, text = ''] =
      /^ {2}failed: (.*)$/.exec(toTexts(doctorLines(failed as never, [], []), 1_000)[1] ?? '') ?? []
    const toPattern = (part: string): string => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    expect(text).toMatch(new RegExp(`^${says.split('…').map(toPattern).join('.*')}`))
    expect(text).toMatch(/^\w+ in \S+c\.json:2: /)
  })

  it('is found: an address at which nothing listens', async () => {
    const { failed } = await check({ notify: `${await closedPort()}/T0KEN` })
    expect(failed).toMatchObject([
      {
        what: 'notify',
        found: expect.stringMatching(
          /^127\.0\.0\.1:\d+ cannot be reached: 127\.0\.0\.1:\d+ refuses connections$/,
        ),
      },
    ])
    expect(JSON.stringify(failed)).not.toContain('T0KEN')
  })

  it.each([
    ['a program that is not there, in the home folder', '~/none.sh'],
    ['one in a variable', '$HOME/none.sh'],
    ['one with a blank in its path', '"/none here/x.sh" a'],
    ['one behind a variable of its own', 'FOO=1 none-such'],
  ])('is found: %s', async (_, notify) => {
    const { failed } = await check({ notify })
    expect(failed).toMatchObject([
      { what: 'notify', found: expect.stringContaining('is no program that can be run') },
    ])
  })

  it.each(['cat >', "'/bin/cat' -", 'FOO=1 cat', '"$(touch ran)" x'])(
    'is none: the command %s, which is not run',
    async (notify) => {
      expect((await check({ notify: `${notify} /dev/null` })).failed).toEqual([])
      expect(readdirSync('.')).not.toContain('ran')
    },
  )

  it('is found: an address with https at a port without TLS', async () => {
    const { url } = await serveHttp((_, response) => response.end())
    const { failed } = await check({ notify: url.replace('http:', 'https:') })
    expect(failed).toMatchObject([{ what: 'notify', found: expect.stringMatching(/cannot be reached/) }])
  })

  it('is none: an address behind a proxy that is reached', async () => {
    const { url } = await serveHttp((_, response) => response.end())
    expect((await check({ notify: 'http://hooks.invalid/x' }, {}, { http_proxy: url })).failed).toEqual([])
  })

  it.each([
    [
      'source',
      {},
      { 'out/.scripstream/source.json': '{"simulated":true}', 'out/master_isin_map.json': '[]' },
      'has simulated data',
    ],
    [
      'source',
      {},
      { 'out/.scripstream/source.json': '{"simul', 'out/master_isin_map.json': '[]' },
      'source.json',
    ],
    ['lake', { lake: true }, { 'out/lake': '' }, 'cannot be written'],
    [
      'watch',
      { history: false, watch: [{ name: 'a', query: 'select symbol from screener' }] },
      {},
      'the setting "history" is off',
    ],
    ['queries', {}, { 'out/.scripstream/queries/odd.sql': 'select nothing from screener' }, 'odd: '],
    ['fleet', {}, {}, 'a fleet needs a folder'],
  ])('is found: %s %j', async (what, settings, files, says) => {
    const { failed } = await check(
      settings,
      files,
      what === 'fleet' ? { SCRIPSTREAM_ENGINE: 'redis://127.0.0.1:1' } : {},
    )
    expect(failed).toMatchObject([{ what, found: expect.stringContaining(says) }])
  })

  it('is none: a saved query that is not a select', async () => {
    const saved = {
      'out/.scripstream/queries/overview.sql': 'summarize screener',
      'out/.scripstream/queries/columns.sql': 'describe screener',
    }
    expect((await check({}, saved)).failed).toEqual([])
  })

  it('leaves a log that is a link as it is', async () => {
    const folder = temporaryFolder()
    symlinkSync('/dev/null', join(folder, 'log'))
    symlinkSync(join(folder, 'target'), join(folder, 'dangling'))
    for (const name of ['log', 'dangling'])
      expect((await check({ logFile: join(folder, name) })).failed).toEqual([])
    expect(readdirSync(folder).sort()).toEqual(['dangling', 'log'])
  })

  it('is none if the address is reached, which gets no request', async () => {
    let requests = 0
    const { url } = await serveHttp((_, response) => {
      requests += 1
      response.end()
    })
    expect((await check({ notify: url })).failed).toEqual([])
    expect(requests).toBe(0)
  })

  it('is found with the line of a file of holidays that is no day', async () => {
    const { failed } = await check({ holidays: 'days.txt' }, { 'days.txt': '2026-01-26\nsoon\n' })
    expect(failed).toMatchObject([
      { what: 'holidays', found: expect.stringMatching(/days\.txt:2: invalid date "soon"/) },
    ])
  })

  it('is none of these if all is well, and the check leaves nothing behind', async () => {
    const settings = {
      holidays: 'days.txt',
      logFile: 'x.log',
      metricsFile: 'x.prom',
      watch: [
        { name: 'cheap', query: 'select isin, symbol from screener where pe_ttm < 8' },
        { name: 'asm', query: 'asm-stages' },
      ],
      watchlists: { a: ['TCS', 'INFY'], b: '@b.txt' },
      notify: 'cat > /dev/null',
    }
    const { folder, failed, checks } = await check(settings, {
      'days.txt': '2026-01-26 # Republic Day\n',
      'b.txt': 'TCS\n',
    })
    expect(failed).toEqual([])
    expect(checks).toEqual(
      expect.arrayContaining([
        { what: 'holidays', result: 'ok', found: `1 day in ${join(folder, 'days.txt')}` },
        { what: 'watchlists', result: 'ok', found: 'a (2 symbols), b (1 symbol)' },
        { what: 'watch', result: 'ok', found: '2 rules: cheap, asm' },
      ]),
    )
    expect(readdirSync(folder).sort()).toEqual(['b.txt', 'c.json', 'days.txt'])
  })

  it('is a list of names, a line each, if addresses are missing', async () => {
    const { checks } = await check({ urls: { news: 'http://127.0.0.1:1' } })
    const lines = toTexts(doctorLines(checks as never, [], []), 200)
    expect(lines).toContain('  failed: settings: not set:')
    // A stream of one's own may follow.
    const address =
      '    SCRIPSTREAM_STATIC_URL (urls.static), needed by company-filings, new-announcements, advanced-indicators'
    expect(lines.filter((line) => line.startsWith(address))).toHaveLength(1)
  })
})

describe('doctor --notify', () => {
  const send = async (notify: string | undefined, ...args: readonly string[]) => {
    const io = createTestIo({ env: { PATH: process.env.PATH } })
    const loadSettings = () => Settings.parse({ out: temporaryFolder(), notify })
    const code = await runProgram(
      ['doctor', '--notify', ...args, '--json'],
      io,
      createTestDependencies(undefined, { streams, loadSettings }),
    )
    const { checks } = JSON.parse(io.out.text()) as { readonly checks: readonly { readonly what: string }[] }
    return { code, notification: checks.find(({ what }) => what === 'notification') }
  }

  it('sends one message that is marked as a test, with what was found', async () => {
    const file = join(temporaryFolder(), 'payload')
    expect((await send(`cat > '${file}'`)).notification).toEqual({
      what: 'notification',
      result: 'ok',
      found: 'a message was sent to your command',
    })
    const payload = JSON.parse(readFileSync(file, 'utf8')) as Payload
    expect(payload).toMatchObject({ command: 'doctor', test: true, outcome: 'complete', exitCode: 0 })
    expect(payload.text).toBe('scripstream: doctor: this is a test message. 1 problem found: settings.')
  })

  it('sends a given text instead, which is no test', async () => {
    const file = join(temporaryFolder(), 'payload')
    await send(`cat > '${file}'`, 'the daily run was killed')
    const payload = JSON.parse(readFileSync(file, 'utf8')) as Payload
    expect(payload).toMatchObject({
      outcome: 'failed',
      exitCode: 1,
      text: 'scripstream: doctor: the daily run was killed. 1 problem found: settings.',
    })
    expect(payload).not.toHaveProperty('test')
  })

  it('says that a message did not arrive, and that no target is set', async () => {
    expect(await send('exit 7')).toMatchObject({
      code: 1,
      notification: { result: 'failed', found: 'your command: the command ended with exit code 7' },
    })
    expect((await send(undefined)).notification).toMatchObject({
      result: 'failed',
      found: 'the setting "notify" names no address and no command',
    })
  })
})

describe('a limit of the rate', () => {
  /** The server takes so many requests between pauses, and refuses the others. */
  const probeWithin = async (room: number, status: number) => {
    const scheduler = new VirtualTimeScheduler()
    let [left, requests] = [room, 0]
    const limited: Transport = (request) =>
      defer(() => {
        requests += 1
        left -= 1
        return left >= 0
          ? send(request)
          : of({ status, body: Buffer.from('{}'), contentType: 'application/json' })
      })
    // Each pause lets the server take requests again.
    const schedule = scheduler.schedule.bind(scheduler)
    scheduler.schedule = ((work, delay, state) => {
      left = room
      return asyncScheduler.schedule(work as never, 0, state as never) && schedule(() => undefined, delay)
    }) as typeof scheduler.schedule
    const settings = Settings.parse(simulator.settings)
    const context = {
      settings,
      transport: limited,
      scheduler,
      redact: createRedactor(settings),
      asOf: EVENING,
    }
    const all = await lastValueFrom(from(probeEndpoints(streams, context)).pipe(toArray()))
    return { all, requests }
  }

  it.each([429, 503])('that answers %i is reported as one, and later requests wait', async (status) => {
    const { all, requests } = await probeWithin(5, status)
    expect(all.filter(({ result }) => result === 'failed' || result === 'skipped')).toEqual([])
    const limited = all.filter(({ result }) => result === 'limited')
    expect(limited).toHaveLength(1)
    expect(limited[0]).toMatchObject({
      status: 200,
      reason: `refused with ${status} at once and answered after a pause: the provider limits the rate`,
      advice: expect.stringMatching(
        /^Set "maxRate" in "hosts" for the services at http:\/\/127\.0\.0\.1:\d+, to the requests a second that /,
      ),
    })
    expect(requests).toBe(all.length + 1)
    expect(toTexts(doctorLines([], [], all), 80).at(-1)).toBe(
      'Everything works, but the provider limits the rate.',
    )
  })

  it('is not taken for one if the answer after the pause is the same', async () => {
    const { all } = await probeWithin(0, 503)
    expect(all.find(({ endpoint }) => endpoint === 'master')).toMatchObject({ result: 'failed', status: 503 })
    expect(all.filter(({ result }) => result === 'limited')).toEqual([])
  })
})

it('says where the address of a failed request is set', async () => {
  simulator.control({ faults: [{ on: 'deal', mode: 'html' }] })
  const settings = Settings.parse(simulator.settings)
  const origins = new Map([['urls.static', 'urls.static in x.json:4']])
  const context = {
    settings,
    transport: send,
    scheduler: asyncScheduler,
    redact: createRedactor(settings),
    asOf: EVENING,
    origins,
  }
  const all = await lastValueFrom(from(probeEndpoints(streams, context)).pipe(toArray()))
  expect(all.find(({ endpoint }) => endpoint === 'deal')?.advice).toContain(
    'or urls.static in x.json:4 points to a web site',
  )
})

it('says through which proxy each service is reached, without the credentials, and that a file of authorities is missing', async () => {
  const urls = { news: 'https://news.example', archive: 'http://archive.example', web: 'https://web.example' }
  const check = async (what: string, env: NodeJS.ProcessEnv) =>
    (await checkLocally(Settings.parse({ urls }), { env })).find((one) => one.what === what)
  const proxied = { HTTPS_PROXY: 'http://me:secret@proxy:3128', NO_PROXY: 'web.example' }
  expect((await check('network', {}))?.found).toBe('no proxy')
  expect((await check('network', proxied))?.found).toBe(
    'proxy http://proxy:3128 (HTTPS_PROXY) for news; no proxy for archive, web',
  )
  expect(await check('network', { HTTPS_PROXY: 'socks://me:secret@proxy' })).toMatchObject({
    result: 'failed',
    found: 'HTTPS_PROXY is not the address of a proxy, such as http://proxy:3128 (value not shown)',
  })
  expect(await check('certificates', {})).toBeUndefined()
  expect((await check('certificates', { NODE_EXTRA_CA_CERTS: '/no/such.pem' }))?.found).toBe(
    'NODE_EXTRA_CA_CERTS: no file /no/such.pem',
  )
})

describe('the lock of a folder', () => {
  const SINCE = '2026-02-12T14:30:00.000Z'
  const holder = { ...describeThisProcess(), since: SINCE, token: 'theirs' }
  const lockIn = async (lock: string | undefined) => {
    const out = folderWith(lock === undefined ? { 'a.json': [] } : { '.scripstream/lock': lock })
    onTestFinished(() => rmSync(out, { recursive: true }))
    return (await checkLocally(Settings.parse({ out }))).find(({ what }) => what === 'lock')
  }

  it('is shown with the process that holds it', async () => {
    const found = `held by process ${process.pid} on ${hostname()}, since ${SINCE}, still running`
    expect(await lockIn(JSON.stringify(holder))).toEqual({ what: 'lock', result: 'warn', found })
  })

  it('is shown with its last renewal if it is held by another container', async () => {
    const lock = await lockIn(JSON.stringify({ ...holder, boot: 'another', host: 'elsewhere' }))
    const [, found] = /^held by (.*)$/.exec(lock?.found ?? '') ?? []
    expect(found).toMatch(/^process \d+ on elsewhere, since [^,]+, last seen at [^,]+Z, 0 s ago$/)
  })

  it.each([
    ['of a process that has ended', JSON.stringify({ ...holder, pid: 2 ** 30 })],
    ['of a process whose pid another process has now', JSON.stringify({ ...holder, began: '1' })],
    ['of which only half was written', '{"pid"'],
  ])('%s needs no action', async (_, lock) => {
    expect(await lockIn(lock)).toEqual({
      what: 'lock',
      result: 'ok',
      found: 'left over from a killed run; the next run takes it over',
    })
  })

  it('is not shown if there is none', async () => expect(await lockIn(undefined)).toBeUndefined())
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
    expect(
      await runProgram(
        ['doctor', '--json'],
        io,
        createTestDependencies(undefined, { streams: [stream], loadSettings }),
      ),
    ).toBe(code)
    expect(JSON.parse(io.out.text())).toMatchObject({ ok: code === 0, calls: [{ endpoint: 'list' }] })
  })
})

it('says where each setting comes from: default, file, variable, option or simulator', () => {
  const out = folderWith({
    'c.json': {
      options: { 'market-news': { newsLimit: 20 } },
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
    'options.market-news.newsLimit': `${configFile}:1`,
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
  expect(text.filter((line) => /exchange/.test(line))).toEqual([
    expect.stringMatching(/^default: exchange NSE, fetchOhlcv true/),
  ])
})
