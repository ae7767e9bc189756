import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { builtInHosts } from '../../src/model/settings.js'
import { toInstant } from '../../src/model/trading-day.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { endpoints, requestNote, sendPost, sendRequest, serve } from './support.js'

const browser = { headers: { 'user-agent': 'Mozilla/5.0' } }

describe('the simulator', () => {
  it('listens on loopback and lists a URL with its own prefix for each host', async () => {
    const { origin, settings, environment, market } = await serve()
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    for (const host of builtInHosts) {
      expect(settings.urls[host]).toBe(`${origin}/${host}`)
      expect(environment).toContain(`SCRIPSTREAM_${host.toUpperCase()}_URL=${origin}/${host}`)
    }
    expect(environment).toEqual(
      expect.arrayContaining([`SCRIPSTREAM_SHEET_ID=${market.sheet.id}`, `SIMULATOR=${origin}`]),
    )
    expect(settings).toMatchObject({
      options: {
        'surveillance-lists': {
          sheetId: market.sheet.id,
          asmTabId: market.sheet.asmTabId,
          gsmTabId: market.sheet.gsmTabId,
        },
      },
    })
  })

  it('answers with the sample as JSON, with its length', async () => {
    const simulator = await serve()
    const { status, type, length, text } = await requestNote(simulator)
    expect({ status, type }).toEqual({ status: 200, type: 'application/json' })
    expect(JSON.parse(text)).toEqual({ isin: simulator.market.stocks[0]?.ISIN, day: '2026-02-12' })
    expect(length).toBe(String(text.length))
    expect(await requestNote(simulator)).toEqual({ status, type, length, text, retryAfter: undefined })
  })

  it('answers 404 if the sample is undefined', async () => {
    const { settings, stats } = await serve()
    expect(await sendPost(`${settings.urls.static}/notes`, { data: { isin: 'INE000000000' } })).toMatchObject(
      { status: 404 },
    )
    expect(await sendRequest(`${settings.urls.archive}/content/list_11022026.csv`, browser)).toMatchObject({
      status: 404,
    })
    expect(stats()).toMatchObject({ violations: [], unknown: [] })
  })

  it('reads placeholders in path and query, over several segments and with percent escapes', async () => {
    const { urls } = (await serve()).settings
    expect(await sendRequest(`${urls.archive}/content/list_12022026.csv`, browser)).toMatchObject({
      type: 'text/csv',
      text: 'A,B\n1,2\n3,4\n',
    })
    expect(await sendRequest(`${urls.web}/stocks/market/a%26b/`)).toMatchObject({
      type: 'text/html',
      text: 'page stocks/market/a&b',
    })
    expect(await sendRequest(`${urls.sheet}/d/x/tq?tqx=out:json&gid=12`)).toMatchObject({
      type: 'text/plain',
      text: 'x/12',
    })
    expect(await sendRequest(`${urls.sheet}/d/x/tq?gid=12&tqx=out%3Ajson`)).toMatchObject({ text: 'x/12' })
  })

  it('prefers a literal path to a placeholder', async () => {
    const { urls } = (await serve()).settings
    expect(await sendRequest(`${urls.web}/start/`)).toMatchObject({ text: 'start' })
  })

  it('distinguishes endpoints with the same path by their input schemas', async () => {
    const { urls } = (await serve()).settings
    const scan = (which: string) =>
      sendPost(`${urls.analytics}/scan`, { which, count: 5, page: 1 }, { origin: 'https://x' })
    expect((await scan('a')).text).toBe('{"scanned":"scan-a"}')
    expect((await scan('b')).text).toBe('{"scanned":"scan-b"}')
  })

  it('answers 400 to input that no endpoint accepts, with the field of the closest one', async () => {
    const simulator = await serve()
    const { analytics, static: files } = simulator.settings.urls
    const messages = [
      await sendPost(`${analytics}/scan`, { which: 'b', count: 6, page: 1 }),
      await sendPost(`${files}/notes`, { data: { isin: 7 } }),
      await sendPost(`${files}/notes`, { data: { isin: 'x', pages: 7 } }),
      await sendPost(`${files}/notes`, []),
    ].map(({ status, text }) => `${status} ${JSON.parse(text).message}`)
    expect(messages).toEqual([
      expect.stringMatching(/^400 scan-b: count: .*expected 5/),
      expect.stringMatching(/^400 note: data\.isin: .*expected string/),
      expect.stringMatching(/^400 note: data\.pages: Unrecognized key/),
      expect.stringMatching(/^400 note: body: .*expected object/),
    ])
    expect(simulator.stats().violations).toEqual(messages.map((message) => message.slice(4)))
    expect(simulator.stats().endpoints.note?.statuses).toEqual({ 400: 3 })
  })

  it('reports a body that is not JSON, a missing content type, and a missing header', async () => {
    const { settings, stats } = await serve()
    const { analytics, archive, static: files } = settings.urls
    const asJson = { method: 'POST', headers: { 'content-type': 'application/json' } } as const
    await sendRequest(`${files}/notes`, { ...asJson, body: '{' })
    await sendRequest(`${files}/notes`, { method: 'POST', body: '{}' })
    await sendPost(`${analytics}/scan`, { which: 'a', count: 5, page: 1 })
    await sendRequest(`${archive}/content/list_12022026.csv`)
    expect(stats().violations).toEqual([
      'note: body: is not JSON',
      'note: content-type: must be application/json, not absent',
      'scan-a: origin: the header is missing',
      expect.stringMatching(/^table: user-agent: /),
    ])
  })

  it('answers 404 to an unknown request, and records it', async () => {
    const { origin, settings, stats } = await serve()
    const { web, sheet, archive } = settings.urls
    const unknown = [
      `${origin}/notes`,
      `${web}/start`,
      `${sheet}/d/x/tq?gid=1`,
      `${settings.urls.static}/notes`,
      `${archive}/content/list_%.csv`,
    ]
    for (const address of unknown) expect(await sendRequest(address)).toMatchObject({ status: 404 })
    expect(stats()).toMatchObject({
      endpoints: {},
      violations: [],
      unknown: unknown.map((address) => `GET ${address.slice(origin.length)}`),
    })
  })

  it('answers 500 and records it if a sample throws', async () => {
    const { settings, stats } = await serve()
    expect(await sendRequest(`${settings.urls.news}/broken`)).toMatchObject({ status: 500 })
    expect(stats().violations).toEqual(['broken: the sample failed: a bug'])
  })

  it('counts requests, items and the maximum in flight', async () => {
    const simulator = await serve({ latencyMs: 25 })
    await Promise.all([0, 1, 2, 2].map((rank) => requestNote(simulator, rank)))
    await requestNote(simulator, 0)
    const key = (rank: number) => JSON.stringify({ data: { isin: simulator.market.stocks[rank]?.ISIN } })
    expect(simulator.stats().endpoints).toEqual({
      note: {
        requests: 5,
        inFlight: 0,
        maxInFlight: 4,
        statuses: { 200: 5 },
        items: { [key(0)]: 2, [key(1)]: 1, [key(2)]: 2 },
      },
    })
  })

  it('serves its counts and accepts changes over HTTP', async () => {
    const simulator = await serve()
    const { origin, stats } = simulator
    await requestNote(simulator)
    expect(JSON.parse((await sendRequest(`${origin}/__stats`)).text)).toEqual(stats())
    const change = { reset: true, asOf: '2026-02-13T20:00:00+05:30', faults: [{ on: '*', mode: 'null' }] }
    expect(await sendPost(`${origin}/__control`, change)).toMatchObject({ status: 200 })
    expect(stats().endpoints).toEqual({})
    expect(simulator.market.asOf).toBe(toInstant('2026-02-13', '20:00'))
    expect((await requestNote(simulator)).text).toBe('null')
    expect(await sendPost(`${origin}/__control`, { fault: [] })).toMatchObject({
      status: 400,
      text: expect.stringContaining('fault'),
    })
  })

  it('moves to another day with the same stocks', async () => {
    const simulator = await serve()
    const { stocks } = simulator.market
    expect(JSON.parse((await requestNote(simulator)).text).day).toBe('2026-02-12')
    simulator.control({ asOf: toInstant('2026-02-13', '20:00') })
    expect(JSON.parse((await requestNote(simulator)).text).day).toBe('2026-02-13')
    expect(simulator.market.stocks).toBe(stocks)
  })

  it('returns the events that it has planned', async () => {
    const { plan } = await serve({ events: { kinds: ['rename'] } })
    expect(plan('2026-01-01', '2026-12-31').length).toBeGreaterThan(1)
    expect((await serve()).plan('2026-01-01', '2026-12-31')).toEqual([])
  })

  it('rounds a running clock down to whole minutes', async () => {
    let now = toInstant('2026-02-12', '10:00') + 1_234
    const simulator = await serve({ asOf: () => now })
    const { market } = simulator
    expect(market.asOf).toBe(toInstant('2026-02-12', '10:00'))
    now += 58_000
    expect(simulator.market).toBe(market)
    now += 58_000
    expect(simulator.market.asOf).toBe(toInstant('2026-02-12', '10:01'))
  })

  it('fails if its port is in use', async () => {
    const { origin } = await serve()
    await expect(serveSimulator({ endpoints, port: Number(new URL(origin).port) })).rejects.toThrow(
      'EADDRINUSE',
    )
  })

  it('closes all sockets on close, even with requests in flight', async () => {
    const open = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap')
    await expect.poll(open).toEqual([]) // the servers of earlier tests are closed
    const simulator = await serveSimulator({ endpoints, stocks: 5, faults: [{ on: 'note', mode: 'hang' }] })
    expect(open()).toHaveLength(1)
    const hanging = expect(requestNote(simulator)).rejects.toThrow()
    await expect.poll(() => simulator.stats().endpoints.note?.inFlight).toBe(1)
    await simulator.close()
    await hanging
    await expect.poll(open).toEqual([])
    expect(simulator.stats().endpoints.note).toMatchObject({ inFlight: 0, statuses: { closed: 1 } })
    await expect(sendRequest(simulator.origin)).rejects.toThrow('ECONNREFUSED')
  })
})

