import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector.js'
import { listTables } from '../../src/engine/define-stream.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { RunReport } from '../../src/model/report.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { duckdb as exportToDuckDb } from '../../src/tables/export/duckdb.js'
import { workbook } from '../../src/tables/export/workbook.js'
import { runQuery } from '../../src/tables/query.js'
import { listViews } from '../../src/tables/views/index.js'
import { verify } from '../../src/verify/verify.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { recordRun, tablesOf } from '../support/recorded-run.js'
import { duckdb, rowsOf } from './support.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')
const tables = listTables(streams)
const names = [...tables, ...listViews(tables)].map(({ name }) => name)

const BROKEN = '\\ud83d\\u0000'
const REPAIRED = '\ufffd\ufffd'
/**
 * A text of at least two words in JSON. A key or an attribute with a blank may be taken for one, which
 * changes nothing.
 */
const TEXT = /"([^"\\{}[\]:]* [^"\\{}[\]:]*)"(?!:)/g

const breakJson = (text: string): string => text.replace(TEXT, `"$1${BROKEN}"`)
const breakAnswer = (answer: unknown, { type }: AnyEndpoint): unknown => {
  if (answer === undefined) return undefined
  if (type === 'text/csv') return String(answer).replace(/( \w+),(EQ|BE|SM),/g, '$1\0,$2,')
  return breakJson(typeof answer === 'string' ? answer : JSON.stringify(answer))
}

/** A run of a market in which every text of some words has half of a surrogate pair and NUL. */
const collectBroken = async (out: string): Promise<RunReport> => {
  const endpoints = streams.flatMap((stream) => stream.endpoints as readonly AnyEndpoint[])
  const provider = await serveSimulator({
    endpoints: endpoints.map(
      (one): AnyEndpoint => ({ ...one, sample: (...given) => breakAnswer(one.sample?.(...given), one) }),
    ),
    stocks: 8,
    asOf: EVENING,
    candleDays: 40,
  })
  try {
    return await lastValueFrom(
      createCollector({ settings: { ...provider.settings, out } }).run({ asOf: EVENING }),
    )
  } finally {
    await provider.close()
  }
}

const outputsOf = (out: string): readonly string[] =>
  readdirSync(out, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !file.startsWith('.scripstream') && /\.(json|csv)$/.test(file),
  )

/**
 * The rows of all tables and views, each with its name. The last digits of a sum depend on the order in which
 * threads add.
 */
const contentOf = async (out: string): Promise<readonly string[]> => {
  const all = names.map((name) => `SELECT '${name} ' || CAST(to_json(t) AS VARCHAR) FROM ${name} t`)
  const rows = await rowsOf(all.join(' UNION ALL '), out)
  return rows
    .map((row) =>
      String(row).replace(/-?\d+\.\d+/g, (number) => String(Number(Number(number).toPrecision(10)))),
    )
    .sort()
}

describe.skipIf(!duckdb)('texts with half of a surrogate pair or NUL', () => {
  const folder = temporaryFolder()
  const [out, old] = [join(folder, 'out'), join(folder, 'old')]
  let report: RunReport
  let broken: readonly string[]
  beforeAll(async () => {
    report = await collectBroken(out)
    // What an earlier version stored.
    cpSync(out, old, { recursive: true })
    broken = outputsOf(old).filter(
      (file) => file.endsWith('.json') && readFileSync(join(old, file), 'utf8').includes(REPAIRED),
    )
    for (const file of broken)
      writeFileSync(join(old, file), readFileSync(join(old, file), 'utf8').replaceAll(REPAIRED, BROKEN))
  })

  it('are well-formed in all files of a run', () => {
    expect(report.outcome).toBe('complete')
    expect(broken.length).toBeGreaterThan(20)
    for (const file of outputsOf(out))
      expect(/\\ud83d|\\u0000|\0/.test(readFileSync(join(out, file), 'latin1')), file).toBe(false)
    expect(readFileSync(join(out, 'nse_equity_list.csv'), 'utf8')).toMatch(/\ufffd,(EQ|BE|SM),/)
  })

  it('are read from stored files with the same repair, in every table and view', async () => {
    const content = await contentOf(out)
    for (const name of ['master', 'news', 'filings', 'announcements', 'deals', 'screener', 'events'])
      expect(
        content.some((row) => row.startsWith(`${name} `) && row.includes(REPAIRED)),
        name,
      ).toBe(true)
    expect(await contentOf(old)).toEqual(content)
    for (const file of broken) expect(readFileSync(join(old, file), 'utf8'), file).toContain(BROKEN)
  })

  it('are read for one stock, and listed under its symbol', async () => {
    const stocks = JSON.parse(readFileSync(join(out, 'master_isin_map.json'), 'utf8')) as readonly {
      readonly Symbol: string
    }[]
    const stock = stocks.find((one) => existsSync(join(out, `market_news/${one.Symbol}_news.json`)))
    const read = async (from: string) => {
      const { result, close } = await runQuery('SELECT DISTINCT symbol FROM news', {
        out: from,
        tables,
        symbol: stock?.Symbol ?? '',
      })
      return result.getRows().finally(close)
    }
    expect(await read(old)).toEqual([[stock?.Symbol]])
  })

  it('are read from recorded days', async () => {
    const file = 'all_company_announcements.json'
    const documents = [{ pattern: 'market_news/*.json', lists: ['News'], identity: ['Title'] }]
    await recordRun(old, { day: '2026-02-11', request: { tables: tablesOf(file), documents } })
    const rows = await rowsOf("SELECT event FROM history.announcements WHERE day = DATE '2026-02-11'", old)
    expect(rows.length).toBeGreaterThan(0)
    const known = await runQuery('SELECT count(*) FROM announcements', {
      out: old,
      tables,
      asOf: '2026-02-11',
    })
    expect(String((await known.result.getRows())[0])).toBe(String(rows.length))
    known.close()
  })

  it('do not stop an export', async () => {
    const sheet$ = workbook(join(folder, 'news.xlsx'), { streams }).write(old)
    expect((await lastValueFrom(sheet$)).rows).toBeGreaterThan(0)
    const load$ = exportToDuckDb(join(folder, 'market.duckdb'), { streams }).write(old)
    const all = await lastValueFrom(load$.pipe(toArray()))
    expect(all.filter(({ rows, isSkipped }) => rows === 0 && !isSkipped).map(({ table }) => table)).toEqual([
      'rewritten',
    ])
  })

  it('are named by verify, file by file', async () => {
    const { findings } = await verify(old, { streams, exchange: 'NSE', limits: {} })
    const texts = findings.filter(({ detail }) => detail.includes('surrogate'))
    expect(texts.map(({ file }) => file).sort()).toEqual([...broken].sort())
    expect(
      (await verify(out, { streams, exchange: 'NSE', limits: {} })).findings.filter(
        ({ check }) => check === 'files',
      ),
    ).toEqual([])
  })
})
