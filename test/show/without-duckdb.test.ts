import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { candleFile, marketWith, report, stock } from './support.js'

const MISSING = 'no figures, because DuckDB is not installed: npm install @duckdb/node-api'
const folder = marketWith({
  'master_isin_map.json': [stock('A')],
  'ohlcv_data/A.csv': candleFile([['2026-02-12', 5]]),
  'nse_asm_list.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: '', Stage: 'I' }],
  '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
})

beforeAll(() => {
  vi.resetModules()
  vi.doMock('../../src/storage/duckdb.js', async (original) => {
    const { UsageError } = await import('../../src/model/errors.js')
    const openDuckDb = () => {
      throw new UsageError('DuckDB is not installed: npm install @duckdb/node-api', {
        code: 'missing-package',
      })
    }
    return { ...(await original<object>()), openDuckDb }
  })
})
afterAll(() => {
  vi.doUnmock('../../src/storage/duckdb.js')
  vi.resetModules()
})

it('shows what needs no DuckDB, and says what does', async () => {
  const { createShowRunner } = await import('../../src/show/index.js')
  const show = createShowRunner(folder)
  // The stocks are counted: the page of a folder without stocks is another one.
  expect(await show({ show: 'market' })).toMatchObject({
    breadth: { listed: 1, traded: 0, about: { problem: MISSING } },
  })
  // Once: what has no figures is not shown.
  const answer = await show({ show: 'stock', name: 'A' })
  expect(answer).toMatchObject({
    symbol: 'A',
    problem: MISSING,
    facts: { problems: [] },
    quarters: { rows: [] },
    events: { rows: [], about: [] },
  })
  expect(JSON.stringify(answer).split(MISSING)).toHaveLength(2)
  const candles = await show({ show: 'candles', name: 'A' })
  expect(candles).toMatchObject({
    close: [5],
    cleaned: ['prices are as stored, because they cannot be adjusted without DuckDB'],
  })
})
