import { lastValueFrom, map } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import type { RunOptions } from '../../src/engine/run-options.js'
import type { Storage } from '../../src/engine/storage.js'
import { openConnections } from '../../src/http/connections.js'
import type { Transport } from '../../src/http/transport.js'
import { DRIFT_ACCEPTED_FILE, toDriftName } from '../../src/model/drift.js'
import type { RunReport } from '../../src/model/report.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')

let simulator: Simulator
const { send, close } = openConnections()
beforeAll(async () => {
  simulator = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 40,
    candleDays: 20,
    asOf: EVENING,
  })
})
afterAll(() => {
  close()
  return simulator.close()
})

type Fields = Record<string, unknown>
interface Changing extends RunOptions {
  readonly files?: MemoryFiles
  readonly storage?: Storage
  /** Changes an answer, selected by path and request. */
  readonly change?: (answer: Fields, path: string, request: string) => void
}

const run = ({
  files = new Map(),
  storage = memory(files),
  change,
  ...options
}: Changing): Promise<RunReport> => {
  const transport: Transport = (request) =>
    send(request).pipe(
      map((reply) => {
        const text = reply.body.toString()
        if (change === undefined || !text.startsWith('{')) return reply
        const answer = JSON.parse(text) as Fields
        change(answer, new URL(request.url).pathname, request.body ?? '')
        return { ...reply, body: Buffer.from(JSON.stringify(answer)) }
      }),
    )
  const collector = createCollector<readonly StreamDefinition[]>({
    settings: { ...simulator.settings, retries: 0 },
    storage,
    transport,
    clock: () => EVENING,
  })
  return lastValueFrom(collector.run({ asOf: EVENING, fresh: true, ...options }))
}

/** The output files after a run over sound answers. */
const goodFiles = async (stream: string): Promise<MemoryFiles> => {
  const files: MemoryFiles = new Map()
  expect((await run({ files, only: [stream] })).outcome).toBe('complete')
  return files
}
const outputsIn = (files: MemoryFiles) =>
  [...files].filter(([file]) => !file.startsWith('.scripstream/') && !file.startsWith('master_'))

const rename = (row: Fields, from: string, to: string): void => {
  row[to] = row[from]
  delete row[from]
}
const newsIn = ({ data }: Fields): Fields[] => ((data as Fields).latest_news ?? []) as Fields[]
const rowsIn = ({ data }: Fields): Fields[] => (data ?? []) as Fields[]

/** A change of all answers of one call. */
const on =
  (part: string, change: (answer: Fields) => void) => (answer: Fields, path: string, request: string) => {
    if (path.endsWith(part) || request.includes(part)) change(answer)
  }
const inRows = (part: string, change: (row: Fields) => void) =>
  on(part, (answer) => {
    for (const row of rowsIn(answer)) change(row)
  })
const inNews = (change: (news: Fields, item: Fields) => void) =>
  on('/getLiveNews', (answer) => {
    for (const item of newsIn(answer)) change(item.news_object as Fields, item)
  })

describe('good files stay as they are, and the run is partial, when', () => {
  it.each([
    {
      what: 'the title of all news is renamed',
      stream: 'market-news',
      change: inNews((news) => rename(news, 'title', 'headline')),
    },
    {
      what: 'the title of all news is gone',
      stream: 'market-news',
      change: inNews((news) => delete news.title),
    },
    {
      what: 'titles become lists',
      stream: 'market-news',
      change: inNews((news) => (news.title = [news.title])),
    },
    {
      what: 'dates of news are in seconds',
      stream: 'market-news',
      change: inNews((_, item) => (item.publish_date = EVENING / 1_000)),
    },
    {
      what: 'the title of all news is empty',
      stream: 'market-news',
      change: inNews((news) => (news.title = '')),
    },
    {
      what: 'filings come under another name',
      stream: 'company-filings',
      change: on('/lodr', (answer) => rename(answer, 'data', 'list')),
    },
    {
      what: 'deals are dated in another format',
      stream: 'bulk-block-deals',
      change: inRows('/deal', (row) => (row.date = '12-02-2026')),
    },
    {
      what: 'symbols of deals become null',
      stream: 'bulk-block-deals',
      change: inRows('/deal', (row) => (row.sym = null)),
    },
    {
      what: 'ex-dates of corporate actions become numbers',
      stream: 'corporate-actions',
      change: inRows(
        'corporate_action',
        (row) => (row.CorpAct = (row.CorpAct as Fields[]).map((act) => ({ ...act, ExDate: 1 }))),
      ),
    },
  ])('$what', async ({ stream, change }) => {
    const files = await goodFiles(stream)
    const before = outputsIn(files)
    expect(before).not.toEqual([])
    const report = await run({ files, change, only: [stream] })
    expect(outputsIn(files)).toEqual(before)
    expect(report.outcome).toBe('partial')
    expect(report.drift).toContainEqual(expect.objectContaining({ required: true }))
    expect(JSON.stringify(report.scripts[stream]?.problems)).toMatch(/fields: /)
  })

  it.each([
    { what: 'become null', change: inRows('/lodr', (row) => (row.news_id = null)) },
    { what: 'are gone', change: inRows('/lodr', (row) => delete row.news_id) },
  ])('ids of filings $what, except for the first few short answers', async ({ change }) => {
    const files = await goodFiles('company-filings')
    const before = new Map(outputsIn(files))
    const report = await run({ files, change, only: ['company-filings'] })
    const changed = outputsIn(files).filter(([file, { text }]) => text !== before.get(file)?.text)
    expect(before.size).toBeGreaterThan(25)
    expect(changed.length).toBeLessThan(5)
    expect(report.outcome).toBe('partial')
    expect(report.scripts['company-filings']).toMatchObject({
      outcome: 'partial',
      problems: [{ code: 'fields' }, {}, {}, {}, {}, {}, {}, {}, {}, {}],
    })
    expect(report.drift).toContainEqual(
      expect.objectContaining({ endpoint: 'lodr', field: 'data[].news_id', required: true }),
    )
  })

  it('a price of the stocks at their limit is renamed: the next source is used', async () => {
    const files = await goodFiles('circuit-stocks')
    const before = outputsIn(files)
    const change = inRows('CircuitBreak', (row) => rename(row, 'Ltp', 'LastPrice'))
    const report = await run({ files, change, only: ['circuit-stocks'] })
    expect(outputsIn(files)).toEqual(before)
    expect(report.scripts['circuit-stocks']?.problems).toContainEqual({
      reason: expect.stringMatching(/scan: .*fields: data\[\]\.Ltp is missing/),
    })
    expect(report.outcome).toBe('partial')
  })
})

