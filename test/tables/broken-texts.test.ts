import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector.js'
import { listTables } from '../../src/engine/define-stream.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { RunReport } from '../../src/model/report.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { parquet } from '../../src/tables/export/parquet.js'
import { tableFile } from '../../src/tables/export/table-file.js'
import { runQuery } from '../../src/tables/query.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { recordRun, tablesOf } from '../support/recorded-run.js'
import { duckdb, rowsOf } from './support.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')
const tables = listTables(streams)
const names = [...tables, ...listViews(tables)].map(({ name }) => name)

const BROKEN = '\\ud83d\\u0000'
const REPAIRED = '\ufffd\ufffd'
/** A text of at least two words in JSON. A key or an attribute with a blank may be taken for one, which changes nothing. */
const TEXT = /"([^"\\{}[\]:]* [^"\\{}[\]:]*)"(?!:)/g

const breakJson = (text: string): string => text.replace(TEXT, `"$1${BROKEN}"`)
const breakAnswer = (answer: unknown, { type }: AnyEndpoint): unknown => {
  if (answer === undefined) return undefined
  if (type === 'text/csv') return String(answer).replace(/( \w+),EQ,/g, '$1\0,EQ,')
  return breakJson(typeof answer === 'string' ? answer : JSON.stringify(answer))
}

/** A run of a market in which every text of some words has half of a surrogate pair and NUL. */
const collectBroken = async (out: string): Promise<RunReport> => {
  const endpoints = streams.flatMap((stream) => stream.endpoints as readonly AnyEndpoint[])
  const provider = await serveSimulator({
    endpoints: endpoints.map((one): AnyEndpoint => ({ ...one, sample: (...given) => breakAnswer(one.sample?.(...given), one) })),
    stocks: 8,
    asOf: EVENING,
    candleDays: 40,
  })
  try {
    return await lastValueFrom(createCollector({ settings: { ...provider.settings, out } }).run({ asOf: EVENING }))
  } finally {
    await provider.close()
  }
}

const outputsOf = (out: string): readonly string[] =>
  readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((file) => !file.startsWith('.scripstream') && /\.(json|csv)$/.test(file))

describe.skipIf(!duckdb)('texts with half of a surrogate pair or NUL', () => {
  const out = join(temporaryFolder(), 'out')
  let report: RunReport
  beforeAll(async () => {
    report = await collectBroken(out)
  })

  it('are well-formed in all files of a run', () => {
    expect(report.outcome).toBe('complete')
    const repaired = outputsOf(out).filter((file) => file.endsWith('.json') && readFileSync(join(out, file), 'utf8').includes(REPAIRED))
    expect(repaired.length).toBeGreaterThan(20)
    for (const file of outputsOf(out)) expect(/\\ud83d|\\u0000|\0/.test(readFileSync(join(out, file), 'latin1')), file).toBe(false)
    expect(readFileSync(join(out, 'nse_equity_list.csv'), 'utf8')).toContain('\ufffd,EQ,')
  })

  it('are read in every table and view', async () => {
    const all = names.map((name) => `SELECT '${name} ' || CAST(to_json(t) AS VARCHAR) FROM ${name} t`)
    const rows = (await rowsOf(all.join(' UNION ALL '), out)).map(String)
    for (const name of ['master', 'news', 'filings', 'announcements', 'deals', 'screener', 'events'])
      expect(
        rows.some((row) => row.startsWith(`${name} `) && row.includes(REPAIRED)),
        name,
      ).toBe(true)
  })

  it('are read from recorded days', async () => {
    const file = 'all_company_announcements.json'
    const documents = [{ pattern: 'market_news/*.json', lists: ['News'], identity: ['Title'] }]
    await recordRun(out, { day: '2026-02-11', request: { tables: tablesOf(file), documents } })
    const rows = await rowsOf("SELECT event FROM history.announcements WHERE day = DATE '2026-02-11'", out)
    expect(rows.length).toBeGreaterThan(0)
    const known = await runQuery('SELECT count(*) FROM announcements', { out, tables, asOf: '2026-02-11' })
    expect(String((await known.result.getRows())[0])).toBe(String(rows.length))
    known.close()
  })

  it('do not stop an export', async () => {
    const folder = temporaryFolder()
    for (const target of ['screener.csv', 'news.xlsx', 'announcements.json', 'filings.parquet'])
      expect((await lastValueFrom(tableFile(join(folder, target), { streams }).write(out))).rows, target).toBeGreaterThan(0)
    const all = await lastValueFrom(parquet(join(folder, 'parquet'), { streams }).write(out).pipe(toArray()))
    expect(all.filter(({ rows, isSkipped }) => rows === 0 && !isSkipped).map(({ table }) => table)).toEqual(['rewritten'])
  })
})
