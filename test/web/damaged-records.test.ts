import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { EMPTY } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { type RunLogEntry, toRunLogEntry } from '../../src/model/run-log.js'
import { Settings } from '../../src/model/settings.js'
import { describeThisProcess } from '../../src/storage/lock-holder.js'
import { readRunRecords } from '../../src/storage/run-records.js'
import type { PageServer } from '../../src/web/server/serve.js'
import { createTestDependencies, createTestIo, runReport, scriptReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { serveFolder } from '../support/page-server.js'
import { folderWith } from '../tables/support.js'
import { send } from './support.js'

const STATE = '.scripstream'
const script = scriptReport({ problems: [{ item: 'A', status: 'error', reason: 'reset: gone' }] })
const report = runReport({
  run: 'r2',
  scripts: { 'master-data': scriptReport(), 'market-news': script },
  missing: { 'market-news': 1 },
})
const entries: readonly RunLogEntry[] = ['r1', 'r2'].map((run) =>
  toRunLogEntry({ ...report, run }, { 'market-news': ['A'] }),
)
const live = {
  run: 'r3',
  asOf: 1,
  startedAt: 1,
  at: 2,
  stocks: 2,
  done: 1,
  share: 0.5,
  phases: [],
  streams: [
    {
      name: 'market-news',
      state: 'running',
      done: 1,
      workers: 1,
      requests: 1,
      retries: 0,
      rateLimited: 0,
      lost: 0,
      partial: 0,
      files: 0,
      stored: 0,
      statuses: {},
      failures: [],
      warnings: [],
      pauses: [],
      marbles: [['A', 'success']],
    },
  ],
}
const liveFile = (state: unknown): string =>
  JSON.stringify({ holder: { ...describeThisProcess(), token: 'live' }, state })

/** The document with one value, at any depth, replaced or removed. */
const damaged = (document: unknown): fc.Arbitrary<unknown> => {
  const paths: (readonly (string | number)[])[] = []
  const walk = (value: unknown, path: readonly (string | number)[]): void => {
    paths.push(path)
    if (typeof value !== 'object' || value === null) return
    for (const [key, child] of Object.entries(value)) walk(child, [...path, key])
  }
  walk(document, [])
  const put = (value: unknown, [key, ...rest]: readonly (string | number)[], by: unknown): unknown => {
    if (key === undefined) return by
    const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
      string | number,
      unknown
    >
    copy[key] = put(copy[key], rest, by)
    return copy
  }
  return fc
    .tuple(
      fc.constantFrom(...paths),
      fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, null, '', 5, [], {}, 'x')),
    )
    .map(([path, by]) => put(document, path, by))
}

const PATHS = ['/api/state', '/api/runs', '/api/runs/r1', '/api/runs/r2', '/api/market/lists', '/api/live']