it('candles under another field name count as lost, not as empty', async () => {
  const files: MemoryFiles = new Map()
  const report = await run({
    files,
    change: on('/getDataH', (answer) => rename(answer, 'data', 'candles')),
    only: ['all-ohlcv'],
  })
  expect(report.scripts['all-ohlcv']).toMatchObject({
    outcome: 'failed',
    items: { error: 40, empty: 0 },
    problems: [{ code: 'fields' }, {}, {}, {}, {}, {}, {}, {}, {}, {}],
  })
})

it('refused fields of the master list end the run before any other stream', async () => {
  const files = await goodFiles('master-data')
  const change = inRows('FnoFlag', (row) => (row.Sid = null))
  const report = await run({ files, change })
  expect([report.outcome, report.error]).toEqual([
    'failed',
    expect.stringContaining('fields: data[].Sid is null in all records'),
  ])
})

it('--accept fields stores such answers for one run, which is complete', async () => {
  const files = await goodFiles('market-news')
  const change = inNews((news) => rename(news, 'title', 'headline'))
  const report = await run({ files, change, only: ['market-news'], accept: ['fields'] })
  expect(report.outcome).toBe('complete')
  expect(report.drift).toContainEqual(
    expect.objectContaining({ kind: 'gone', required: true, accepted: true }),
  )
  expect(outputsIn(files)[0]?.[1].text).toContain('"Title":""')
})

describe('drift that was accepted', () => {
  const change = inNews((_, item) => (item.language = 'en'))

  it('does not make a run partial any more, another one does', async () => {
    const files: MemoryFiles = new Map()
    const first = await run({ files, change, only: ['market-news'] })
    expect([first.outcome, first.scripts['market-news']?.outcome]).toEqual(['partial', 'success'])
    await lastValueFrom(
      memory(files).storeDocument(DRIFT_ACCEPTED_FILE, (first.drift ?? []).map(toDriftName)),
    )
    const second = await run({ files, change, only: ['market-news'] })
    expect(second).toMatchObject({
      outcome: 'complete',
      drift: [{ field: 'data.latest_news[].language', accepted: true }],
    })
    const third = await run({ files, change: inNews((_, item) => (item.lang = 'en')), only: ['market-news'] })
    expect(third.outcome).toBe('partial')
  })

  it('was not, so the next run does not reuse this one', async () => {
    const out = temporaryFolder()
    const again = (more: Partial<Changing> = {}) =>
      run({ storage: folder(out), only: ['market-news'], fresh: false, ...more })
    await again({ change })
    const second = await again()
    expect(second).toMatchObject({ outcome: 'complete', scripts: { 'market-news': { requests: 40 } } })
    expect(second.finishedBefore).toBeUndefined()
    expect((await again()).finishedBefore).toBeDefined()
  })

  it('is only reported if a list shows it in one or two records', async () => {
    const few = (count: number) =>
      on('CircuitBreak', (answer) => {
        answer.data = rowsIn(answer)
          .slice(0, count)
          .map((row) => ({ ...row, Isin: 'x' }))
      })
    const outcomeOf = async (count: number) => {
      const { outcome, drift } = await run({ files: new Map(), change: few(count), only: ['circuit-stocks'] })
      return [outcome, drift?.map(({ kind, field, rare }) => [kind, field, rare])]
    }
    expect(await outcomeOf(1)).toEqual(['complete', [['new', 'data[].Isin', true]]])
    expect(await outcomeOf(3)).toEqual(['partial', [['new', 'data[].Isin', undefined]]])
  })

  it('is ignored if the document that lists it is damaged', async () => {
    const files: MemoryFiles = new Map([[`.scripstream/${DRIFT_ACCEPTED_FILE}`, { text: '[{"str' }]])
    expect((await run({ files, change, only: ['market-news'] })).outcome).toBe('partial')
  })
})
