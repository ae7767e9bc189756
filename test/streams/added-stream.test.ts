import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asyncScheduler, map } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { createCollector } from '../../src/collector.js'
import { loadSettings, settingRows } from '../../src/config.js'
import { defineStream, perStock } from '../../src/engine/define-stream.js'
import { json } from '../../src/http/answer.js'
import { post } from '../../src/http/endpoint.js'
import { createResult } from '../../src/model/outcome.js'
import { column, dataEnvelope, type RowOf, Rows, row } from '../../src/model/row-schema.js'
import { StockRecord, toStockRecord } from '../../src/model/stock.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { temporaryFolder } from '../support/folders.js'
import { duckdb } from '../tables/support.js'

const Rating = row({
  agency: column(z.string(), { about: 'who rated the stock', sql: 'agency', required: true, key: true }),
  target: column(z.number(), { about: 'expected price, rupees', sql: 'target' }),
  rated_on: column(z.string(), { about: 'day of the rating', sql: 'rated_on', format: 'day' }),
})
interface Rating extends RowOf<typeof Rating> {}

const ratings = post({
  name: 'ratings',
  host: 'static',
  path: '/staticscanx/ratings',
  input: z.strictObject({ isin: z.string().length(12) }),
  read: (text, _, inspect) => json(Rows)(text, undefined, inspect).data ?? [],
  shape: dataEnvelope(z.array(Rating)),
  // The schema does not mention `analyst`.
  sample: ({ isin }, market) => ({
    data: [
      {
        agency: 'A1',
        target: market.random('ratings', isin).int(1, 100),
        rated_on: '2026-02-12',
        analyst: 'X',
      },
    ],
  }),
})

const stockRatings = defineStream({
  name: 'stock-ratings',
  summary: 'ratings of each stock',
  phase: 'enrichment',
  workers: 3,
  timeoutMs: 1_000,
  endpoints: [ratings],
  work: perStock((stock, { ask }) =>
    ask(ratings, { isin: stock.ISIN }).pipe(
      map((rows) => createResult(rows.map((one) => toStockRecord<Rating>(stock, one)))),
    ),
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'stock_ratings.json',
      tables: [{ name: 'ratings', about: 'ratings of stocks', columns: [StockRecord, Rating] }],
    },
  ],
})

const out = temporaryFolder()

/** Runs a command with the stream added to the built-in ones. */
const command = async (...args: readonly string[]) => {
  const io = { ...createTestIo({ env: {} }), scheduler: asyncScheduler }
  const dependencies = createTestDependencies(undefined, {
    streams: [...streams, stockRatings],
    settingRows,
    loadSettings,
    createCollector,
    serveSimulator,
    storage: ({ out: path }) => folder(path),
  })
  const code = await runProgram(args, io, dependencies)
  return { code, text: io.out.text(), errors: io.err.text() }
}

describe('a stream that is added to the registry', () => {
  let run: Awaited<ReturnType<typeof command>>
  beforeAll(async () => {
    run = await command('run', '--simulate=5', '--only', 'stock-ratings', '--out', out, '--json')
  })

  it('is listed, drawn and estimated', async () => {
    expect((await command('list', '--graph')).text).toContain('stock_ratings.json')
    expect((await command('list')).text).toContain('ratings of each stock')
    const dry = await command('run', '--dry-run', '--only', 'stock-ratings', '--out', out)
    expect(dry.text.replace(/\s+/g, ' ')).toContain('stock-ratings')
  })

  it('runs on its sample, and its output has the unknown field', () => {
    expect(run.errors).toContain('stock-ratings: done, 5/5 items')
    expect(JSON.parse(readFileSync(join(out, 'stock_ratings.json'), 'utf8'))).toHaveLength(5)
    expect(readFileSync(join(out, 'stock_ratings.json'), 'utf8')).toContain('"analyst":"X"')
  })

  it('reports drift', async () => {
    expect(run.code).toBe(3)
    const { code, text } = await command('verify', '--drift', '--json', '--out', out)
    expect(code).toBe(3)
    expect(text).toContain('data[].analyst')
    expect(text).not.toContain('data[].target')
  })

  it('has a table, last of those that read files', async () => {
    const tables = JSON.parse((await command('query', '--json')).text) as readonly {
      readonly name: string
      readonly files: readonly string[]
    }[]
    expect(tables.filter(({ files }) => files.length > 0).at(-1)).toEqual({
      name: 'ratings',
      comment: 'ratings of stocks',
      files: ['stock_ratings.json'],
      key: null,
      columns: [
        { name: 'symbol', type: 'VARCHAR', comment: 'trading symbol' },
        { name: 'isin', type: 'VARCHAR', comment: 'ISIN of the stock' },
        { name: 'agency', type: 'VARCHAR', comment: 'who rated the stock' },
        { name: 'target', type: 'DOUBLE', comment: 'expected price, rupees' },
        { name: 'rated_on', type: 'DATE', comment: 'day of the rating' },
        { name: 'extra', type: 'JSON', comment: expect.stringContaining('fields without a column') },
      ],
    })
  })

  it.skipIf(!duckdb)('is queried and exported', async () => {
    const query = await command(
      'query',
      '--format',
      'csv',
      '--out',
      out,
      'select count(*) as n, min(extra) as extra from ratings',
    )
    expect(query.text).toBe('n,extra\n5,"{""analyst"":""X""}"\n')
    const exported = await command('export', '--json', '--out', out)
    expect(JSON.parse(exported.text)).toMatchObject([
      { tables: expect.arrayContaining([expect.objectContaining({ table: 'ratings', rows: 5 })]) },
    ])
  })
})
