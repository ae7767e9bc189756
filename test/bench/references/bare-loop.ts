import { Pool } from 'undici'
import type { Stock } from '../../../src/model/stock.js'
import { EVENING, marketOf } from '../provider/market.js'
import { HOT_PASSES, type Spent, WARM_PASSES } from './spent.js'

/** The endpoints that both sides use, and their requests in flight. */
const CALLS = [
  { path: '/staticscanx/announcements', workers: 40 },
  { path: '/staticscanx/indicator', workers: 50 },
] as const

const [count = ''] = process.argv.slice(2)
const { stocks } = marketOf(Number(count))(Date.parse(EVENING))
const base = new URL(process.env.SCRIPSTREAM_STATIC_URL ?? '')
const headers = { 'content-type': 'application/json', accept: 'application/json, text/plain, */*' }

const bodyOf = {
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
const pass = async (pool: Pool): Promise<number> => {
  let rows = 0
  const loops = CALLS.flatMap(({ path, workers }) => {
    let next = 0
    const loop = async (): Promise<void> => {
      for (let stock = stocks[next++]; stock !== undefined; stock = stocks[next++]) {
        const body = JSON.stringify(bodyOf[path](stock))
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
for (let turn = 0; turn < WARM_PASSES; turn++) await pass(pool)
const before = process.cpuUsage()
for (let turn = 0; turn < HOT_PASSES; turn++) await pass(pool)
const { user, system } = process.cpuUsage(before)
await pool.close()
const spent: Spent = { cpuMicros: user + system, items: stocks.length * CALLS.length * HOT_PASSES }
console.log(JSON.stringify(spent))