describe('a folder with damaged records of runs', () => {
  let [out, server] = ['', undefined as PageServer | undefined]
  const put = (name: string, text: string): void => writeFileSync(join(out, STATE, name), text)
  const good = (): void => {
    put('report.json', JSON.stringify(report))
    put('runs.ndjson', entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
    rmSync(join(out, STATE, 'live.json'), { force: true, recursive: true })
  }
  beforeAll(async () => {
    out = folderWith({ 'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')] })
    mkdirSync(join(out, STATE), { recursive: true })
    server = await serveFolder(out, {})
  })
  afterAll(() => server?.close())

  const readPage = async (): Promise<readonly number[]> => {
    const statuses: number[] = []
    for (const path of PATHS) {
      const response = await fetch(`${server?.origin}${path}`)
      statuses.push(response.status)
      if (path === '/api/live')
        await response.body
          ?.getReader()
          .read()
          .then(() => response.body?.cancel().catch(() => undefined))
      else await response.text()
    }
    return statuses
  }

  it('is served, whatever these files hold', async () => {
    const change = fc.oneof(
      damaged(report).map((one) => ['report.json', JSON.stringify(one) ?? ''] as const),
      damaged(entries[0]).map(
        (one) => ['runs.ndjson', `${JSON.stringify(one)}\n${JSON.stringify(entries[1])}\n`] as const,
      ),
      damaged(live).map((one) => ['live.json', liveFile(one)] as const),
      fc.tuple(fc.constantFrom('report.json', 'runs.ndjson', 'live.json'), fc.string()),
    )
    await fc.assert(
      fc.asyncProperty(change, async ([name, text]) => {
        good()
        put(name, text)
        expect((await readPage()).every((status) => status === 200 || status === 404)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('shows the last run of the log instead of a damaged report, and names the file', async () => {
    for (const text of [
      '',
      '{"run":',
      '[]',
      '{}',
      JSON.stringify({ ...report, asOf: 'yesterday' }),
      JSON.stringify({ ...report, scripts: 5 }),
    ]) {
      good()
      put('report.json', text)
      const records = await readRunRecords(out)
      expect(records.report).toMatchObject({
        run: 'r2',
        missing: { 'market-news': 1 },
        scripts: { 'market-news': { takenOver: 0 } },
      })
      expect(records.damage).toEqual([
        `${STATE}/report.json is damaged; the last run is that of the log of runs; the next run replaces it`,
      ])
    }
    const { body } = await send(server?.origin ?? '', '/api/state')
    expect(JSON.parse(body)).toMatchObject({
      last: { run: 'r2' },
      answer: {
        word: 'Not complete',
        text: expect.stringMatching(/report\.json is damaged; .* market-news \(1\) lacks items/),
      },
    })
  })

  it('leaves out bad lines of the log, and names the file and the lines', async () => {
    good()
    put(
      'runs.ndjson',
      `{"run":"r0","scripts":{"x":5}}\n${entries.map((entry) => JSON.stringify(entry)).join('\n{"cut\n')}\n`,
    )
    const { body } = await send(server?.origin ?? '', '/api/runs')
    expect(JSON.parse(body)).toMatchObject({
      runs: [{ run: 'r2' }, { run: 'r1' }],
      damage: [`${STATE}/runs.ndjson is damaged; left out: lines 1, 3, which can be deleted`],
    })
  })

  it('answers from the good records beside bad lines of the log', async () => {
    good()
    const fresh = {
      ...report,
      asOf: new Date().toISOString(),
      missing: {},
      scripts: { 'master-data': scriptReport() },
    }
    put('report.json', JSON.stringify(fresh))
    put('runs.ndjson', `{"cut\n${JSON.stringify(toRunLogEntry(fresh, {}))}\n`)
    const { body } = await send(server?.origin ?? '', '/api/state')
    expect(JSON.parse(body)).toMatchObject({
      last: { run: 'r2', outcome: 'complete' },
      answer: {
        tone: 'ok',
        word: 'Complete and up to date',
        text: expect.stringMatching(/runs\.ndjson is damaged; left out: line 1, /),
      },
    })
  })

  it('shows no run for a live file of another shape, and a run of ours', async () => {
    const readRun = async () => {
      const response = await fetch(`${server?.origin}/api/state`)
      return ((await response.json()) as { isActive: boolean }).isActive
    }
    good()
    put('live.json', liveFile(live))
    expect(await readRun()).toBe(true)
    put('live.json', liveFile({ ...live, streams: { 'market-news': {} } }))
    expect(await readRun()).toBe(false)
  })

  const type = async (...args: readonly string[]) => {
    const io = createTestIo()
    const dependencies = createTestDependencies(EMPTY, { loadSettings: () => Settings.parse({ out }) })
    const code = await runProgram(args, io, dependencies)
    return { code, out: io.out.text(), err: io.err.text() }
  }

  it('is told by "brief", "diff" and "history --runs" in plain words', async () => {
    const all = `${STATE}/report.json`
    good()
    put('report.json', '{}')
    for (const args of [['brief'], ['diff']]) {
      const said = await type(...args)
      expect(said).toMatchObject({ code: 0, err: '' })
      expect(said.out.replace(/\s+/g, ' ')).toContain(
        `${all} is damaged; the last run is that of the log of runs`,
      )
      expect(said.out).not.toMatch(/undefined|NaN|no run has finished/)
    }
    put('runs.ndjson', `5\n${JSON.stringify(entries[1])}\n`)
    expect(await type('history', '--runs')).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^warning: .*report.json is damaged[\s\S]*\nwarning: .*left out: line 1, which can be deleted\n$/,
      ),
    })
    put('runs.ndjson', '')
    expect(await type('brief')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^error: .scripstream\/report.json is damaged; the log of runs has no run either/,
      ),
    })
  })
})
