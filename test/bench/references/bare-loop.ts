import { Pool } from 'undici'
import type { Stock } from '../../../src/model/stock.js'
import { createBenchTimeline, FIRST_RUN_AT } from '../provider/conditions.js'
import { type CpuUsage, HOT_PASSES, WARM_PASSES } from './spent.js'

/** The endpoints that both sides use, and their requests in flight. */
const CALLS = [
  { path: '/staticscanx/announcements', workers: 40 },
  { path: '/staticscanx/indicator', workers: 50 },
] as const

const [count = ''] = process.argv.slice(2)
const { stocks } = createBenchTimeline(Number(count))(Date.parse(FIRST_RUN_AT))
const base = new URL(process.env.SCRIPSTREAM_STATIC_URL ?? '')
const headers = { 'content-type': 'application/json', accept: 'application/json, text/plain, */*' }

const bodies = {
  '/staticscanx/announcements': (stock: Stock) => ({ data: { isin: stock.ISIN } }),
  '/staticscanx/indicator': (stock: Stock) => ({
    exchange: 'NSE',
    segment: 'E',
    security_id: stock.Sid,
    isin: stock.ISIN,
    symbol: stock.Symbol,
    minute: 'D',
  }),
} as const

/** Fetches everything once: each loop takes the next stock, sends its request, and parses the answer. */
const runOnce = async (pool: Pool): Promise<number> => {
  let rows = 0
  const loops = CALLS.flatMap(({ path, workers }) => {
    let next = 0
    const loop = async (): Promise<void> => {
      for (let stock = stocks[next++]; stock !== undefined; stock = stocks[next++]) {
        const body = JSON.stringify(bodies[path](stock))
        const answer = await pool.request({ path: `${base.pathname}${path}`, method: 'POST', headers, body })
        const { data } = JSON.parse(await answer.body.text()) as { readonly data: readonly unknown[] | null }
        rows += data?.length ?? 0
      }
    }
    return Array.from({ length: workers }, loop)
  })
  await Promise.all(loops)
  return rows
}

const pool = new Pool(base.origin, { connections: 90, pipelining: 1 })
for (let turn = 0; turn < WARM_PASSES; turn++) await runOnce(pool)
const before = process.cpuUsage()
for (let turn = 0; turn < HOT_PASSES; turn++) await runOnce(pool)
const { user, system } = process.cpuUsage(before)
await pool.close()
const spent: CpuUsage = { cpuMicros: user + system, items: stocks.length * CALLS.length * HOT_PASSES }
console.log(JSON.stringify(spent))
