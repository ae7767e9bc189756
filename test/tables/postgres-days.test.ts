import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import { toInstant } from '../../src/model/trading-day.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { postgres } from '../../src/tables/export/postgres.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { hasServer, run, SERVER, SKIPPED } from './postgres-server.js'
import { duckdb } from './support.js'

const DATABASE = `export_days_${process.pid}`
const DAYS = ['02', '03', '04', '05', '06', '09', '10', '11', '12', '13'].map((day) => `2026-02-${day}`)
/** Tables of which a day changes all rows, a few in many places, or those at the end only. */
const TABLES = ['screener', 'ratios', 'breadth', 'first_seen', 'candles']

/** The bytes of the files of the tables, and those of their rows. */
const measure = async () => {
  const rows = TABLES.map((name) => `SELECT pg_column_size(t.*) AS bytes FROM scripstream.${name} AS t`)
  const files = TABLES.map((name) => `pg_table_size('scripstream.${name}')`)
  const [found] = await run(
    DATABASE,
    'VACUUM',
    `SELECT (${files.join(' + ')})::float8 AS files, sum(bytes)::float8 AS rows FROM (${rows.join(' UNION ALL ')}) AS all_rows`,
  )
  return { files: Number(found?.files), rows: Number(found?.rows) }
}

describe.skipIf(!duckdb || !hasServer)(`daily exports to PostgreSQL${SKIPPED}`, () => {
  beforeAll(() => run('postgres', `CREATE DATABASE ${DATABASE}`))
  afterAll(() => run('postgres', `DROP DATABASE ${DATABASE} WITH (FORCE)`))

  it('leave tables as large as their rows, where the server removes what was deleted', async () => {
    const out = temporaryFolder()
    let now = 0
    // All indices would take most of the time.
    const endpoints = streams
      .flatMap((stream): readonly AnyEndpoint[] => stream.endpoints)
      .map(
        ({ sample, ...endpoint }): AnyEndpoint => ({
          ...endpoint,
          sample: (input, market) => sample?.(input, { ...market, indices: market.indices.slice(0, 5) }),
        }),
      )
    const dates = DAYS.map((day) => toInstant(day, '20:00'))
    ;[now = 0] = dates
    const provider = await serveSimulator({
      endpoints,
      stocks: 8,
      candleDays: 100,
      events: true,
      asOf: () => now,
    })
    onTestFinished(() => provider.close())
    const collector = createQuickCollector({ settings: { ...provider.settings, out }, clock: () => now })
    const sizes: Awaited<ReturnType<typeof measure>>[] = []
    for (const date of dates) {
      now = date
      await lastValueFrom(collector.run({ asOf: now }))
      const target = postgres(`${SERVER}/${DATABASE}`, { streams, tables: TABLES })
      await lastValueFrom(target.write(out).pipe(toArray()))
      sizes.push(await measure())
    }
    const [first, ...later] = sizes.map(({ files, rows }) => files / rows)
    for (const share of later) expect(share).toBeLessThan(1.1 * (first ?? 0))
    expect(new Set(sizes.map(({ rows }) => rows)).size).toBe(DAYS.length)
  })
})
