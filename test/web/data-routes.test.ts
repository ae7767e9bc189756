import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PageServerOptions } from '../../src/web/server/serve.js'
import { candleFile, stock } from '../show/support.js'
import { duckdb, folderWith } from '../tables/support.js'
import { type Answer, send, startServer } from './support.js'

const SECRET = 'ohlcv-of-nobody'
const HOSTILE = '<img src=x onerror=alert(1)>'

const start = async () => {
  const out = folderWith({
    'master_isin_map.json': [stock('M&M'), stock(HOSTILE, 'INE000000001')],
    'ohlcv_data/M&M.csv': candleFile([['2026-02-12', 5]]),
    'secret.csv': `${SECRET}\n`,
  })
  return startServer(out)
}

const parse = ({ body }: Answer): Record<string, unknown> => JSON.parse(body) as Record<string, unknown>

describe('the routes of data', () => {
  it('answer stocks whose symbols need encoding', async () => {
    const { origin } = await start()
    expect(parse(await send(origin, '/api/stock/M%26M'))).toMatchObject({
      symbol: 'M&M',
      price: { close: 5 },
    })
    expect(parse(await send(origin, `/api/stock/${encodeURIComponent(HOSTILE)}`))).toMatchObject({
      symbol: HOSTILE,
    })
    expect(parse(await send(origin, '/api/stock/M%26M/candles?adjusted=0'))).toMatchObject({ close: [5] })
    expect(parse(await send(origin, '/api/search?q=m%26'))).toMatchObject({ found: [{ key: 'M&M' }] })
  })

  it.each([
    '/api/stock/../secret.csv',
    '/api/stock/..%2fsecret',
    '/api/stock/..%5csecret',
    '/api/stock/%2e%2e%2fsecret/candles',
    '/api/stock/%252e%252e%252fsecret',
    '/api/index/..%2f..%2fsecret',
    '/api/index/secret/candles',
    '/api/stock/__proto__',
    '/api/stock/%00',
    '/api/stock/%ff',
    '/api/index/constructor',
  ])('%s leads nowhere', async (path) => {
    const { origin } = await start()
    const answer = await send(origin, path)
    expect([400, 404]).toContain(answer.status)
    expect(parse(answer)).toEqual({ error: expect.any(String) })
    expect(answer.body).not.toContain(SECRET)
  })

  it('of the market have read the files before the first request, unless a run in the same process needs the time', async () => {
    const closeAfter = async (live?: PageServerOptions['live']): Promise<unknown> => {
      const out = folderWith({
        'master_isin_map.json': [stock('A')],
        'ohlcv_data/A.csv': candleFile([['2026-02-12', 5]]),
      })
      const path = join(out, 'ohlcv_data/A.csv')
      utimesSync(path, 1, 1)
      const server = await startServer(out, { live })
      await server.prepared
      // With the same size and time, a file that is known is not read again.
      writeFileSync(path, candleFile([['2026-02-12', 5]]).replace('5,1000', '7,1000'))
      utimesSync(path, 1, 1)
      const { breadth } = parse(await send(server.origin, '/api/market')) as {
        breadth: { turnoverCr: number }
      }
      return Math.round(breadth.turnoverCr * 1e4)
    }
    expect(await closeAfter()).toBe(5)
    expect(await closeAfter(() => undefined)).toBe(7)
  })

  it('of an empty folder answer with the reason', async () => {
    const { origin } = await startServer(folderWith({}))
    expect(parse(await send(origin, '/api/market'))).toMatchObject({
      breadth: { listed: 0, about: { problem: 'there is no master list' } },
    })
    expect(await send(origin, '/api/stock/TCS')).toMatchObject({
      status: 404,
      body: '{"error":"TCS is in no list of this folder; search by symbol, name or ISIN"}',
    })
  })

  it.each(['report.json', 'runs.ndjson'])(
    'report a %s that cannot be read; the folder does not pass for one without runs',
    async (file) => {
      const out = folderWith({ [`.scripstream/${file}/a`]: '' })
      const { origin } = await startServer(out)
      const path = join(out, '.scripstream', file)
      for (const route of ['/api/state', '/api/market'])
        expect(await send(origin, route)).toMatchObject({
          status: 500,
          body: `{"error":"${path} cannot be read: it is a directory"}`,
        })
    },
  )

  it('take a query from the page only', async () => {
    const { origin } = await start()
    const query = (headers: Record<string, string>, body = '{"sql":"select 1 as x"}') =>
      send(origin, '/api/query', { method: 'POST', headers, body })
    expect(await query({})).toMatchObject({ status: 403 })
    expect(await query({ origin: 'https://elsewhere.example' })).toMatchObject({ status: 403 })
    expect(await send(origin, '/api/query?sql=select+1')).toMatchObject({ status: 405 })
    for (const body of ['{}', '[]', '{"sql":7}', 'x'])
      expect(await query({ origin }, body)).toMatchObject({ status: 400 })
  })

  it.skipIf(!duckdb)('answer a query, and refuse a write with a sentence', async () => {
    const { origin } = await start()
    const query = (sql: string) =>
      send(origin, '/api/query', { method: 'POST', headers: { origin }, body: JSON.stringify({ sql }) })
    expect(parse(await query('select 1 as x'))).toMatchObject({
      columns: [{ name: 'x', isNumber: true }],
      rows: [['1']],
      isCut: false,
    })
    const refused = await query('drop table master')
    expect(refused.status).toBe(400)
    expect(parse(refused)).toEqual({ error: expect.stringContaining('query is read-only') })
    const { error } = parse(await query('select symbol,\n  nam\nfrom screener'))
    expect(error).toMatch(/^unknown column: nam .*\nLINE 2: {3}nam\n {8} {2}\^\ncolumns of screener: .{1000}/)
  })
})

it('a reader that leaves ends the answer about a past day in the other process', async () => {
  let begin: (signal: AbortSignal) => void = () => undefined
  const begun = new Promise<AbortSignal>((resolve) => {
    begin = resolve
  })
  const show = (_: unknown, signal?: AbortSignal): Promise<never> => {
    if (signal) begin(signal)
    return new Promise(() => undefined)
  }
  const { origin } = await startServer(undefined, { show })
  const reader = new AbortController()
  const asked = fetch(`${origin}/api/market?as-of=2026-02-12`, { signal: reader.signal })
  const signal = await begun
  reader.abort()
  await expect(asked).rejects.toThrow()
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
})
