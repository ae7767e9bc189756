import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import { type DuckDb, openDuckDb } from '../../../src/storage/duckdb.js'
import { openFolder } from '../../../src/storage/table-folder.js'
import { openRelations } from '../../../src/tables/relations.js'
import { checkStatement } from '../../../src/tables/statement.js'
import { listViews } from '../../../src/tables/views/index.js'
import { screener } from '../../../src/tables/views/screener/screener.js'
import type { View } from '../../../src/tables/views/view.js'
import { streams } from '../../../streams/registry.js'
import { collected, duckdb, objectsOf, rowsOf } from '../support.js'

const tables = listTables(streams)
const all = [...tables, ...listViews(tables)]

describe.skipIf(!duckdb)('the columns that a statement may read', () => {
  let duck: DuckDb
  beforeAll(async () => {
    duck = await openDuckDb()
  })
  afterAll(() => duck.close())

  const namesIn = async (sql: string): Promise<readonly string[]> => {
    const { tables: used } = await checkStatement(duck.connection, sql, all)
    return used.find(({ name }) => name === 'screener')?.columns.map(({ name }) => name) ?? []
  }

  it.each([
    ['select symbol from screener', []],
    ['select count(*) from screener', []],
    ['select Symbol, NR7 from screener where "RVOL" > 2', ['rvol', 'nr7']],
    ['with s as (select isin, rsi_14 as r from screener) select * exclude (r) from s', 'all'],
    ['select s.sessions from screener as s join master using (isin)', ['sessions']],
    ['select m.name from master m where isin in (select isin from screener where roe_pct > 10)', ['roe_pct']],
    ['select symbol from screener order by asm_stage', ['asm_stage']],
    ['select symbol from screener join (select 1.5 as rvol) using (rvol)', ['rvol']],
    ['explain select high_52w_inr from screener', ['high_52w_inr']],
  ])('%s', async (sql, expected) => {
    const names = await namesIn(sql)
    const costly = screener.columns
      .map(({ name }) => name)
      .filter((name) => !screener.narrow?.(() => false).columns.some((one) => one.name === name))
    expect(names.filter((name) => costly.includes(name))).toEqual(expected === 'all' ? costly : expected)
  })

  it.each([
    'from screener',
    'select s.* from screener s',
    'select s from screener s',
    'select screener from screener',
    'select to_json(S) from screener s',
    "select columns('pct$') from screener",
    'select #3 from screener',
    'select 1 from screener natural join breadth',
    'select a from screener as s(a, b)',
    'describe screener',
    'summarize screener',
    "pivot screener on circuit in ('upper') using count(*)",
    'unpivot screener on rvol, nr7 into name n value v',
    'select count(*) from (select distinct * from screener)',
  ])('all: %s', async (sql) => {
    expect(await namesIn(sql)).toEqual(screener.columns.map(({ name }) => name))
  })
})

describe.skipIf(!duckdb)('the screener with some of its columns', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(8, 300))
  })
  afterAll(() => remove())

  /** The columns by what they read: those of one set are planned alike. */
  const sets = new Map<string, string[]>()
  for (const { name } of screener.columns) {
    const needs =
      screener.narrow?.((column) => column === name).sql.replace(/^.*? FROM identity AS m/s, '') ?? ''
    sets.set(needs, [...(sets.get(needs) ?? []), name])
  }

  it('answers as with all of them', async () => {
    expect(sets.size).toBeGreaterThan(9)
    const whole = await objectsOf('from screener order by symbol', out)
    for (const names of sets.values()) {
      const some = await objectsOf(`select ${names.join(', ')} from screener order by symbol`, out)
      expect(some).toEqual(whole.map((row) => Object.fromEntries(names.map((name) => [name, row[name]]))))
    }
  })

  it('reads only the tables that these columns need', () => {
    const narrow = (...names: readonly string[]): View =>
      screener.narrow?.((name) => names.includes(name)) ?? screener
    expect(narrow('symbol').needs).not.toContain('candles_adjusted')
    expect(narrow('pe', 'roe_pct').needs).not.toContain('candles_adjusted')
    expect(narrow('rvol').needs).not.toContain('filings_unique')
    expect(narrow('results_at').needs).toEqual(expect.arrayContaining(['filings_unique', 'candles_adjusted']))
  })

  it('names an unknown column among all of them', async () => {
    await expect(rowsOf('select symbol, rvoll from screener', out)).rejects.toThrow(
      /unknown column: rvoll \(did you mean rvol\?\)[\s\S]*filing_url/,
    )
  })

  it('computes shared views once, unless they are only listed', async () => {
    const duck = await openDuckDb()
    try {
      const chosen = all.filter(({ name }) => name === 'candles_adjusted')
      const stored = async () =>
        (await duck.connection.runAndReadAll('select table_name from duckdb_tables() order by 1'))
          .getRows()
          .flat()
      await openRelations(duck.connection, chosen, {
        tables,
        folder: await openFolder(out),
        warn: () => undefined,
      })
      expect(await stored()).toEqual(['adjustments', 'symbol_isins'])
    } finally {
      duck.close()
    }
    expect(await rowsOf('select table_name from duckdb_tables()', out)).toEqual([])
  })
})
