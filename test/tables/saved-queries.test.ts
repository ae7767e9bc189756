import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { UsageError } from '../../src/model/errors.js'
import { workedRules } from '../../src/tables/changes/watch-rules.js'
import { listSavedQueries, resolveQuery, saveQuery } from '../../src/tables/saved-queries.js'
import { listViews } from '../../src/tables/views/index.js'
import { workedQueries } from '../../src/tables/worked-queries.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, objectsOf, rowsOf } from './support.js'

describe('worked queries', () => {
  it('each have a name of their own', () => {
    expect(workedQueries.length).toBeGreaterThan(10)
    expect(new Set(workedQueries.map(({ name }) => name)).size).toBe(workedQueries.length)
  })

  it('have no name of a table, which "query NAME" describes', () => {
    const tables = listTables(streams)
    const relations = new Set([...tables, ...listViews(tables)].map(({ name }) => name))
    expect([...workedQueries, ...workedRules].filter(({ name }) => relations.has(name))).toEqual([])
  })

  it.each(workedQueries)('$name is found by its name', async ({ name, sql }) =>
    expect(await resolveQuery(` ${name}\n`, '/nowhere')).toBe(sql),
  )
})

const TWO_STOCKS = {
  '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
  'master_isin_map.json': [
    { Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Sid: '1', FnoFlag: 0 },
    { Symbol: 'B', ISIN: 'INE002A01018', Name: 'B', Sid: '2', FnoFlag: 0 },
  ],
}

describe.skipIf(!duckdb)('worked queries on a run', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(120, 300))
  })
  afterAll(() => remove())

  it.each(workedQueries)('$name answers: $about', async ({ sql }) =>
    expect(await rowsOf(sql, out)).not.toEqual([]),
  )

  it('monthly-returns are those between the last closes of months, without a gap', async () => {
    const rows = await objectsOf(await resolveQuery('monthly-returns', out), out)
    const symbol = String(rows[0]?.symbol)
    const months = rows.filter((row) => row.symbol === symbol)
    const [whole] = await objectsOf(
      `select max_by(close, day) / max_by(close, day) filter (day < date '${months[0]?.month}') as factor from candles_adjusted where symbol = '${symbol}'`,
      out,
    )
    expect(months.length).toBeGreaterThan(6)
    expect(
      months.reduce((product, { return_pct }) => product * (1 + Number(return_pct) / 100), 1),
    ).toBeCloseTo(Number(whole?.factor), 9)
  })

  it('sectors has the newest day of each level, although index candles may be newer', async () => {
    const index = 'Timestamp,Open,High,Low,Close,Volume\n1770834600,1,1,1,1,0\n'
    const older = {
      'ohlcv_data/A.csv': index.replace('1770834600', '1770748200'),
      'ohlcv_data/indices/NIFTY.csv': index,
    }
    const rows = await rowsOf(await resolveQuery('sectors', out), folderWith({ ...TWO_STOCKS, ...older }))
    expect(rows.map(([day, level]) => [day, level]).sort()).toEqual([
      ['2026-02-11', 'market'],
      ['2026-02-11', 'sector'],
      ['2026-02-12', 'index'],
    ])
  })

  it('breakouts leaves out a stock that did not trade in the newest session', async () => {
    const rise = (count: number): string =>
      `Timestamp,Open,High,Low,Close,Volume\n${Array.from({ length: count }, (_, day) => `${1_768_329_000 + day * 86_400},${day + 1},${day + 1},${day + 1},${day + 1},9`).join('\n')}\n`
    const files = { 'ohlcv_data/A.csv': rise(29), 'ohlcv_data/B.csv': rise(25) }
    expect(
      (await rowsOf(await resolveQuery('breakouts', out), folderWith({ ...TWO_STOCKS, ...files }))).map(
        ([symbol]) => symbol,
      ),
    ).toEqual(['A'])
  })
})

describe.skipIf(!duckdb)('saved queries', () => {
  const save = (name: string, sql: string, out: string) => saveQuery({ name, sql, out, streams })

  it('are found by name, and can be replaced', async () => {
    const out = folderWith({})
    await save('mine', 'select 1', out)
    await save('mine', 'select 2', out)
    expect(readFileSync(join(out, '.scripstream/queries/mine.sql'), 'utf8')).toBe('select 2\n')
    expect((await listSavedQueries(out)).map(({ name }) => name)).toEqual(['mine'])
    expect(await resolveQuery('mine', out)).toBe('select 2\n')
    expect(await resolveQuery('select 3', out)).toBe('select 3')
  })

  it('must have a name that stays in the folder, and read only', async () => {
    const out = folderWith({})
    for (const name of ['../x', 'a b', 'A', '', '-a'])
      await expect(save(name, 'select 1', out)).rejects.toThrow(UsageError)
    for (const sql of ['drop table x', "from '/etc/passwd'", "copy (select 1) to 'x'", 'select 1; select 2'])
      await expect(save('mine', sql, out)).rejects.toThrow(UsageError)
    expect(await listSavedQueries(out)).toEqual([])
  })

  it.each(['screener', 'master', 'breakouts'])(
    'refuse the name %s, which means something else',
    async (name) => {
      const out = folderWith({})
      await expect(save(name, 'select 1', out)).rejects.toThrow(
        `${name} is the name of a table or a worked query; choose another one`,
      )
      expect(await listSavedQueries(out)).toEqual([])
    },
  )

  it('say which one is meant', async () => {
    await expect(resolveQuery('breakout', '/nowhere')).rejects.toThrow(
      'unknown query: breakout (did you mean breakouts?)',
    )
  })
})
