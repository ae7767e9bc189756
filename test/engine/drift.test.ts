import { lastValueFrom, map } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memory } from '../../sinks/memory.js'
import { driftLines } from '../../src/cli/verify/drift.js'
import { createCollector } from '../../src/collector.js'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import { openConnections } from '../../src/http/connections.js'
import { createDriftWatch } from '../../src/http/drift.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { Transport } from '../../src/http/transport.js'
import type { Drift, RunReport } from '../../src/model/report.js'
import { column, dataEnvelope, row } from '../../src/model/row-schema.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')
const STOCKS = 40

let simulator: Simulator
const { send, close } = openConnections()
beforeAll(async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  simulator = await serveSimulator({ endpoints, stocks: STOCKS, candleDays: 20, asOf: EVENING })
})
afterAll(() => {
  close()
  return simulator.close()
})

/** A run over answers whose texts are changed on the way. */
const run = (
  change: (text: string, path: string, request: string) => string,
  only?: readonly string[],
): Promise<RunReport> => {
  const transport: Transport = (request) =>
    send(request).pipe(
      map((reply) => {
        const text = change(reply.body.toString(), new URL(request.url).pathname, request.body ?? '')
        return { ...reply, body: Buffer.from(text) }
      }),
    )
  const collector = createCollector<readonly StreamDefinition[]>({
    settings: { ...simulator.settings, retries: 0 },
    storage: memory(),
    transport,
    clock: () => EVENING,
  })
  return lastValueFrom(collector.run({ asOf: EVENING, ...(only === undefined ? {} : { only }) }))
}

/**
 * Runs the news with every nth answer with rows changed. Returns the drift of the report, and the numbers of
 * answers with rows and of changed ones.
 */
const newsChangedBy = async (change: (row: Record<string, unknown>) => void, oneIn: number) => {
  let [changed, withRows] = [0, 0]
  const report = await run(
    (text, path) => {
      if (!path.endsWith('/getLiveNews')) return text
      const answer = JSON.parse(text) as { data: { latest_news: Record<string, unknown>[] } }
      const rows = answer.data.latest_news
      if (rows.length === 0) return text
      withRows += 1
      if (withRows % oneIn !== 0) return text
      changed += 1
      for (const row of rows) change(row)
      return JSON.stringify(answer)
    },
    ['market-news'],
  )
  return {
    drift: report.drift ?? [],
    changed,
    withRows,
    outcome: report.outcome,
    script: report.scripts['market-news'],
  }
}

describe('the drift of a run', () => {
  it('is empty for a clean run of all streams', async () => {
    const report = await run((text) => text)
    expect(report.outcome).toBe('complete')
    expect(report.drift).toBeUndefined()
  })

  const place = { stream: 'market-news', endpoint: 'news' }
  const RECORDS = { records: expect.any(Number), ofRecords: expect.any(Number) }
  it.each([
    {
      what: 'a field that is gone',
      oneIn: 3,
      change: (row: Record<string, unknown>) => delete row.category,
      expected: { ...place, kind: 'gone', field: 'data.latest_news[].category', expected: 'text' },
    },
    {
      what: 'a field that is new',
      oneIn: 2,
      change: (row: Record<string, unknown>) => (row.language = 'en'),
      expected: { ...place, kind: 'new', field: 'data.latest_news[].language' },
    },
    {
      what: 'a field of another type',
      oneIn: 1,
      change: (row: Record<string, unknown>) => (row.category = ['x']),
      expected: {
        ...place,
        kind: 'type',
        field: 'data.latest_news[].category',
        expected: 'text',
        seen: 'list',
      },
    },
  ] as const)(
    'reports $what with its counts, costs no item, and makes the run partial',
    async ({ oneIn, change, expected }) => {
      const { drift, changed, withRows, outcome, script } = await newsChangedBy(change, oneIn)
      expect(changed).toBeGreaterThan(5)
      expect([outcome, script?.outcome]).toEqual(['partial', 'success'])
      expect(drift).toEqual([
        { ...expected, answers: changed, of: withRows, ...RECORDS, example: expect.stringMatching(/^\S+$/) },
      ])
    },
  )

  it('names the stock whose answer it was', async () => {
    const { Symbol: symbol, ISIN: isin } = simulator.market.stocks[STOCKS - 1] ?? expect.unreachable()
    const report = await run(
      (text, path, request) =>
        path.endsWith('/announcements') && request.includes(isin)
          ? text.replace('"code":0', '"code":"ok"')
          : text,
      ['new-announcements'],
    )
    expect(report.drift).toMatchObject([
      { kind: 'type', field: 'code', answers: 1, of: STOCKS, example: symbol, rare: true },
    ])
    expect(report.outcome).toBe('complete')
  })

  it('does not report null or another kind of number', async () => {
    const { drift, changed } = await newsChangedBy((row) => {
      row.category = null
      row.publish_date = Number(row.publish_date) + 0.5
    }, 1)
    expect(changed).toBeGreaterThan(5)
    expect(drift).toEqual([])
  })

  it('reports a column that a table lost, and an envelope of another type', async () => {
    const report = await run(
      (text, path) => {
        if (path.includes('sec_list')) return text.replace(' Security Name', ' Company')
        return path.endsWith('/announcements') ? text.replace('"code":0', '"code":"ok"') : text
      },
      ['complete-price-bands', 'new-announcements'],
    )
    expect(report.drift).toEqual([
      {
        stream: 'new-announcements',
        endpoint: 'announcements',
        kind: 'type',
        field: 'code',
        expected: 'number',
        seen: 'text',
        answers: STOCKS,
        of: STOCKS,
        records: STOCKS,
        ofRecords: STOCKS,
        example: expect.any(String),
      },
      {
        stream: 'complete-price-bands',
        endpoint: 'sec_list',
        kind: 'new',
        field: '[].Company',
        answers: 1,
        of: 1,
        records: 3,
        ofRecords: 3,
        example: 'all',
      },
      {
        stream: 'complete-price-bands',
        endpoint: 'sec_list',
        kind: 'gone',
        field: '[].Security Name',
        expected: 'text',
        answers: 1,
        of: 1,
        records: 3,
        ofRecords: 3,
        example: 'all',
      },
    ])
    expect(driftLines(report.drift)[1]).toBe(
      '  complete-price-bands: sec_list: [].Company is new in 1 of 1 answer',
    )
  })

  it('contains no secret, and at most some dozens of fields', async () => {
    const transport: Transport = (request) =>
      send(request).pipe(
        map((reply) => ({
          ...reply,
          body: Buffer.from(
            reply.body.toString().replaceAll('"publish_date"', `"secret-${'s3cr3t-value'}":1,"publish_date"`),
          ),
        })),
      )
    const settings = { ...simulator.settings, headers: { 'x-token': 's3cr3t-value' } }
    const collector = createCollector({ settings, storage: memory(), transport, clock: () => EVENING })
    const report = await lastValueFrom(collector.run({ only: ['market-news'], asOf: EVENING }))
    expect(report.drift?.map(({ field }) => field)).toEqual(['data.latest_news[].secret-[redacted]'])
  })

  it('counts the candle answers that were read as bytes', async () => {
    let changed = 0
    const report = await run(
      (text, path) =>
        path.endsWith('/getDataH') && changed++ % 4 === 0
          ? text.replace('"success":true', '"success":true,"ver":2')
          : text,
      ['all-ohlcv'],
    )
    expect(report.drift).toEqual([
      {
        stream: 'all-ohlcv',
        endpoint: 'ohlcv',
        kind: 'new',
        field: 'ver',
        answers: STOCKS / 4,
        of: STOCKS,
        records: STOCKS / 4,
        ofRecords: STOCKS,
        example: expect.any(String),
      },
    ])
  })
})