describe('an option of the simulator', () => {
  const started = (options: object) => serveSimulator({ endpoints, stocks: 1, ...options })

  it.each([
    [{ events: { kinds: ['splits'] } }, /events/],
    [{ latncyMs: 5 }, 'unknown option: "latncyMs" (did you mean latencyMs?)'],
    [{ latencyMs: 'x' }, 'latencyMs must be milliseconds'],
    [{ stocks: -1 }, 'stocks must be 0 or more'],
    [{ asOf: 'today' }, 'asOf must be epoch milliseconds, or a function'],
    [
      { faults: [{ on: 'nots', mode: 'hang' }] },
      /faults\.0\.on must be one of note, .* \(did you mean note\?\)/,
    ],
    [
      { faults: [{ on: 'note', mode: 'statuss' }] },
      /faults\.0\.mode must be one of status, .* \(did you mean status\?\)/,
    ],
    [{ faults: [{ on: '*', mode: 'hang', tmes: 1 }] }, 'faults.0 has no field "tmes"'],
    [{ limits: { statik: { perSecond: 1, burst: 1 } } }, 'limits has no field "statik"'],
  ])('is refused if it is wrong: %j', async (options, why) => {
    await expect(started(options)).rejects.toThrow(UsageError)
    await expect(started(options)).rejects.toThrow(why)
  })

  it('is refused in a change of a running one, too', async () => {
    const simulator = await serve()
    expect(() => simulator.control({ faults: [{ on: 'nots', mode: 'hang' }] })).toThrow(/did you mean note\?/)
    const { status, text } = await sendPost(`${simulator.origin}/__control`, { latencyMs: 'x' })
    expect([status, text]).toEqual([400, expect.stringContaining('latencyMs must be milliseconds')])
  })
})