describe('the watch over a call', () => {
  const dataOf = (fields: z.ZodRawShape) => dataEnvelope(z.array(row(fields)))
  const watchOf = (shape: z.ZodType) => {
    const drift = createDriftWatch()
    const endpoint = { name: 'call', shape } as AnyEndpoint
    return {
      see: drift.forStream('stream')(endpoint)?.forItem('A') ?? expect.unreachable(),
      found: drift.listDrifts,
    }
  }
  const brief = (drift: readonly Drift[]) =>
    drift.map(({ kind, field, answers, of }) => `${kind} ${field} ${answers}/${of}`)

  it('reports an optional field as missing only if no record of five answers has it', () => {
    const { see, found } = watchOf(
      dataOf({ caption: column(z.string(), { usual: true }), extra: z.string().optional() }),
    )
    for (const row of [{}, {}, {}, { extra: 'c' }]) see({ data: [row] })
    expect(brief(found())).toEqual([])
    see({ data: [{}] })
    expect(brief(found())).toEqual(['gone data[].caption 5/5'])
    see({ data: [{}, { caption: 'a' }] })
    expect(brief(found())).toEqual([])
  })

  it('names as an example the first whose answer drifted so', () => {
    const drift = createDriftWatch()
    const watch = drift.forStream('stream')({
      name: 'call',
      shape: dataOf({ a: z.number() }),
    } as unknown as AnyEndpoint)
    const answers = { A: { a: 1 }, B: { a: 1, b: 2 }, C: { a: 'x', b: 2 }, D: {}, E: { a: 'x' } }
    for (const [whom, row] of Object.entries(answers)) watch?.forItem(whom)({ data: [row] })
    expect(drift.listDrifts().map(({ kind, field, example }) => `${kind} ${field} ${example}`)).toEqual([
      'new data[].b B',
      'type data[].a C',
      'gone data[].a D',
    ])
  })

  it('looks at the first, the middle and the last row, and counts an answer once', () => {
    const { see, found } = watchOf(dataOf({ a: z.number() }))
    const [fine, odd] = [{ a: 1 }, { a: 1, b: 2 }]
    for (const data of [
      [odd, odd, odd],
      [fine, odd],
      [fine, fine, odd],
      [fine, fine, odd, fine, fine],
      [],
      null,
    ])
      see({ data })
    expect(brief(found())).toEqual(['new data[].b 4/4'])
  })

  it('is limited to some dozens of fields, however many names there are', () => {
    const { see, found } = watchOf(dataOf({}))
    for (let name = 0; name < 1_000; name += 1) see({ data: [{ [`n${name}`]: 1 }] })
    expect(found().length).toBeLessThan(50)
    expect(driftLines(found())).toHaveLength(7)
  })

  it('reports a row or answer that is not an object as another type', () => {
    const { see, found } = watchOf(dataOf({ a: z.number() }))
    see({ data: ['a'] })
    see([])
    see(null)
    expect(brief(found())).toEqual(['type data[] 1/1', 'type the answer 1/1'])
  })
})

describe('every call that states a shape', () => {
  const endpoints = [
    ...new Map(
      streams.flatMap((stream) => stream.endpoints).map((endpoint) => [endpoint.name, endpoint]),
    ).values(),
  ]
  it('is one of nearly all', () => {
    expect(endpoints.filter(({ shape }) => shape === undefined).map(({ name }) => name)).toEqual([
      'web_build_id',
      'web_data',
      'web_page',
    ])
  })
})
